"""Cityscapes-C: Cityscapes val under 19 corruptions x 5, boxes and masks."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping

import tensorflow_datasets as tfds

from robust_tfds import errors
from robust_tfds.datasets import corrupted
from robust_tfds.datasets import detection
from robust_tfds.datasets import geometry
from robust_tfds.datasets import manual_files
from robust_tfds.datasets.cityscapes_c import instances

_IMAGES = ("leftImg8bit/val", ("leftImg8bit_trainvaltest.zip",))
_TRUTH = ("gtFine/val", ("gtFine_trainvaltest.zip",))
_GROUPS = ("crowd", "drop")
_SUFFIX = "_no_groups"
# <city>/<city>_<sequence>_<frame>, the city twice (\2).
_STEM = r"((?P<city>[a-z-]+)/\2_(?P<sequence>\d{6})_(?P<frame>\d{6}))"
_PICTURE = re.compile(_STEM + r"_leftImg8bit\.png")
_MAP = re.compile(_STEM + r"_gtFine_(?P<kind>instanceIds\.png|polygons\.json)")


@dataclasses.dataclass(kw_only=True)
class CityscapesConfig(corrupted.CorruptedConfig):
  """One condition of Cityscapes-C.

  Attributes:
    groups: `crowd`: objects that could not be told apart are crowds; `drop`:
      they are left out.
  """

  groups: str = "crowd"


def _configs() -> list[CityscapesConfig]:
  return [
    CityscapesConfig(
      name=c.name + (_SUFFIX if groups == "drop" else ""),
      description=f"{c.description}; groups: {groups}",
      corruption=c.corruption,
      severity=c.severity,
      codec=c.codec,
      seed=c.seed,
      groups=groups,
    )
    for groups in _GROUPS
    for c in corrupted.configs("raw", others=("jpeg85",))
  ]


class Builder(detection.DetectionBuilder):
  """The Robust Detection Benchmark's Cityscapes-C (Michaelis et al. 2019)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = """\
Cityscapes from https://www.cityscapes-dataset.com (registration) in the manual
dir, as downloaded (leftImg8bit_trainvaltest.zip, gtFine_trainvaltest.zip) or
unpacked:
  leftImg8bit/val/<city>/<city>_<sequence>_<frame>_leftImg8bit.png (500 pictures)
  gtFine/val/<city>/<city>_<sequence>_<frame>_gtFine_instanceIds.png, or
    ..._gtFine_polygons.json where there is no such file."""
  SPLIT = "validation"
  CATEGORY_IDS = tuple(instances.CLASSES)
  BUILDER_CONFIGS = _configs()

  @classmethod
  def conditions(cls) -> list[str]:
    """Config names under the default codec with groups as crowds."""
    return [n for n in super().conditions() if not n.endswith(_SUFFIX)]

  @classmethod
  def config_of(
    cls,
    name: str,
    *,
    codec: str | None = None,
    geometry: str | None = None,
    groups: str | None = None,
  ) -> corrupted.CorruptedConfig:
    """The config of a condition under a codec and a treatment of groups.

    Args:
      name: `clean` or `<corruption>_<severity>`, or any config's full name.
      codec: `raw` (lossless, the default) or `jpeg85`.
      geometry: not for this dataset.
      groups: `crowd` (the default) or `drop`.

    Raises:
      ValueError: an unknown condition or option, with a suggestion.
    """
    by_name = {c.name: c for c in cls.BUILDER_CONFIGS}
    if groups is None:
      groups = "drop" if name.endswith(_SUFFIX) and name in by_name else "crowd"
    if groups not in _GROUPS:
      raise errors.unknown("treatment of groups", groups, _GROUPS)
    plain = name.removesuffix(_SUFFIX) if name in by_name else name
    found = super().config_of(plain, codec=codec, geometry=geometry)
    return by_name[found.name + (_SUFFIX if groups == "drop" else "")]

  def _info(self) -> tfds.core.DatasetInfo:
    return self.dataset_info_from_configs(
      features=self.detection_features(list(instances.CLASSES.values())),
      homepage="https://www.cityscapes-dataset.com",
    )

  def _sources(self, dl_manager):
    find = functools.partial(
      manual_files.find,
      dl_manager.manual_dir,
      instructions=self.MANUAL_DOWNLOAD_INSTRUCTIONS,
    )
    pictures = _pictures(find(*_IMAGES))
    truth = _truth(find(*_TRUTH))
    for stem in truth.keys() - pictures.keys():
      raise FileNotFoundError(
        f"{_TRUTH[0]}/{stem} has annotations, but there is no"
        f" {_IMAGES[0]}/{stem}_leftImg8bit.png."
      )
    drop = self.builder_config.groups == "drop"
    return [
      _source(number, found, file, truth, drop)
      for number, (found, file) in enumerate(pictures.values(), start=1)
    ]


Pictures = dict[str, tuple[re.Match, manual_files.File]]


def _pictures(files: Mapping[str, manual_files.File]) -> Pictures:
  """By <city>/<stem>, in the order of the names."""
  found: Pictures = {}
  for name, file in files.items():
    match = _PICTURE.fullmatch(name)
    if match:
      found[match[1]] = match, file
    elif name.endswith(".png"):
      raise ValueError(
        f"{_IMAGES[0]}/{name} is not named"
        " <city>/<city>_<sequence>_<frame>_leftImg8bit.png."
      )
  if not found:
    raise FileNotFoundError(f"There are no pictures in {_IMAGES[0]}.")
  return found


def _truth(
  files: Mapping[str, manual_files.File],
) -> dict[str, dict[str, manual_files.File]]:
  """By <city>/<stem>: the instance map, the polygons or both."""
  found: dict[str, dict[str, manual_files.File]] = {}
  for name, file in files.items():
    match = _MAP.fullmatch(name)
    if match:
      found.setdefault(match[1], {})[match["kind"]] = file
  return found


def _source(number, match, file, truth, drop) -> detection.Source:
  stem = match[1]
  if stem not in truth:
    raise FileNotFoundError(
      f"{file.name} has neither {stem}_gtFine_instanceIds.png nor"
      f" {stem}_gtFine_polygons.json in {_TRUTH[0]}."
    )
  maps = truth[stem]
  drawn = "instanceIds.png" not in maps
  return detection.Source(
    file.name.rpartition("/")[2],
    image_id=number,
    group_id=f"{match['city']}_{match['sequence']}",
    frame=int(match["frame"]),
    read=functools.partial(_read, file),
    objects=functools.partial(
      _objects, maps["polygons.json" if drawn else "instanceIds.png"], number,
      drawn, drop,
    ),
  )  # fmt: skip


def _read(file):
  return geometry.decode(file.data(), "whole", file.name)


def _objects(file, number, drawn, drop, size):
  reader = instances.draw if drawn else instances.read
  instance_map = reader(file.data(), file.name)
  if instance_map.shape != tuple(size):
    height, width = instance_map.shape
    raise ValueError(
      f"{file.name} is {width} x {height} px, its picture {size[1]} x {size[0]}."
    )
  return instances.objects(
    instance_map, number, drop_groups=drop, where=file.name
  )
