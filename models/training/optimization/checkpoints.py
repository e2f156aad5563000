"""Checkpoints of a training, written by orbax; each is complete or absent.

`checkpoints/STEP` holds the state as a flat dict of arrays (path in the tree ->
array) and `run`, a JSON object with the training's facts and the host's
counters. The last n checkpoints are kept, and the best m by validation error.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jax
from absl import logging
from etils import epath
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from models.training import workdir as workdir_lib
from models.training.config import Keep
from models.training.optimization import schedules
from models.training.optimization.metrics import Pending
from models.training.optimization.state import State
from robust_tfds import errors, reading
from robust_tfds.records import Record
from robust_tfds.storage import disk

FOLDER = "checkpoints"
_STATE, _RUN, _SCORE = "state", "run", "validation_error"
_FULL = "(?i)no space|quota|exhausted|too large"
_SPECS = re.compile(r" \[(?:source locations|tensorstore_spec)=.*", re.DOTALL)
_WORDS = 200  # characters of orbax's message that an error repeats


class Run(Record):
  """The JSON object that is stored with a state.

  Attributes:
    facts: identity of the training: `workdir.facts` and the facts of data and
      weights.
  """

  plateau: schedules.Plateau
  metrics: Pending
  facts: dict[str, Any] = {}


class Checkpoints:
  """The checkpoints of a workdir."""

  def __init__(
    self,
    workdir: epath.Path,
    keep: Keep,
    facts: Mapping[str, Any],
  ):
    """Prepare the checkpoints of a workdir; create nothing yet.

    Args:
      facts: identity of the training, see `workdir.check`.

    Raises:
      UserError: a file has the folder's name.
    """
    import orbax.checkpoint as ocp

    self._ocp, self._keep, self._facts = ocp, keep, dict(facts)
    # Its threads log a traceback for errors that are raised in words here.
    logging.get_absl_logger().addFilter(_not_of_orbax)
    self._folder = epath.Path(workdir).resolve() / FOLDER
    with disk.writing(self._folder):
      if disk.exists(self._folder) and not self._folder.is_dir():
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))

  @functools.cached_property
  def _manager(self) -> Any:
    """Orbax's manager, which creates the folder."""
    from orbax.checkpoint import checkpoint_managers as managers

    keep, ocp = self._keep, self._ocp
    last = managers.LatestN(keep.last)
    score = lambda metrics: metrics[_SCORE]
    best = managers.BestN(
      get_metric_fn=score,
      reverse=True,
      n=keep.best,
      keep_checkpoints_without_metrics=False,
    )
    policies = [last, best] if keep.best else [last]
    with quiet():
      return ocp.CheckpointManager(
        self._folder,
        options=ocp.CheckpointManagerOptions(
          preservation_policy=managers.AnyPreservationPolicy(policies),
          best_fn=score,  # so that metrics are written
          best_mode="min",
          cleanup_tmp_directories=True,
        ),
        item_handlers={
          _STATE: ocp.StandardCheckpointHandler(),
          _RUN: ocp.JsonCheckpointHandler(),
        },
      )

  def save(self, state: State, run: Run, score: float | None) -> None:
    """Copy the state from the devices and write it while training continues.

    Args:
      run: the host's counters; the facts are added here.
      score: the validation error of this step; None if it was not measured.

    Raises:
      UserError: this checkpoint, or the previous one, could not be written.
    """
    args = self._ocp.args
    with self._writing():
      self._manager.save(
        int(state.step),
        args=args.Composite(
          **{
            _STATE: args.StandardSave(_flat(state)),
            _RUN: args.JsonSave({**run.model_dump(), "facts": self._facts}),
          }
        ),
        metrics=None if score is None else {_SCORE: score},
      )

  def last(self, like: State, mesh: Mesh) -> tuple[State, Run] | None:
    """Return the last complete state, on the devices, and its `run`.

    Args:
      like: a state of the same shapes.

    Raises:
      UserError: it is damaged or belongs to another training; the message names
        it.
    """
    step = self._manager.latest_step()
    if step is None:
      return None
    arrays, run = self._restored(step, _flat(like), mesh)
    leaves = [arrays[name] for name in _flat(like)]
    return jax.tree.unflatten(jax.tree.structure(like), leaves), run

  @property
  def any(self) -> bool:
    """Whether there is a checkpoint."""
    return self._manager.latest_step() is not None

  def _restored(
    self, step: int, like: Mapping[str, Any], mesh: Mesh
  ) -> tuple[dict[str, Any], Run]:
    """Return the arrays of a step by path, on all devices, and its `run`."""
    args, sharding = self._ocp.args, NamedSharding(mesh, PartitionSpec())
    with self._reading(step):
      got = self._manager.restore(
        step, args=args.Composite(**{_RUN: args.JsonRestore()})
      )
      run = reading.records(got[_RUN], Run, _RUN)
    self._check_facts(step, run.facts)
    with self._reading(step):
      shapes = {
        name: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)
        for name, x in like.items()
      }
      got = self._manager.restore(
        step, args=args.Composite(**{_STATE: args.StandardRestore(shapes)})
      )
    return got[_STATE], run

  def _check_facts(self, step: int, before: Mapping[str, Any]) -> None:
    """Refuse the state of another training."""
    changed = workdir_lib.differences(before, self._facts)
    if changed:
      raise errors.UserError(
        f"{self._folder / str(step)}: the state of another training:"
        f" {changed if before else 'it has no facts'}. Name another"
        f" --workdir, or remove {self._folder}: the training then begins again."
      )

  def close(self) -> None:
    """Wait until pending checkpoints are written; raises as `save` does."""
    with self._writing():
      self._manager.wait_until_finished()
      self._manager.close()

  @contextlib.contextmanager
  def _writing(self) -> Iterator[None]:
    try:
      with quiet():
        yield
    except (
      OSError,
      ValueError,
    ) as e:  # TensorStore's for a full disk: ValueError
      reason = _short(e)
      room = " Make room there;" if re.search(_FULL, str(e)) else ""
      raise errors.UserError(
        f"{self._folder}: a checkpoint could not be written: {reason}.{room} The same"
        " command continues from the last complete one.".replace(
          "; The", "; the"
        )
      ) from e

  @contextlib.contextmanager
  def _reading(self, step: int) -> Iterator[None]:
    try:
      with quiet():
        yield
    except Exception as e:  # orbax raises nothing narrower for truncated arrays
      raise errors.UserError(
        f"{self._folder / str(step)}: the checkpoint is damaged and cannot be read:"
        f" {_short(e)}. Remove this folder: the same command then continues from the"
        " checkpoint before, or from the beginning."
      ) from e


def _not_of_orbax(record: Any) -> bool:
  return "orbax" not in record.pathname


def _short(error: Exception) -> str:
  """Return the end of an error's first line, without its specs."""
  line, _, _ = _SPECS.sub("", str(error).strip()).partition("\n")
  return line.rstrip(".")[-_WORDS:] or type(error).__name__


def _flat(state: State) -> dict[str, Any]:
  """Return the leaves of a state by their path in the tree."""
  leaves = jax.tree_util.tree_flatten_with_path(state)[0]
  return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
  """Silence orbax, which also logs the tracebacks of errors that it raises."""
  before = logging.get_verbosity()
  logging.set_verbosity(logging.FATAL)
  try:
    yield
  finally:
    logging.set_verbosity(before)
