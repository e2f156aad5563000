"""Finds the goldens and sample data that lie beside the project.

They are never part of the project; a test that needs them skips with a reason
where they are absent. `ROBUST_TFDS_SHARED` names another folder.
"""

import os
import pathlib
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[1]


def path(*parts: str) -> pathlib.Path:
  """The path of a shared file or folder; skips the test if it is not there."""
  root = os.environ.get("ROBUST_TFDS_SHARED", _ROOT.parent / "shared")
  found = pathlib.Path(root).joinpath(*parts)
  if not found.exists():
    raise unittest.SkipTest(
      f"{found} is not here; set ROBUST_TFDS_SHARED to the folder of goldens."
    )
  return found
