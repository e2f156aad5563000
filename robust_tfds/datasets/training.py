"""Official training data of the benchmarks: a row for each, split `train`.

No benchmark has a split to train on. What its networks are trained on is a set of
its own: the classes, features and files of the benchmark's source, its official list
of training examples, no conditions. `models.training.data` reads the files where
they lie; `datasets.prepare` builds the set as any other.
"""

import dataclasses
import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import base, objects, pictures
from robust_tfds.building.sources import (
  cityscapes,
  coco,
  split_lists,
  training_frames,
  video_tables,
  voc,
)
from robust_tfds.datasets.imagenet_vid_robust import metadata as vid
from robust_tfds.datasets.ytbb_robust import metadata as ytbb

TRAIN = "train"
_LISTS = (TRAIN, f"{TRAIN}_2", f"{TRAIN}_3")  # the official splits 1, 2, 3


@dataclasses.dataclass(frozen=True)
class Row:
  """Training data of a benchmark.

  Attributes:
    of: the benchmark, whose classes it has.
    listed: manual dir -> split -> sources.
    instructions: what lies where.
    examples: how many the official list has; 0 where that is not known.
    boxes: frames come with boxes, not with labels.
  """

  of: str
  listed: Callable[[Any], Mapping[str, Sequence[Any]]]
  instructions: str
  examples: int = 0
  boxes: bool = False


def _numbered(find: Callable[..., Any], folder: Any) -> Any:
  """Return the sources of the official splits whose lists are present."""
  training = functools.partial(find, folder, kind=TRAIN)
  return split_lists.present_splits(training, _LISTS)


ROWS: Mapping[str, Row] = {
  "imagenet_vid_train": Row(
    "imagenet_vid_robust",
    lambda folder: {
      TRAIN: training_frames.imagenet_vid(
        folder, [c["wnid"] for c in vid.classes()]
      )
    },
    training_frames.VID_INSTRUCTIONS,
  ),
  "ilsvrc30_train": Row(
    "imagenet_vid_robust",
    lambda folder: {
      TRAIN: training_frames.ilsvrc30(
        folder, [c["members"] for c in vid.classes()]
      )
    },
    training_frames.ILSVRC30_INSTRUCTIONS,
  ),
  "imagenet_vid_det_train": Row(
    "imagenet_vid_robust",
    lambda folder: {
      TRAIN: training_frames.imagenet_vid_boxes(
        folder, [c["wnid"] for c in vid.classes()]
      )
    },
    training_frames.VID_INSTRUCTIONS,
    boxes=True,
  ),
  "ytbb_train": Row(
    "ytbb_robust",
    lambda folder: {
      TRAIN: training_frames.ytbb(folder, len(ytbb.classes()), ytbb.SWAPPED)
    },
    training_frames.YTBB_INSTRUCTIONS,
  ),
  "ucf101_train": Row(
    "ucf101_p",
    functools.partial(_numbered, split_lists.ucf101),
    split_lists.UCF101_TRAIN_INSTRUCTIONS,
    9_537,
  ),
  "hmdb51_train": Row(
    "hmdb51_p",
    functools.partial(_numbered, split_lists.hmdb51),
    split_lists.HMDB51_TRAIN_INSTRUCTIONS,
    3_570,
  ),
  "kinetics400_train": Row(
    "kinetics400_p",
    lambda folder: {TRAIN: video_tables.kinetics400(folder, TRAIN)},
    video_tables.KINETICS400_TRAIN_INSTRUCTIONS,
  ),
  "ssv2_train": Row(
    "ssv2_p",
    lambda folder: {TRAIN: video_tables.ssv2(folder, TRAIN)},
    video_tables.SSV2_TRAIN_INSTRUCTIONS,
    168_913,
  ),
  "coco_train": Row(
    "coco_c",
    lambda folder: {TRAIN: coco.sources(folder, coco.TRAIN)},
    coco.TRAIN_INSTRUCTIONS,
    118_287,
  ),
  "voc0712_train": Row(
    "pascal_c",
    lambda folder: {TRAIN: voc.sources(folder, voc.TRAIN_0712)},
    voc.TRAIN_INSTRUCTIONS,
    16_551,
  ),
  "cityscapes_train": Row(
    "cityscapes_c",
    lambda folder: {
      TRAIN: cityscapes.sources(folder, drop_groups=False, part=TRAIN)
    },
    cityscapes.TRAIN_INSTRUCTIONS,
    2_975,
  ),
}


def tested(called: str, split: str) -> str:
  """Return the split of the benchmark that is tested after training on `split`.

  >>> tested("ucf101_train", "train_3"), tested("coco_train", "train")
  ('test_3', 'validation')
  """
  splits = _benchmark(ROWS[called]).splits()
  return str(splits[_LISTS.index(split)])


def _benchmark(row: Row) -> Any:
  """Return the builder of the benchmark that a row's set belongs to."""
  module = f"{__package__}.{row.of}.{row.of}_dataset_builder"
  return importlib.import_module(module).Builder


@functools.cache
def builder_class(called: str) -> type[base.Builder]:
  """Return the builder of a row's set: the benchmark's, without its conditions."""
  row = ROWS[called]
  like = _benchmark(row)
  kind = like
  if like.KIND == "frames":  # single pictures here, without anchors
    kind = objects.Builder if row.boxes else pictures.Builder

  class Builder(
    kind,  # type: ignore[misc,valid-type]
    skip_registration=True,  # type: ignore[call-arg]
  ):
    """The builder of one list."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "Initial release."}
    name = called
    FAMILY = None
    EDITION = ""
    CODECS = ()
    HAS_SOURCE = False
    SPLIT = TRAIN
    OTHER_SPLITS: Mapping[str, int] = (
      dict.fromkeys(_LISTS[1:], 0) if like.OTHER_SPLITS else {}
    )
    CLASSES = like.CLASSES
    HOMEPAGE = like.HOMEPAGE
    MASKS = getattr(like, "MASKS", False)
    RUN_BY = ""
    PUBLISHED_EXAMPLES = row.examples
    MANUAL_DOWNLOAD_INSTRUCTIONS = row.instructions

    def _split_sources(self, dl_manager: Any) -> Mapping[str, Sequence[Any]]:
      return row.listed(dl_manager.manual_dir)

  return Builder
