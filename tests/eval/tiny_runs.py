"""Small finished runs, one a task, made once a session for every test that reads one.

`folder` is the run itself, which nobody changes; who continues a run, or spoils it,
takes a `copy`. A run has its data and its model in it, and no reports.
"""

import contextlib
import functools
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any
from unittest import mock

import ml_collections

from eval.cells import table
from eval.cells.files import predictions
from eval.run import plan as plan_lib
from eval.run import runner
from robust_tfds import shards
from robust_tfds.storage import locks
from tests import conftest
from tests.eval import tiny_config

# `whole` is classification of all digits there are.
NAMES = (
  *("classification", "whole", "sequences", "frames", "frame_detection"),
  *("detection", "segmentation", "video"),
)


@functools.cache
def folder(name: str) -> pathlib.Path:
  """The workdir of a finished run; the first test that asks makes it.

  Args:
    name: of `NAMES`.
  """
  place = conftest.of_session() / f"tiny_{name}"
  with locks.exclusive(place.with_suffix(".lock"), f"{place} is being made"):
    if not place.exists():
      unfinished = place.with_suffix(".unfinished")
      run(name, unfinished)
      os.rename(unfinished, place)
  return place


def copy(
  name: str, place: pathlib.Path, *, cells: bool = True, config: bool = True
) -> pathlib.Path:
  """A workdir of a test's own.

  Args:
    name: of `NAMES`.
    place: where it will lie.
    cells: whether with the cells and what is made of them.
    config: whether with its config: without it goes on as another run.
  """
  leave = [] if cells else ["cells", "examples", "reports", "table.csv"]
  leave += [] if config else ["config.json"]
  source = folder(name)

  def ignore(at: str, names: list[str]) -> list[str]:
    return [n for n in names if n in leave and pathlib.Path(at) == source]

  shutil.copytree(source, place, ignore=ignore)
  return place


def run(
  name: str, workdir: pathlib.Path, shard: str = "1/1", **data: Any
) -> list[table.Row]:
  """Makes or continues a run.

  Args:
    name: of `NAMES`.
    workdir: its folder.
    shard: which of the cells.
    **data: of the config's `data` what is to be otherwise.
  """
  return start(config(name, **data), workdir, shard)


def start(
  config: ml_collections.ConfigDict,
  workdir: pathlib.Path,
  shard: str = "1/1",
  **options: Any,
) -> list[table.Row]:
  """As `run`, of any config; options are the runner's."""
  with few_videos():
    plan, of = plan_lib.make(config), shards.Shard.parse(shard)
    return runner.Runner(plan, workdir, shard=of, **options).run()


def cell(workdir: pathlib.Path, model: str, dataset: str, condition: str):
  """The columns of a cell."""
  place = predictions.folder(
    workdir / "cells", model, dataset, condition, "seed0"
  )
  return predictions.read(place, workdir / "examples")[0]


def config(name: str, **data: Any) -> ml_collections.ConfigDict:
  """The config of a run, with these changes of its `data`."""
  made = _CONFIGS[name]()
  with made.unlocked(), made.ignore_type():
    made.data.update(data)
    made.reports = False
  return made


def _whole() -> ml_collections.ConfigDict:
  made = tiny_config.get_config().unlock()
  made.data.update(limit=0, block_mib=512)
  return made.lock()


def _sequences() -> ml_collections.ConfigDict:
  from configs import quickstart

  made = quickstart.get_config("digits_p").unlock()
  made.batch_size, made.baseline = 16, ""
  made.models = tiny_config.get_config().models
  made.data.perturbations = "shot_noise,motion_blur"
  made.data.update(difficulties=(2,), limit=40)
  return made.lock()


def _frames() -> ml_collections.ConfigDict:
  from configs import vid_robust

  made = vid_robust.get_config().unlock()
  for entry in made.models.values():
    entry.train.steps = 5
  return made.lock()


def _frame_detection() -> ml_collections.ConfigDict:
  from configs import vid_robust_detection

  return _brightest(vid_robust_detection.get_config().unlock())


def _brightest(made: ml_collections.ConfigDict) -> ml_collections.ConfigDict:
  """The config with a detector that learns nothing."""
  made.model.name = "tests.eval.tasks.brightest_model:build"
  made.model.label = "brightest"
  del made.model["train"]
  return made.lock()


def _detection() -> ml_collections.ConfigDict:
  from configs import quickstart_detection

  made = quickstart_detection.get_config().unlock()
  made.batch_size = 8
  made.data.corruptions = "gaussian_noise,brightness"
  made.data.update(severities=(1, 3), limit=20)
  return _brightest(made)


def _segmentation() -> ml_collections.ConfigDict:
  from configs import quickstart_segmentation

  made = quickstart_segmentation.get_config().unlock()
  made.batch_size = 8
  made.data.corruptions = "gaussian_noise,brightness"
  made.data.update(severities=(1, 3), limit=20)
  made.model.name = "tests.eval.tasks.brightest_model:build_segmenter"
  made.model.label = "brightest"
  del made.model["train"]
  return made.lock()


def _video() -> ml_collections.ConfigDict:
  from configs import quickstart_video

  made = quickstart_video.get_config().unlock()
  made.batch_size = 8
  made.data.perturbations = "shot_noise,freezing,mpeg2"
  made.data.update(severities=(2,), limit=20, views=2)
  made.model = {"name": "tests.eval.tasks.level_model:build_motions"}
  return made.lock()


_CONFIGS = {
  "classification": tiny_config.get_config,
  "whole": _whole,
  "sequences": _sequences,
  "frames": _frames,
  "frame_detection": _frame_detection,
  "detection": _detection,
  "segmentation": _segmentation,
  "video": _video,
}


@contextlib.contextmanager
def few_videos() -> Iterator[None]:
  """To draw and encode all 1,200 takes longer than everything else."""
  from robust_tfds.datasets.digits_video import (
    digits_video_dataset_builder as digits_video,
  )

  with mock.patch.dict(digits_video.COUNTS, train=64, test=24):
    digits_video.labels.cache_clear()
    yield
  digits_video.labels.cache_clear()
