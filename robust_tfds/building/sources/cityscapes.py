"""Cityscapes: its pictures, and its instance maps or polygons as objects."""

import dataclasses
import os
import re
from collections.abc import Mapping

from robust_tfds import errors
from robust_tfds.building import objects, source
from robust_tfds.building.sources import folders, instance_maps

_IMAGES, _TRUTH = "leftImg8bit", "gtFine"
_MAP, _POLYGONS = "instanceIds.png", "polygons.json"
# <city>/<city>_<sequence>_<frame>, the city twice (\2).
_STEM = r"((?P<city>[a-z-]+)/\2_(?P<sequence>\d{6})_(?P<frame>\d{6}))"
_PICTURE = re.compile(_STEM + r"_leftImg8bit\.png")
_ANNOTATION = re.compile(
  _STEM + r"_gtFine_(?P<kind>instanceIds\.png|polygons\.json)"
)
_INSTRUCTIONS = """\
Cityscapes from https://www.cityscapes-dataset.com (registration) in the manual
dir, as downloaded (leftImg8bit_trainvaltest.zip, gtFine_trainvaltest.zip) or
unpacked:
  leftImg8bit/{part}/<city>/<city>_<sequence>_<frame>_leftImg8bit.png ({count:,} pictures)
  gtFine/{part}/<city>/<city>_<sequence>_<frame>_gtFine_instanceIds.png, or
    ..._gtFine_polygons.json where there is no such file."""
INSTRUCTIONS = _INSTRUCTIONS.format(part="val", count=500)
TRAIN_INSTRUCTIONS = _INSTRUCTIONS.format(part="train", count=2_975)

# By <city>/<city>_<sequence>_<frame>: the picture; its annotations by kind.
Pictures = dict[str, tuple[re.Match[str], source.File]]
Annotations = dict[str, dict[str, source.File]]


@dataclasses.dataclass(frozen=True)
class Annotation(source.Part):
  """A file of a picture's objects.

  Attributes:
    file: the file.
    image_id: number of the picture.
    drawn: whether it contains polygons, not a map.
    drop_groups: whether groups of indistinguishable objects are left out.
  """

  file: source.File
  image_id: int
  drawn: bool
  drop_groups: bool

  def objects_in(self, size: tuple[int, int]) -> list[objects.Object]:
    """Return the objects of a picture of (height, width).

    Raises:
      UserError: a broken file, or one of another size.
    """
    name = self.file.name
    reader = instance_maps.draw if self.drawn else instance_maps.read
    instance_map = reader(self.file.data(), name)
    if instance_map.shape != tuple(size):
      height, width = instance_map.shape
      raise errors.UserError(
        f"{name} is {width} x {height} px, its picture {size[1]} x {size[0]}."
      )
    return instance_maps.objects_of(
      instance_map, self.image_id, drop_groups=self.drop_groups, where=name
    )


def sources(
  manual_dir: os.PathLike | str, *, drop_groups: bool, part: str = "val"
) -> list[objects.Source]:
  """Return all pictures with their objects, in the order of the names.

  Args:
    manual_dir: where the user put folders or archives.
    drop_groups: whether groups of indistinguishable objects are left out; else
      they are crowds.
    part: `val` or `train`.

  Raises:
    FileNotFoundError: a picture or its annotation is missing.
    UserError: a picture with an unexpected name.
  """
  instructions = TRAIN_INSTRUCTIONS if part == "train" else INSTRUCTIONS

  def find(kind: str) -> Mapping[str, source.File]:
    packed = (f"{kind}_trainvaltest.zip",)
    return folders.find(
      manual_dir, f"{kind}/{part}", packed, instructions=instructions
    )

  pictures = pictures_of(find(_IMAGES), f"{_IMAGES}/{part}")
  truth = _annotations(find(_TRUTH))
  for stem in truth.keys() - pictures.keys():
    raise FileNotFoundError(
      f"{_TRUTH}/{part}/{stem} has annotations, but there is no"
      f" {_IMAGES}/{part}/{stem}_leftImg8bit.png."
    )
  return [
    _source(number, match, file, truth, drop_groups)
    for number, (match, file) in enumerate(pictures.values(), start=1)
  ]


def sequence(example_id: str) -> str | None:
  """Return the sequence of a picture; None if its name has another form.

  >>> sequence("ulm_000001_000294_leftImg8bit.png")
  'ulm_000001'
  """
  match = _PICTURE.fullmatch(f"{example_id.partition('_')[0]}/{example_id}")
  return f"{match['city']}_{match['sequence']}" if match else None


def pictures_of(files: Mapping[str, source.File], folder: str) -> Pictures:
  """Return the pictures of a folder by <city>/<city>_<sequence>_<frame>.

  Raises:
    FileNotFoundError: there are none.
    UserError: a picture with an unexpected name.
  """
  pictures: Pictures = {}
  for name, file in files.items():
    match = _PICTURE.fullmatch(name)
    if match:
      pictures[match[1]] = match, file
    elif name.endswith(".png"):
      raise errors.UserError(
        f"{folder}/{name} is not named"
        " <city>/<city>_<sequence>_<frame>_leftImg8bit.png."
      )
  if not pictures:
    raise FileNotFoundError(f"There are no pictures in {folder}.")
  return pictures


def _annotations(files: Mapping[str, source.File]) -> Annotations:
  annotations: Annotations = {}
  for name, file in files.items():
    match = _ANNOTATION.fullmatch(name)
    if match:
      annotations.setdefault(match[1], {})[match["kind"]] = file
  return annotations


def _source(
  number: int,
  match: re.Match[str],
  file: source.File,
  truth: Annotations,
  drop_groups: bool,
) -> objects.Source:
  stem = match[1]
  if stem not in truth:
    raise FileNotFoundError(
      f"{file.name} has neither {stem}_gtFine_{_MAP} nor"
      f" {stem}_gtFine_{_POLYGONS} in {_TRUTH}."
    )
  drawn = _MAP not in truth[stem]
  return objects.Source(
    file.name.rpartition("/")[2],
    image_id=number,
    group_id=f"{match['city']}_{match['sequence']}",
    frame=int(match["frame"]),
    picture=source.Picture(file),
    annotation=Annotation(
      truth[stem][_POLYGONS if drawn else _MAP], number, drawn, drop_groups
    ),
  )
