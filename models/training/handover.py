"""The weights that a training hands over to the evaluator and others.

A finished workdir holds `weights.npz` (with `optimizer.ema` also
`weights_ema.npz`, their mean over the steps), beside each a `.report.json` with
its preprocessing, and `disclosure.json`. `models.convert.load(NAME, WORKDIR)`
and `--config.model.checkpoint=WORKDIR` read the folder, and take the weights
that validation judged: `weights_ema.npz` where there is one, as papers with a
mean of the weights evaluate it. `WORKDIR/weights.npz` are always the last
step's.
"""

import json
from typing import Any

import jax
import numpy as np
from etils import epath

from models import variables as variables_lib
from models import weights_file
from models.convert import preprocessing
from models.model import NetworkModel
from models.spec import Spec
from models.training.optimization.state import State
from robust_tfds import errors
from robust_tfds.storage import disk, paths

_REPORT = ".report.json"  # as `models/convert/sidecar` reads them


def write(
  workdir: epath.Path, model: NetworkModel, state: State
) -> tuple[str, str]:
  """Write the weights, and how pictures are prepared.

  Returns:
    sha256 of weights.npz, and of weights_ema.npz or an empty text.

  Raises:
    UserError: the weights are not finite.
  """
  _write(workdir / weights_file.FILE, model, state.variables)
  if state.ema:
    _write(workdir / weights_file.EMA_FILE, model, state.averaged)
  ema = paths.sha256(workdir / weights_file.EMA_FILE) if state.ema else ""
  return paths.sha256(workdir / weights_file.FILE), ema


def finite(model: NetworkModel, variables: Any) -> Any:
  """Return the variables on the host.

  Raises:
    UserError: they are not finite.
  """
  variables = jax.tree.map(np.asarray, variables)
  for path, array in variables_lib.flatten(variables).items():
    if not np.isfinite(array).all():
      raise errors.UserError(
        f"Training {model.name} diverged: {'/'.join(path)} has NaN or infinite"
        " values at the end. Lower config.optimizer.learning_rate."
      )
  return variables


def _write(file: epath.Path, model: NetworkModel, variables: Any) -> None:
  weights_file.write(file, finite(model, variables))
  report = {
    "model": model.name,
    "npz_sha256": paths.sha256(file),
    "spec_fields": _prepared(model),
  }
  text = json.dumps(report, indent=1, sort_keys=True)
  disk.write_text(file.with_name(f"{file.name}{_REPORT}"), f"{text}\n")


def _prepared(model: NetworkModel) -> dict[str, Any]:
  """Return the spec's fields of preprocessing; {} for detectors."""
  if not isinstance(model.spec, Spec):
    return {}
  return dict(preprocessing.prepared(model.spec))
