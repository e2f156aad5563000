"""COCO's annotations and pictures, `robust_tfds.build coco_c`.

What no annotation may be is in tests/datasets/coco_c_test.py, what no JSON may be
in tests/reading/files_test.py.
"""

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
  """The file's bytes, pictures, archives; and odd ones."""
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


def _set(part: str, i: int, **fields: Any) -> Callable[[dict], Any]:
  return lambda c: c[part][i].update(fields)


def _pictures() -> Iterator[Case]:
  first = "val2017/000000000139.jpg"
  name = "000000000139.jpg"
  whole = coco_c_test.jpeg((60, 48), 139)
  change = builds.change("coco_c", coco_c_test.files)
  yield from case.rows(
    lambda data, folder: change({first: data}, folder),
    ("cut", whole[:200]),
    ("of another size", coco_c_test.jpeg((61, 48))),
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
