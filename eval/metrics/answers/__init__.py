"""Metrics of a cell's answers: the folder is the registry.

A file here holds one `TOPIC`, a `definitions.Topic` of `AnswerMetric`s: each has
its definition, its function and the tasks whose cells have it. Nothing else
names it. Tables get a row per cell and, of tasks that average, the mean over
conditions `mean_<name>`; reports, boards, comparisons and the page of definitions
follow. `tests/eval/metrics/answers_test.py` runs over every file.

  base.py         `Answers` and `AnswerMetric`
  calibration.py  the metrics of calibration
  <name>.py       yours
"""

import functools
import importlib
import pathlib
import pkgutil

from eval.metrics.answers.base import AnswerMetric
from eval.metrics.definitions.base import Topic

_FIRST = "calibration"  # in the order of tables


def names() -> list[str]:
  """Return the names of the files, in the order of tables."""
  folder = str(pathlib.Path(__file__).parent)
  listed = {m.name for m in pkgutil.iter_modules([folder])} - {"base"}
  return sorted(listed, key=lambda name: (name != _FIRST, name))


@functools.cache
def topics() -> tuple[Topic, ...]:
  """Return the topic of every file."""
  modules = (importlib.import_module(f"{__name__}.{n}") for n in names())
  return tuple(module.TOPIC for module in modules)


@functools.cache
def metrics(task: str = "") -> tuple[AnswerMetric, ...]:
  """Return the metrics that cells of a task have; of every task if it is ''.

  >>> [metric.name for metric in metrics("video")][:2]
  ['ece', 'ece_adaptive']
  """
  stated = (metric for topic in topics() for metric in topic.metrics)
  return tuple(
    metric
    for metric in stated
    if isinstance(metric, AnswerMetric)
    and (not task or not metric.tasks or task in metric.tasks)
  )
