"""The folder of files that are kept on this machine between commands."""

import os
import pathlib

VARIABLE = "ROBUST_TFDS_CACHE"


def folder() -> pathlib.Path:
  """Return `ROBUST_TFDS_CACHE`, else `~/.cache/robust_tfds`; it may not exist yet."""
  named = os.environ.get(VARIABLE)
  if named:
    return pathlib.Path(named).expanduser().absolute()
  base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
  return pathlib.Path(base, "robust_tfds")
