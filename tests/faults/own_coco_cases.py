"""A COCO file of one's own and its pictures, `robust_tfds.build coco:FILE`."""

import functools
import pathlib
from collections.abc import Iterator
from typing import Any

from tests import tiny_files
from tests.faults import builds, case, commands
from tests.faults.case import Case
from tests.user_data import made

_ALL = slice(None)
# Part of the file, rows of it, fields that are others; and words of the refusal.
_REFUSED = (
  ("annotations", 1, {"image_id": 7}, "annotation 1;image"),
  ("annotations", 2, {"bbox": [30, 80, 20, 20]}, "image 1;object 5"),
  ("annotations", 2, {"bbox": [3, 3, 0, 4]}, "image 1;object 5"),
  ("annotations", _ALL, {"segmentation": [[1, 2, 3]]}, "annotation 0"),
  ("images", 2, {"file_name": "a.png"}, "image;a.png"),
  ("images", 2, {"file_name": "A.png"}, "A.png;1 of 3"),
  ("images", 2, {"file_name": "../a.png"}, "../a.png;relative to"),
  ("images", 2, {"file_name": "/etc/passwd"}, "relative to"),
  ("images", 1, {"file_name": "sub\\b.jpg"}, "Separate folders"),
  ("images", 2, {"file_name": "d.png"}, "d.png;1 of 3;images="),
  ("images", 2, {"height": 51}, "c.webp;120 x 51"),
  ("categories", 1, {"name": "red"}, "category;red"),
)
_LEGITIMATE = (
  ("images", 0, {"license": 3, "coco_url": ""}),
  ("annotations", _ALL, {"segmentation": []}),
  ("annotations", 1, {"segmentation": [[1, 1, 9, 1, 9, 9]]}),
  ("annotations", _ALL, {"category_id": 9}),
  ("annotations", _ALL, {"segmentation": None, "area": None, "iscrowd": None}),
  ("categories", 0, {"supercategory": "none"}),
)


def cases() -> Iterator[Case]:
  """Fields that are wrong, pictures that are, and what is legitimate."""
  for part, place, fields, words in _REFUSED:
    act = functools.partial(_with, part, place, fields)
    named = ("scenes.json|c.webp|a.png", *words.split(";"))
    yield Case(f"{part}: {fields}", act, named)
  for part, place, fields in _LEGITIMATE:
    act = functools.partial(_with, part, place, fields)
    yield Case(f"odd: {part}: {fields}", act, right=builds.count(3))
  yield from case.rows(
    lambda change, folder: _build(made.scenes(folder, **change), folder),
    ("no boxes", {"annotations": []}, "annotations"),
    ("no category", {"categories": []}, "categor"),
    ("no picture", {"images": []}, "images"),
    ("an object in place of boxes", {"annotations": {}}, "annotations"),
    names=("scenes.json",),
  )
  right, smooth = builds.count(3), tiny_files.smooth(83, 61)
  yield from case.rows(
    _pictures,
    ("cut", tiny_files.encoded(smooth)[:200], "a.png"),
    ("text", b"hello", "a.png"),
    ("grey", tiny_files.encoded(smooth.convert("L")), right),
    ("transparent", tiny_files.encoded(smooth.convert("RGBA")), right),
    kinds="a picture is {}",
  )
  yield Case("no folder of pictures", _elsewhere, ("no such folder",))


def _with(
  part: str, place: Any, fields: dict[str, Any], folder: pathlib.Path
) -> Any:
  content = made.content()
  rows: Any = content[part][place]
  for row in rows if place == _ALL else [rows]:
    row.update(fields)
  return _build(made.scenes(folder, **content), folder)


def _pictures(data: bytes, folder: pathlib.Path) -> Any:
  file = made.scenes(folder)
  tiny_files.put(folder, {"images/a.png": data})
  return _build(file, folder)


def _elsewhere(folder: pathlib.Path) -> Any:
  return _build(made.scenes(folder), folder, "pictures")


def _build(
  file: pathlib.Path, folder: pathlib.Path, images: str = "images"
) -> Any:
  data = folder.parent / "data"
  flags = (f"--images={folder / images}", "--set_name=x", f"--data_dir={data}")
  commands.run("robust_tfds.build", f"coco:{file}", "--config=clean", *flags)
  return builds.examples(data)
