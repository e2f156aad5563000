"""COCO's annotations and pictures, `robust_tfds.build coco_c`.

What no annotation may be is in tests/datasets/coco_c_test.py, what no JSON may be
in tests/reading/files_test.py.
"""

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
_CHANGED = builds.change("coco_c", coco_c_test.files)


def cases() -> Iterator[Case]:
  """The file's bytes, pictures, archives; and odd ones."""
  yield from _pictures()
  yield from _odd()
  data = coco_c_test.files()[_JSON]
  yield from mutations.cases(
    f"{_NAME}|{_PICTURE}|285|632", data, _with_json, _as_valid
  )


def _with_json(data: bytes, folder: pathlib.Path):
  return _CHANGED({_JSON: data}, folder)


def _content(change: Callable[[dict], Any], folder: pathlib.Path):
  content = coco_c_test.content()
  change(content)
  return _with_json(json.dumps(content).encode(), folder)


def _set(i: int, **fields: Any) -> Callable[[dict], Any]:
  return lambda c: c["annotations"][i].update(fields)


def _pictures() -> Iterator[Case]:
  first = "val2017/000000000139.jpg"
  name = "000000000139.jpg"
  whole = coco_c_test.jpeg((60, 48), 139)
  yield from case.rows(
    lambda data, folder: _CHANGED({first: data}, folder),
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
  mask = {"segmentation": _compressed()}
  yield from case.rows(
    _content,
    ("more fields", _set(0, keypoints=[1, 2], score=0.5), _as_valid),
    ("whole numbers as floats", _set(0, bbox=[2.0, 3, 20, 30]), _as_valid),
    ("info", lambda c: c.update(info={"year": 2017}, licenses=[{}]), _as_valid),
    ("categories turned", lambda c: c["categories"].reverse(), _as_valid),
    ("images turned", lambda c: c["images"].reverse(), _as_valid),
    ("a box beyond the picture", _set(0, bbox=[50, 40, 11, 9]), _as_valid),
    ("a picture without objects", lambda c: c["annotations"].pop(), three),
    ("a compressed mask", _set(1, **mask), _as_valid),
    ("large ids", _set(2, id=900_100_000_000_000), three),
    kinds="odd: {}",
  )
  yield from case.rows(
    _with_json,
    ("odd: a byte order mark", b"\xef\xbb\xbf" + whole, _as_valid),
  )
  first = "val2017/000000000139.jpg"
  yield from case.rows(
    lambda mode, folder: _CHANGED(
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
