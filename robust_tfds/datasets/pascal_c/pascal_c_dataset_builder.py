"""PASCAL-C: the VOC2007 test set under 19 corruptions x 5 severities."""

import functools
import re

import tensorflow_datasets as tfds

from robust_tfds.datasets import corrupted
from robust_tfds.datasets import detection
from robust_tfds.datasets import geometry
from robust_tfds.datasets import manual_files
from robust_tfds.datasets.pascal_c import annotations

_FOLDER = "VOCdevkit/VOC2007"
_ARCHIVES = ("VOCtest_06-Nov-2007.tar",)
_LIST = "ImageSets/Main/test.txt"
_ID = re.compile(r"\d{6}")


class Builder(detection.DetectionBuilder):
  """The Robust Detection Benchmark's PASCAL-C (Michaelis et al. 2019)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = f"""\
The VOC2007 test set from http://host.robots.ox.ac.uk/pascal/VOC/voc2007 in the
manual dir: {_ARCHIVES[0]} as it is, or unpacked:
  {_FOLDER}/{_LIST} (4,952 ids)
  {_FOLDER}/JPEGImages/000001.jpg ...
  {_FOLDER}/Annotations/000001.xml ..."""
  SPLIT = "test"
  MASKS = False
  DIFFICULT = True
  BUILDER_CONFIGS = corrupted.configs("raw", others=("jpeg85",))

  def _info(self) -> tfds.core.DatasetInfo:
    return self.dataset_info_from_configs(
      features=self.detection_features(annotations.CLASSES),
      homepage="http://host.robots.ox.ac.uk/pascal/VOC/voc2007",
    )

  def _sources(self, dl_manager):
    files = manual_files.find(
      dl_manager.manual_dir,
      _FOLDER,
      _ARCHIVES,
      instructions=self.MANUAL_DOWNLOAD_INSTRUCTIONS,
      marker=_LIST,
    )
    return [_source(name, files) for name in _ids(files[_LIST].data())]


def _ids(data: bytes) -> list[str]:
  names = data.decode("utf-8", "replace").split()
  for name in names:
    if not _ID.fullmatch(name):
      raise ValueError(f"{_LIST}: {name!r} is not an id of six digits.")
  if not names or len(set(names)) < len(names):
    twice = sorted({n for n in names if names.count(n) > 1})
    raise ValueError(
      f"{_LIST} must name every image once; "
      + (f"twice: {', '.join(twice[:5])}." if names else "it is empty.")
    )
  return sorted(names)


def _source(name, files) -> detection.Source:
  picture, xml = f"JPEGImages/{name}.jpg", f"Annotations/{name}.xml"
  for needed in (picture, xml):
    if needed not in files:
      raise FileNotFoundError(
        f"{_LIST} names {name}, but there is no {needed} in {_FOLDER}. Unpack"
        f" {_ARCHIVES[0]} whole."
      )
  return detection.Source(
    f"{name}.jpg",
    image_id=int(name),
    read=functools.partial(_read, files[picture]),
    objects=functools.partial(_objects, files[xml], int(name)),
  )


def _read(file):
  return geometry.decode(file.data(), "whole", file.name)


def _objects(file, image_id, size):
  del size
  return annotations.objects(file.data(), image_id, file.name)
