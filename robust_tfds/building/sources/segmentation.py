"""Cityscapes, ADE20K and VOC 2012 with their masks, from the official layouts."""

import os
import pathlib
import re
from collections.abc import Callable, Mapping

from robust_tfds.building import masks, source
from robust_tfds.building.sources import (
  cityscapes,
  folders,
  mask_labels,
  voc,
)

# cityscapesScripts' labels.py, in the order of the train ids.
CITYSCAPES_CLASSES = (
  *("road", "sidewalk", "building", "wall", "fence", "pole"),
  *("traffic light", "traffic sign", "vegetation", "terrain", "sky"),
  *("person", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle"),
)
ADE20K_CLASSES = tuple(
  pathlib.Path(__file__)
  .with_name("ade20k_classes.txt")
  .read_text("utf-8")
  .splitlines()
)
VOC_CLASSES = ("background", *voc.CLASSES)
CITYSCAPES_INSTRUCTIONS = """\
Cityscapes from https://www.cityscapes-dataset.com (registration) in the manual
dir, as downloaded (leftImg8bit_trainvaltest.zip, gtFine_trainvaltest.zip) or
unpacked:
  leftImg8bit/val/<city>/<city>_<sequence>_<frame>_leftImg8bit.png (500 pictures)
  gtFine/val/<city>/<city>_<sequence>_<frame>_gtFine_labelIds.png; the 19 train
    ids are made of these here."""
_ADE = "ADEChallengeData2016"
ADE20K_INSTRUCTIONS = f"""\
SceneParse150 from http://sceneparsing.csail.mit.edu in the manual dir: {_ADE}.zip
as it is, or unpacked:
  {_ADE}/images/validation/ADE_val_00000001.jpg ... (2,000 pictures)
  {_ADE}/annotations/validation/ADE_val_00000001.png ..."""
_VOC = voc.TRAIN_0712[1]._replace(ids="ImageSets/Segmentation/val.txt")
VOC_INSTRUCTIONS = f"""\
VOC 2012 from http://host.robots.ox.ac.uk/pascal/VOC in the manual dir:
{_VOC.archive} as it is, or unpacked:
  {_VOC.folder}/{_VOC.ids} (1,449 ids)
  {_VOC.folder}/JPEGImages/2007_000033.jpg ...
  {_VOC.folder}/SegmentationClass/2007_000033.png ..."""


def cityscapes_sources(manual_dir: os.PathLike | str) -> list[masks.Source]:
  """Return Cityscapes val: 500 pictures of three cities.

  Raises:
    FileNotFoundError: a picture or its mask is missing.
    UserError: a picture with an unexpected name.
  """

  def find(kind: str) -> Mapping[str, source.File]:
    return folders.find(
      manual_dir,
      f"{kind}/val",
      (f"{kind}_trainvaltest.zip",),
      instructions=CITYSCAPES_INSTRUCTIONS,
    )

  truth, out = find("gtFine"), []
  found = cityscapes.pictures_of(find("leftImg8bit"), "leftImg8bit/val")
  for stem, (match, file) in found.items():
    mask = _needed(truth, f"{stem}_gtFine_labelIds.png", "gtFine/val")
    name = file.name.rpartition("/")[2]
    labels = mask_labels.Mask(mask, len(CITYSCAPES_CLASSES), "cityscapes")
    picture = source.Picture(file)
    out.append(masks.Source(name, picture, labels, match["city"]))
  return out


def ade20k_sources(manual_dir: os.PathLike | str) -> list[masks.Source]:
  """Return SceneParse150's 2,000 validation pictures.

  Raises:
    FileNotFoundError: a picture or its mask is missing.
  """
  files = folders.find(
    manual_dir, _ADE, (f"{_ADE}.zip",), instructions=ADE20K_INSTRUCTIONS
  )
  pattern = re.compile(r"images/validation/(ADE_val_\d{8})\.jpg")
  stems = [m[1] for m in map(pattern.fullmatch, files) if m]
  return _pairs(
    files,
    stems,
    lambda stem: f"images/validation/{stem}.jpg",
    lambda stem: f"annotations/validation/{stem}.png",
    len(ADE20K_CLASSES),
    "zero_ignored",
  )


def voc_sources(manual_dir: os.PathLike | str) -> list[masks.Source]:
  """Return the 1,449 pictures of VOC 2012's list `Segmentation/val`.

  Raises:
    FileNotFoundError: the set, a picture or its mask is missing.
    UserError: a list of other ids, or one that names an image twice.
  """
  part = _VOC._replace(
    form=re.compile(r"20\d{2}_\d{6}"), form_words="2007_000033's form"
  )
  files = folders.find(
    manual_dir,
    part.folder,
    (part.archive,),
    instructions=VOC_INSTRUCTIONS,
    marker=part.ids,
  )
  return _pairs(
    files,
    voc.listed(files[part.ids].data(), part),
    lambda stem: f"JPEGImages/{stem}.jpg",
    lambda stem: f"SegmentationClass/{stem}.png",
    len(VOC_CLASSES),
    "",
  )


def _pairs(
  files: Mapping[str, source.File],
  stems: list[str],
  picture: Callable[[str], str],
  mask: Callable[[str], str],
  classes: int,
  rule: str,
) -> list[masks.Source]:
  out = []
  for stem in stems:
    file, labels = (_needed(files, of(stem)) for of in (picture, mask))
    out.append(
      masks.Source(
        file.name.rpartition("/")[2],
        source.Picture(file),
        mask_labels.Mask(labels, classes, rule),
      )
    )
  return out


def _needed(
  files: Mapping[str, source.File], name: str, folder: str = ""
) -> source.File:
  if name not in files:
    where = f" in {folder}" if folder else ""
    raise FileNotFoundError(
      f"There is no {name}{where}. Unpack the archives whole."
    )
  return files[name]
