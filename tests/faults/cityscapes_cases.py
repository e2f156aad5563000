"""Cityscapes' labels and pictures, `robust_tfds.build cityscapes_c`."""

from __future__ import annotations

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
from tests.faults import builds, mutations
from tests.faults.case import Case

_A = "frankfurt/frankfurt_000001_000294"
_B = "lindau/lindau_000000_000019"  # polygons alone
_MAP = f"gtFine/val/{_A}_gtFine_instanceIds.png"
_JSON = f"gtFine/val/{_B}_gtFine_polygons.json"
_PICTURE = f"leftImg8bit/val/{_B}_leftImg8bit.png"
_NAME = "lindau_000000_000019_gtFine_polygons.json"
_CHANGED_FILES = builds.change("cityscapes_c", cityscapes_c_test.files)


def cases() -> Iterator[Case]:
  """Polygons, their text, maps, pictures, names; and odd ones."""
  yield from _polygons()
  yield from _texts()
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
  files = {**cityscapes_c_test.files(), _JSON: data}
  return builds.of_files("cityscapes_c", files, folder)


def _with_map(data: bytes, folder: pathlib.Path):
  files = {**cityscapes_c_test.files(), _MAP: data}
  return builds.of_files("cityscapes_c", files, folder)


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
  nan, inf = float("nan"), float("inf")
  for field, values in (
    ("label", (None, 5, "", "Car", "cat", ["car"])),
    ("polygon", (None, [], [[1]], [[1, 2, 3]] * 3, "x", [[nan, 1]] * 3,
                 [[inf, 1], [2, 3], [3, 4]], [[1e9, 1e9], [0, 5], [5, 1e30]],
                 [["1", "2"]] * 3, [None] * 3, {})),
  ):  # fmt: skip
    for value in values:
      yield Case(
        f"{field} is {json.dumps(value)[:40]}",
        functools.partial(
          _changed, lambda c, f=field, v=value: c["objects"][1].update({f: v})
        ),
        (_NAME, f"{field}|objects.1|object 1"),
      )
  for field, values in (
    ("imgWidth", (None, "150", 0, -1, nan, 1e9, 150.5)),
    ("objects", (None, {}, "x", [5], [None])),
  ):
    for value in values:
      yield Case(
        f"{field} is {json.dumps(value)[:40]}",
        functools.partial(
          _changed, lambda c, f=field, v=value: c.update({f: v})
        ),
        (_NAME, f"{field}|object|px"),
        _as_valid if value == "150" else None,
      )
  yield Case(
    "a field lacks",
    functools.partial(_changed, lambda c: c.pop("imgHeight")),
    (_NAME, "imgHeight"),
  )


def _texts() -> Iterator[Case]:
  for kind, data in (
    ("empty", b""),
    ("null", b"null"),
    ("a list", b"[]"),
    ("nested 100,000 deep", b"[" * 100_000 + b"]" * 100_000),
    ("cut", _whole()[:100]),
    ("HTML", b"<html></html>"),
    ("binary", bytes(range(256))),
  ):
    yield Case(
      f"the JSON is {kind}", functools.partial(_with_json, data), (_NAME,)
    )


def _map() -> np.ndarray:
  data = cityscapes_c_test.files()[_MAP]
  return np.asarray(Image.open(io.BytesIO(data))).astype(np.uint16)


def _maps() -> Iterator[Case]:
  values = _map()
  name = "frankfurt_000001_000294_gtFine_instanceIds.png"
  for kind, data in (
    ("of 8 bits", tiny_files.encoded((values % 256).astype(np.uint8))),
    ("in colour", tiny_files.encoded(np.zeros((48, 60, 3), np.uint8))),
    ("turned", tiny_files.encoded(np.ascontiguousarray(values.T))),
    ("cut", tiny_files.encoded(values)[:60]),
    ("cut near its end", tiny_files.encoded(values)[:-14]),
    ("empty", b""),
    ("of an unknown label",
     tiny_files.encoded(np.where(values > 7, np.uint16(40007), values))),
    ("of label 65535", tiny_files.encoded(np.full_like(values, 65535))),
    ("of another picture's size",
     tiny_files.encoded(np.full((90, 150), 7, np.uint16))),
    ("a JPEG", tiny_files.encoded((values % 256).astype(np.uint8), "JPEG")),
  ):  # fmt: skip
    yield Case(
      f"a map is {kind}",
      functools.partial(_with_map, data),
      (name,),
      _as_valid if kind == "cut near its end" else None,
    )


def _pictures() -> Iterator[Case]:
  whole = cityscapes_c_test.files()[_PICTURE]
  small = tiny_files.encoded(np.zeros((4, 4, 3), np.uint8))
  for kind, change, names in (
    ("a picture is cut", {_PICTURE: whole[:99]}, ("lindau_000000_000019",)),
    ("a picture is absent", {_PICTURE: None}, ("lindau_000000_000019",)),
    ("a picture is small", {_PICTURE: small}, ("lindau_000000_000019",)),
    ("no labels of a picture", {_JSON: None}, ("lindau_000000_000019",)),
    ("a picture of another city",
     {"leftImg8bit/val/lindau/bonn_000000_000019_leftImg8bit.png": whole}, ("bonn",)),
    ("a name of no frame",
     {"leftImg8bit/val/lindau/lindau_1_leftImg8bit.png": whole}, ("lindau_1",)),
  ):  # fmt: skip
    act = functools.partial(_CHANGED_FILES, change)
    yield Case(kind, act, names)


def _odd() -> Iterator[Case]:
  for kind, change in (
    ("a polygon beyond the picture", lambda c: c["objects"][0].update(
      polygon=[[-1, -1], [151, -1], [151, 91], [-1, 91]])),
    ("fractions", lambda c: c["objects"][0].update(
      polygon=[[0.0, 0.5], [150.0, 0], [150, 90], [0, 90.0]])),
    ("an object that is not deleted", lambda c: c["objects"][1].update(
      deleted=0)),
    ("more fields", lambda c: c.update(date="today", id=5)),
  ):  # fmt: skip
    yield Case(
      f"odd: {kind}", functools.partial(_changed, change), right=_as_valid
    )
  plain = tiny_files.encoded(_map(), compress_level=0)
  act = functools.partial(_with_map, plain)
  yield Case("odd: a map that is stored plain", act, right=_as_valid)
