"""Cityscapes' labels and pictures, `robust_tfds.build cityscapes_c`.

What a file of labels may not hold is in tests/building/sources/detection_test.py.
"""

import functools
import io
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from PIL import Image

from tests import tiny_files
from tests.datasets import cityscapes_c_test
from tests.faults import builds, case, mutations
from tests.faults.case import Case

_A = "frankfurt/frankfurt_000001_000294"
_B = "lindau/lindau_000000_000019"  # polygons alone
_MAP = f"gtFine/val/{_A}_gtFine_instanceIds.png"
_JSON = f"gtFine/val/{_B}_gtFine_polygons.json"
_PICTURE = f"leftImg8bit/val/{_B}_leftImg8bit.png"
_NAME = "lindau_000000_000019_gtFine_polygons.json"
_CHANGED_FILES = builds.change("cityscapes_c", cityscapes_c_test.files)


def cases() -> Iterator[Case]:
  """Polygons, maps, pictures, names; and odd ones."""
  yield from _polygons()
  yield from _maps()
  yield from _pictures()
  yield from _odd()
  yield from mutations.cases(
    "lindau_000000_000019", _whole(), _with_json, _as_valid
  )
  data = cityscapes_c_test.files()[_MAP]
  yield from mutations.cases(
    "frankfurt_000001_000294", data, _with_map, _as_valid, count=4
  )


def _whole() -> bytes:
  return cityscapes_c_test.files()[_JSON]


def _with_json(data: bytes, folder: pathlib.Path):
  return _CHANGED_FILES({_JSON: data}, folder)


def _with_map(data: bytes, folder: pathlib.Path):
  return _CHANGED_FILES({_MAP: data}, folder)


def _as_valid(found: Any) -> bool:
  assert len(found) == 2, list(found)
  for e in found.values():
    assert e["objects"]["label"].tolist() == [0, 2, 2, 7], e["objects"]["label"]
    area = e["objects"]["area"].tolist()
    assert area[1:] == [15 * 23, 40, 50], area
  return True


def _changed(change: Callable[[dict], Any], folder: pathlib.Path):
  content = json.loads(_whole())
  change(content)
  return _with_json(json.dumps(content).encode(), folder)


def _polygons() -> Iterator[Case]:
  yield from case.rows(
    _with_json,
    ("the JSON is empty", b""),
    ("the JSON is of one label", b'{"objects": [{"label": 5}]}', "label|objects.0"),
    names=(_NAME,),
  )  # fmt: skip
  yield from case.rows(
    _changed,
    ("a label is none", lambda c: c["objects"][1].update(label="cat"), "objects.1"),
    ("imgWidth is another's", lambda c: c.update(imgWidth=15), "imgWidth|px"),
    names=(_NAME,),
  )  # fmt: skip


def _map() -> np.ndarray:
  data = cityscapes_c_test.files()[_MAP]
  return np.asarray(Image.open(io.BytesIO(data))).astype(np.uint16)


def _maps() -> Iterator[Case]:
  values = _map()
  name = "frankfurt_000001_000294_gtFine_instanceIds.png"
  yield from case.rows(
    _with_map,
    ("turned", tiny_files.encoded(np.ascontiguousarray(values.T))),
    ("cut near its end", tiny_files.encoded(values)[:-14], _as_valid),
    ("empty", b""),
    ("of another picture's size",
     tiny_files.encoded(np.full((90, 150), 7, np.uint16))),
    ("a JPEG", tiny_files.encoded((values % 256).astype(np.uint8), "JPEG")),
    kinds="a map is {}",
    names=(name,),
  )  # fmt: skip


def _pictures() -> Iterator[Case]:
  whole = cityscapes_c_test.files()[_PICTURE]
  small = tiny_files.encoded(np.zeros((4, 4, 3), np.uint8))
  yield from case.rows(
    _CHANGED_FILES,
    ("a picture is cut", {_PICTURE: whole[:99]}, "lindau_000000_000019"),
    ("a picture is absent", {_PICTURE: None}, "lindau_000000_000019"),
    ("a picture is small", {_PICTURE: small}, "lindau_000000_000019"),
    ("no labels of a picture", {_JSON: None}, "lindau_000000_000019"),
    ("a picture of another city",
     {"leftImg8bit/val/lindau/bonn_000000_000019_leftImg8bit.png": whole}, "bonn"),
    ("a name of no frame",
     {"leftImg8bit/val/lindau/lindau_1_leftImg8bit.png": whole}, "lindau_1"),
  )  # fmt: skip


def _odd() -> Iterator[Case]:
  beyond = [[-1, -1], [151, -1], [151, 91], [-1, 91]]
  fractions = [[0.0, 0.5], [150.0, 0], [150, 90], [0, 90.0]]
  yield from case.rows(
    _changed,
    ("beyond the picture", lambda c: c["objects"][0].update(polygon=beyond)),
    ("fractions", lambda c: c["objects"][0].update(polygon=fractions)),
    ("not deleted", lambda c: c["objects"][1].update(deleted=0)),
    ("more fields", lambda c: c.update(date="today", id=5)),
    kinds="odd: polygons: {}",
    right=_as_valid,
  )
  plain = tiny_files.encoded(_map(), compress_level=0)
  act = functools.partial(_with_map, plain)
  yield Case("odd: a map that is stored plain", act, right=_as_valid)
