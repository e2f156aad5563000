"""COCO-C: COCO val2017 under 19 corruptions x 5, with boxes and masks."""

import functools

import tensorflow_datasets as tfds

from robust_tfds.datasets import corrupted
from robust_tfds.datasets import detection
from robust_tfds.datasets import geometry
from robust_tfds.datasets import manual_files
from robust_tfds.datasets.coco_c import instances

_IMAGES = ("val2017", ("val2017.zip",))
_ANNOTATIONS = ("annotations", ("annotations_trainval2017.zip",))
_JSON = "instances_val2017.json"


class Builder(detection.DetectionBuilder):
  """The Robust Detection Benchmark's COCO-C (Michaelis et al. 2019)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = """\
COCO 2017 from https://cocodataset.org in the manual dir, as downloaded
(val2017.zip, annotations_trainval2017.zip) or unpacked:
  val2017/000000000139.jpg ... (5,000 pictures)
  annotations/instances_val2017.json
Polygons need pycocotools: pip install 'robust_tfds[detection]'."""
  SPLIT = "validation"
  CATEGORY_IDS = tuple(sorted(instances.categories()))
  BUILDER_CONFIGS = corrupted.configs("raw", others=("jpeg85",))

  def _info(self) -> tfds.core.DatasetInfo:
    names = [name for _, name in sorted(instances.categories().items())]
    return self.dataset_info_from_configs(
      features=self.detection_features(names),
      homepage="https://cocodataset.org",
    )

  def _sources(self, dl_manager):
    find = functools.partial(
      manual_files.find,
      dl_manager.manual_dir,
      instructions=self.MANUAL_DOWNLOAD_INSTRUCTIONS,
    )
    annotations = find(*_ANNOTATIONS, marker=_JSON)[_JSON]
    pictures = find(*_IMAGES)
    return [
      _source(image, pictures)
      for image in instances.parse(annotations.data(), _JSON)
    ]


def _source(image, pictures) -> detection.Source:
  if image.file_name not in pictures:
    raise FileNotFoundError(
      f"{_JSON} has image {image.id}, {image.file_name!r}, with"
      f" {len(image.annotations)} annotations; there is no such file in"
      f" {_IMAGES[0]} ({len(pictures)} files)."
    )
  return detection.Source(
    image.file_name,
    image_id=image.id,
    read=functools.partial(_read, pictures[image.file_name]),
    objects=functools.partial(_objects, image),
  )


def _read(file):
  return geometry.decode(file.data(), "whole", file.name)


def _objects(image, size):
  return instances.objects(image, size, image.file_name)
