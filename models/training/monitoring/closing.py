"""The closing lines of a training: the verdict, the files, and the next command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from etils import epath

from models import weights_file
from models.training import disclosure
from models.training.data import examples
from models.training.data import source as source_lib
from models.training.monitoring import tensorboard
from models.training.monitoring.report import FILE as REPORT
from models.training.optimization import validation
from robust_tfds import datasets
from robust_tfds.datasets import training
from robust_tfds.storage import disk

if TYPE_CHECKING:
  from models.training.run import Prepared

_FILES = {
  "weights": weights_file.FILE,
  "their mean over the steps, which the folder stands for": weights_file.EMA_FILE,
  "report": REPORT,
  "disclosure": disclosure.FILE,
  "for TensorBoard": tensorboard.FOLDER,
}
_NAMED = ("ytbb_robust",)  # its config runs another set by default
_QUICKSTARTS = ("digits", "signs")  # their configs have several models


def lines(
  prepared: Prepared,
  workdir: epath.Path,
  steps: int,
  measured: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
  """Yield the verdict, the files that were written and the command that evaluates them.

  Args:
    steps: number of steps of the training.
    measured: the lines of metrics.csv.
  """
  yield verdict(prepared, steps, measured)
  for what, name in _FILES.items():
    if disk.exists(workdir / name):
      yield f"{what}: {workdir / name}"
  seen = disclosure.seen_conditions(prepared.config, prepared.recipe).names
  if seen:
    yield (
      f"trained on {', '.join(seen)}, which benchmarks test: its rows are marked,"
      " and a mean leaves that out"
    )
  yield f"evaluate it: {command(prepared, workdir)}"


def verdict(
  prepared: Prepared, steps: int, measured: Sequence[Mapping[str, Any]]
) -> str:
  """Return the result in words: `digits_cnn: 1.4 % wrong on 141 ...`."""
  name, last = prepared.model.name, measured[-1] if measured else {}
  after = f"after {steps:,} steps"
  if validation.LOSS not in last:
    loss = f"training loss {last['loss']:.4g}" if "loss" in last else "trained"
    return f"{name}: {loss} {after}; no examples were held out"
  count = prepared.source.steps(1, source_lib.VALIDATION, source_lib.KEEP)
  good = f"loss {last[validation.LOSS]:.4g}"
  if validation.ERROR in last:
    good = f"{100 * last[validation.ERROR]:.1f} % wrong"
  return f"{name}: {good} on {count:,} held-out examples {after}"


def command(prepared: Prepared, workdir: epath.Path) -> str:
  """Return the command that evaluates the weights."""
  name, model = prepared.config.data.source, prepared.model.name
  run = "robust-tfds run --config="
  if name in _QUICKSTARTS:
    entry = f"--config.models.{name}_cnn"
    other = f" {entry}.name={model}" * (model != f"{name}_cnn")
    return f"{run}quickstart:{name}_c{other} {entry}.checkpoint={workdir} --workdir=RUN"
  benchmark = _benchmark(name)
  kind = "masks" if prepared.source.kind == examples.MASKS else "folder"
  config, data = "own_data:model", f" --config.data.name={kind}:TEST_PICTURES"
  if classes := prepared.config.data.classes:
    data += f" --config.data.classes='{','.join(classes)}'"
    data += f" --config.data.ignore={prepared.config.data.ignore}"
  if benchmark:
    config = datasets.builder_class(benchmark).RUN_BY or config
    if name in training.ROWS and training.ROWS[name].boxes:
      config = "vid_robust_detection:model"
    named = benchmark in _NAMED or config.startswith("own_data")
    data = f" --config.data.name={benchmark}" * named
  config = config.replace(":model", f":{model}").replace(",model", f",{model}")
  at = f"--config.model.checkpoint={workdir}"
  return f"{run}{config}{data} {at} --workdir=RUN"


def _benchmark(name: str) -> str:
  """Return the benchmark made from the same data; empty if none is known."""
  if name in training.ROWS:
    return training.ROWS[name].of
  base = name.removeprefix("tfds:")
  base = {"imagenet2012": "imagenet"}.get(base, base)
  known = (f"{base}{ending}" for ending in ("_c", "_p", "_robust"))
  return next((each for each in known if each in datasets.names()), "")
