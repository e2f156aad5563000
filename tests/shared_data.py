"""Where stored values of other people's code are: in the project and beside it.

`golden` gives files of `tests/golden`, which every clone has. Pixels made from
photographs, the frost pictures and weights are other people's and never part of
the project: `path` looks for them beside it, and a test that needs them skips
with its reason where they are absent. `ROBUST_TFDS_SHARED` names another folder.
"""

import csv
import gzip
import json
import os
import pathlib
import unittest
from typing import Any

_GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
_BESIDE = pathlib.Path(__file__).resolve().parents[2] / "shared"


def golden(*parts: str) -> pathlib.Path:
  """The path of a file or folder of `tests/golden`; it has to be there."""
  place = _GOLDEN.joinpath(*parts)
  if not place.exists():
    raise FileNotFoundError(
      f"{place} is missing; it is part of the project (tests/golden/README.md)."
    )
  return place


def golden_json(*parts: str) -> Any:
  """What a `.json` or `.json.gz` file of `tests/golden` holds."""
  content = golden(*parts).read_bytes()
  return json.loads(
    gzip.decompress(content) if parts[-1].endswith(".gz") else content
  )


def lines(place: pathlib.Path) -> list[dict[str, str]]:
  """The lines of a CSV or TSV by its headings; a TSV's quotes are text."""
  kind = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
  with place.open(newline="", encoding="utf-8") as f:
    return list(csv.DictReader(f, **(kind if place.suffix == ".tsv" else {})))


def folder_of_goldens(area: str) -> pathlib.Path:
  """The folder of an area's golden values beside the project; it may be absent.

  `ROBUST_TFDS_GOLDEN_<AREA>` names another one of the same layout.
  """
  named = os.environ.get(f"ROBUST_TFDS_GOLDEN_{area.upper()}")
  return pathlib.Path(named) if named else _root() / "golden" / area


def _root() -> pathlib.Path:
  return pathlib.Path(os.environ.get("ROBUST_TFDS_SHARED", _BESIDE))


def path(*parts: str) -> pathlib.Path:
  """The path of photographs, pictures or weights; skips the test without."""
  place = _root().joinpath(*parts)
  if not place.exists():
    raise unittest.SkipTest(
      f"{place} is not here: photographs, frost pictures and weights are not"
      " part of the project. Set ROBUST_TFDS_SHARED to the folder of them."
    )
  return place


def published(*parts: str) -> pathlib.Path:
  """A table of printed numbers: beside the project, else `tests/golden`'s copy.

  Skips the test where neither has it.
  """
  try:
    return path("data", "published", *parts)
  except unittest.SkipTest:
    if _GOLDEN.joinpath("published", *parts).exists():
      return golden("published", *parts)
    raise
