"""Tasks: one file each, with one subclass of `base.Task`.

The folder is the registry; folders inside it (`parts/`) hold what several tasks
share and are no tasks.
"""

import functools
import pkgutil

import ml_collections

from eval.tasks import base
from eval.tasks.parts import own_metrics
from robust_tfds import errors, registry

_BASE = "base"


@functools.cache
def names() -> tuple[str, ...]:
  """Return the names of all tasks."""
  return tuple(
    m.name
    for m in pkgutil.iter_modules(__path__)
    if not m.ispkg and m.name != _BASE
  )


def bind(
  config: ml_collections.ConfigDict,
  edition: str = "",
  own: own_metrics.OwnMetrics | None = None,
) -> base.Task:
  """Return the task of a config, bound to its setting.

  Args:
    config: config of a run, or of predictions of another program.
    edition: edition of the corruptions; not needed to score finished cells.
    own: custom metrics; not needed to score finished cells.

  Raises:
    UserError: an unknown task, or a setting that the task refuses.
  """
  data = config.data
  setting = base.Setting(
    dataset=data.name,
    edition=edition,
    codec=data.get("codec", ""),
    fly=data.get("source", "fly") == "fly",
    seed=int(config.get("seed", 0)),
    baseline=config.get("baseline", ""),
    data=data,
    metrics=own_metrics.senses(
      config.get("metric") or "", config.get("better") or ""
    ),
    own_metrics=own,
  )
  return get(config.get("task", "classification"))(setting)


@functools.cache
def get(name: str) -> type[base.Task]:
  """Return a task's class; raise UserError with a suggestion for an unknown name."""
  if name not in names():
    raise errors.unknown_error("task", name, names())
  return registry.only_class(f"{__name__}.{name}", base.Task)
