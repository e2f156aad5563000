"""What stages of runs cost here: the table that `--plan` calculates with.

  python -m benchmarks.costs --write              # about 10 min on one core
  python -m benchmarks.costs --only=sequence

Measures as `--plan=measure` does (`eval/run/costs.py`), on one core of a CPU or on
accelerators: corruptions of pictures of 32, 224 and 640 px, frames of sequences and
clips, decoding, and networks from the smallest to large ones. Prints the rows; with
`--write` they become `eval/run/stored_costs.tsv`, where rows of other platforms
stay. Networks have random weights.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

import jax
import ml_collections
from absl import flags

from robust_tfds import command, datasets, models
from robust_tfds.configs import (
  coco_c,
  imagenet_c,
  imagenet_p,
  quickstart,
  quickstart_detection,
  quickstart_video,
  video_p,
)
from robust_tfds.eval.run import costs, plan, stored_costs
from robust_tfds.eval.run.model import definitions

_Config = ml_collections.ConfigDict
# What is measured: a config, its networks, its batch, a set to decode.
_Setup = tuple[Callable[[], _Config], Sequence[str], int, str]
_LEVEL = (3,)


def _jpeg85() -> _Config:
  config = imagenet_c.get_config()
  config.data.corruptions = "none"
  return config


def _raw() -> _Config:
  config = imagenet_c.get_config()
  config.data.codec = "raw"
  return config


_SETUPS: dict[str, _Setup] = {
  "sequence": (
    lambda: quickstart.get_config("digits_p"),
    ("digits_linear",),
    8,
    "",
  ),
  "imagenet": (
    _raw,
    ("mobilenet_v2", "resnet18", "resnet50", "vit_b_16"),
    8,
    "",
  ),
  "jpeg85": (_jpeg85, ("squeezenet1_1",), 16, ""),
  "imagenet_p": (imagenet_p.get_config, ("squeezenet1_1",), 1, ""),
  "detection": (
    coco_c.get_config,
    ("retinanet_resnet50_fpn", "maskrcnn_resnet50_fpn"),
    1,
    "",
  ),
  "scenes": (quickstart_detection.get_config, ("tiny_retinanet",), 8, ""),
  "video": (quickstart_video.get_config, ("tiny_r3d",), 8, "digits_video_p"),
  "clips": (video_p.get_config, ("x3d_m", "r2plus1d_18"), 1, ""),
  "signs": (
    quickstart.get_config,
    ("signs_linear", "signs_cnn"),
    128,
    "signs_c",
  ),
  "small": (
    lambda: quickstart.get_config("digits_c"),
    ("digits_linear", "digits_cnn"),
    128,
    "digits_c",
  ),
}


def define_flags() -> None:
  """The command's flags."""
  flags.DEFINE_bool("write", False, "Keep the rows for --plan.")
  flags.DEFINE_list("only", list(_SETUPS), f"Some of {', '.join(_SETUPS)}.")


def main(argv: Sequence[str]) -> None:
  """Measures, prints and writes."""
  command.no_arguments(argv)
  if jax.devices()[0].platform == "cpu":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    costs.clock = time.process_time  # others may use the machine too
  rows = []
  for name in flags.FLAGS.only:
    for row in _measured(*_SETUPS[name]):
      print(stored_costs.line(row), flush=True)
      rows.append(row)
  if flags.FLAGS.write:
    stored_costs.write(rows)


def _measured(
  get_config: Callable[[], _Config], names: Sequence[str], batch: int, of: str
) -> Iterator[stored_costs.Row]:
  """The rows of a setup."""
  config = get_config().unlock()
  config.batch_size, config.baseline = batch, ""
  if "model" in config:
    config.model.name = ""  # in favour of these
  config.models = ml_collections.ConfigDict({n: {"name": n} for n in names})
  for key in ("severities", "difficulties"):
    if key in config.data:
      config.data[key] = _LEVEL if key == "severities" else (1,)
  classes = config.model.get("num_classes") if "model" in config else None
  given = {
    name: definitions.ModelObject(models.get(name, num_classes=classes), {})
    for name in names
  }
  with tempfile.TemporaryDirectory() as folder:
    config.data.data_dir = folder
    made = plan.make(config, given)
    if of:
      datasets.prepare(of, made.task.clean_config, data_dir=folder)
    yield from stored_costs.rows(made, costs.measure(made, None, made.cells))


if __name__ == "__main__":
  command.run(main, define_flags)
