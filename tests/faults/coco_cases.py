"""COCO's annotations and pictures, `robust_tfds.build coco_c`."""

import functools
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests import tiny_files
from tests.datasets import coco_c_test
from tests.faults import builds, case, mutations
from tests.faults.case import Case

_JSON = "annotations/instances_val2017.json"
_NAME = "instances_val2017.json"
_PICTURE = "000000000139"


def cases() -> Iterator[Case]:
  """Fields, records, the file's bytes, pictures, archives; and odd ones."""
  yield from _fields()
  yield from _records()
  yield from _texts()
  yield from _pictures()
  yield from _odd()
  data = coco_c_test.files()[_JSON]
  yield from mutations.cases(
    f"{_NAME}|{_PICTURE}|285|632", data, _with_json, _as_valid
  )


def _with_json(data: bytes, folder: pathlib.Path):
  return builds.of_files("coco_c", {**coco_c_test.files(), _JSON: data}, folder)


def _content(change: Callable[[dict], Any], folder: pathlib.Path):
  content = coco_c_test.content()
  change(content)
  return _with_json(json.dumps(content).encode(), folder)


def _case(kind: str, change: Callable[[dict], Any], *names: str, right=None):
  names = (f"{_NAME}|{_PICTURE}", *names)
  return Case(kind, functools.partial(_content, change), names, right)


def _set(part: str, i: int, **fields: Any) -> Callable[[dict], Any]:
  return lambda c: c[part][i].update(fields)


def _again(part: str) -> Callable[[dict], Any]:
  return lambda c: c[part].append(c[part][0])


_NAN, _INF = float("nan"), float("inf")


def _fields() -> Iterator[Case]:
  for part, i, field, values in (
    ("annotations", 0, "id", (1.5, "7", None, [1], True, -1, 2**70)),
    ("annotations", 0, "image_id", (139.5, "139", None, 5)),
    ("annotations", 0, "category_id", (1.5, "1", 0, 12, 91)),
    ("annotations", 0, "iscrowd", ("yes", 2, None, 0.5, -1)),
    ("annotations", 0, "area", ("big", _NAN, -1, _INF, None)),
    ("annotations", 0, "bbox", (
      [3, 3, 0, 0],
      [1, 2, 3], [1, 2, _NAN, 4], [1, 2, _INF, 4], [1e30, 0, 5, 5],
      [1, 2, -3, 4], "box", None, [1, 2, "3", 4], [[1, 2, 3, 4]], {},
    )),
    ("annotations", 0, "segmentation", (
      [[1, 2, 3]], [[]], [[_NAN] * 6], [[1e9] * 3 + [0, 5, 1e9]], [[1e30, 0] * 4],
      [["a"] * 6], "poly", None, 5, {"size": [48, 60]}, {"counts": "x"},
      {"size": [5, 5], "counts": [25]}, {"size": [48, 60], "counts": [5]},
      {"size": [48, 60], "counts": [-5, 2885]},
      {"size": [48, 60], "counts": "\u00e9\u00e9"},
      {"size": [10**6, 10**6], "counts": [10**12]}, [[0, 0]],
    )),
    ("images", 0, "id", (1.5, "139", None)),
    ("images", 0, "width", (0, -60, 59, "60", 1e9, None)),
    ("images", 0, "file_name", (5, "", "../139.jpg", "/etc/passwd", None, "a\0b")),
    ("categories", 0, "id", (1.5, "1", 2)),
    ("categories", 0, "name", (5, "", "<b>person</b>")),
  ):  # fmt: skip
    for value in values:
      shown = json.dumps(value)
      shown = shown if len(shown) < 40 else f"{shown[:40]}..."
      named = {
        "annotations": "annotations.0|annotation 7|annotation id 7|7",
        "images": "images.0|image 139|139",
        "categories": "categories.0|category|categor",
      }[part]
      same = (field, value) in (("id", -1), ("width", "60"))
      yield _case(
        f"{part}: {field} is {shown}",
        _set(part, i, **{field: value}),
        field + "|" + named,
        right=_as_valid if same else None,
      )


def _records() -> Iterator[Case]:
  for part in ("images", "annotations", "categories"):
    for kind, change in (
      ("lacks", lambda c, p: c.pop(p)),
      ("is null", lambda c, p: c.update({p: None})),
      ("is an object", lambda c, p: c.update({p: {"0": c[p][0]}})),
      ("holds a number", lambda c, p: c[p].append(5)),
    ):
      yield _case(f"{part} {kind}", functools.partial(change, p=part), part[:6])
  yield from case.rows(
    _content,
    ("an annotation twice", _again("annotations"), "7"),
    ("an image twice", _again("images"), "139"),
    ("a category twice", _again("categories"), "person|1", _as_valid),
    ("no images", lambda c: c.update(images=[], annotations=[]), "image"),
    ("a category lacks", lambda c: c["categories"].pop(), "categor|90", _as_valid),
    ("fields swapped", _set("annotations", 0, id=139, image_id=7), "image_id|7"),
    names=(f"{_NAME}|{_PICTURE}",),
  )  # fmt: skip


def _texts() -> Iterator[Case]:
  whole = json.dumps(coco_c_test.content()).encode()
  for kind, data in (
    ("empty", b""),
    ("nested 100,000 deep", b"[" * 100_000 + b"]" * 100_000),
    ("nested inside a field",
     whole[:-1] + b', "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
    ("a list", b"[]"),
    ("a number", b"5"),
    ("a string", b'"abc"'),
    ("null", b"null"),
    ("cut in half", whole[: len(whole) // 2]),
    ("HTML", b"<!doctype html><h1>404</h1>"),
    ("binary", bytes(range(256))),
    ("Latin-1", whole.replace(b"person", b"pers\xf3n")),
    ("UTF-16", whole.decode().encode("utf-16")),
    ("a key twice", whole[:-1] + b', "annotations": []}'),
    ("a number of 5,000 digits", whole.replace(b'"id": 7', b'"id": ' + b"7" * 5000)),
    ("comments", b"// COCO\n" + whole),
  ):  # fmt: skip
    right = _as_valid if kind == "UTF-16" else None
    yield Case(
      f"the file is {kind}",
      functools.partial(_with_json, data),
      (_NAME,),
      right,
    )


def _pictures() -> Iterator[Case]:
  first = "val2017/000000000139.jpg"
  name = "000000000139.jpg"
  whole = coco_c_test.jpeg((60, 48), 139)
  change = builds.change("coco_c", coco_c_test.files)
  yield from case.rows(
    lambda data, folder: change({first: data}, folder),
    ("cut", whole[:200]),
    ("empty", b""),
    ("of another size", coco_c_test.jpeg((61, 48))),
    ("text", b"hello"),
    ("HTML", b"<html></html>"),
    ("absent", None),
    kinds="a picture is {}",
    names=(name,),
  )
  yield from case.rows(
    _zipped,
    ("a cut zip", 0.5, "val2017.zip"),
    ("an empty zip", 0, "val2017"),
    ("a whole zip", 1, builds.count(3)),
    kinds="pictures in {}",
  )


def _zipped(part: float, folder: pathlib.Path):
  files = coco_c_test.files()
  data = tiny_files.zipped((n, files.pop(n)) for n in list(files) if n != _JSON)
  files["val2017.zip"] = data[: int(len(data) * part)]
  return builds.of_files("coco_c", files, folder)


def _odd() -> Iterator[Case]:
  three = builds.count(3)

  whole = json.dumps(coco_c_test.content()).encode()
  for kind, change in (
    ("more fields", _set("annotations", 0, keypoints=[1, 2], score=0.5)),
    ("whole numbers as floats in a box", _set("annotations", 0, bbox=[2.0, 3, 20, 30])),
    ("info and licences", lambda c: c.update(info={"year": 2017}, licenses=[{}])),
    ("categories in another order", lambda c: c["categories"].reverse()),
    ("images in another order", lambda c: c["images"].reverse()),
    ("a box that ends beyond the picture", _set("annotations", 0, bbox=[50, 40, 11, 9])),
    ("a picture without objects", lambda c: c["annotations"].pop()),
    ("a compressed mask", _set("annotations", 1, segmentation=_compressed())),
    ("large ids", _set("annotations", 2, id=900_100_000_000_000)),
  ):  # fmt: skip
    right = _as_valid if "ids" not in kind and "without" not in kind else three
    yield Case(f"odd: {kind}", functools.partial(_content, change), right=right)
  indented = json.dumps(coco_c_test.content(), indent=2).encode()
  yield from case.rows(
    _with_json,
    ("odd: a byte order mark", b"\xef\xbb\xbf" + whole),
    ("odd: indented", indented),
    right=_as_valid,
  )
  change = builds.change("coco_c", coco_c_test.files)
  first = "val2017/000000000139.jpg"
  yield from case.rows(
    lambda mode, folder: change(
      {first: coco_c_test.jpeg((60, 48), 1, mode)}, folder
    ),
    ("odd: a grey picture", "L"),
    ("odd: a CMYK picture", "CMYK"),
    right=_as_valid,
  )


def _compressed() -> dict[str, Any]:
  from pycocotools import mask

  crowd = np.zeros((48, 60), np.uint8, order="F")
  crowd[10:40, 5:50] = 1
  coded = mask.encode(crowd)
  return {"size": [48, 60], "counts": coded["counts"].decode()}


def _as_valid(found: Any) -> bool:
  """Whether the objects are those of the valid file."""
  by_id = {int(e["image_id"]): e["objects"] for e in found.values()}
  ids = {i: sorted(o["id"].tolist()) for i, o in by_id.items()}
  assert len(by_id) == 3, ids
  assert [len(v) for v in ids.values()] == [len(ids[i]) for i in by_id]
  labels = {i: sorted(o["label"].tolist()) for i, o in by_id.items()}
  assert (len(ids[139]), len(ids[285]), len(ids[632])) == (2, 1, 0), ids
  assert labels[139] == [0, 16] and labels[285] == [79], labels
  return by_id[139]["is_crowd"].sum() == 1
