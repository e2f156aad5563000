"""What every number of the site is: formula, unit, sense, source.

A metric `a/b=3` is of the family `a`: the text behind the slash says which part
(a class, a distance k, a group). A leading `bbox/` or `segm/` is no part: it says
whose overlap is meant. What nobody defined here has no definition and stands under
its own name.

  <topic>.py   the definitions of a task, or of what all tasks have
  base.py      what a definition and a topic are

The look-ups stand here: `find`, `shown`, `topic_of`, `title_of`,
`anchor`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from robust_tfds.eval.cells.facts import Metric, TaskFacts
from robust_tfds.eval.site.definitions import (
  calibration,
  classification,
  detection,
  effective_robustness,
  frames,
  sequences,
  video,
)
from robust_tfds.eval.site.definitions.base import Definition, Topic
from robust_tfds.eval.site.markup import words

TOPICS = (
  classification.TOPIC,
  sequences.TOPIC,
  detection.TOPIC,
  video.TOPIC,
  frames.TOPIC,
  calibration.TOPIC,
  effective_robustness.TOPIC,
)
# Of a number that is a mean of another over conditions.
_MEAN = "mean_"
_OVERLAPS: Mapping[str, str] = {"bbox": "", "segm": "Mask "}


def topic_of(task: str) -> Topic | None:
  """A task's own topic."""
  for topic in TOPICS:
    if topic.task == task:
      return topic
  return None


def title_of(task: str) -> str:
  """What a task is, in words.

  >>> title_of("frames")
  'Natural perturbations in videos'
  """
  topic = topic_of(task)
  return topic.title if topic else words(task).capitalize()


def anchor(topic: Topic, definition: Definition) -> str:
  """The id of a definition on its page: one metric has several meanings."""
  return (
    f"{topic.task}-{definition.metric}" if topic.task else definition.metric
  )


@functools.cache
def find(task: str, metric: str) -> tuple[Topic, Definition] | None:
  """The definition of a task's metric, or of its family; None: nobody wrote one.

  A mean over conditions that has no definition of its own has that of the number
  that is averaged.

  >>> find("frames", "acc_pmk/k=3")[1].heading
  'pm-10'
  >>> find("classification", "mean_ece")[1].heading
  'ECE'
  """
  name = _family(metric)
  own = [topic for topic in TOPICS if topic.task in (task, "")]
  # Clean cells of other tasks are scored as those of classification are.
  for topic in (*own, classification.TOPIC):
    for definition in topic.definitions:
      if definition.metric == name:
        return topic, definition
  if name.startswith(_MEAN):
    return find(task, name.removeprefix(_MEAN))
  return None


def shown(facts: TaskFacts, metric: str) -> Metric:
  """How a metric is shown: as the task says, else as its definition does.

  >>> from robust_tfds.eval.cells import facts
  >>> shown(facts.TaskFacts("detection", "corruption", ()), "bbox/AP50").heading
  'AP50'
  """
  stated = (*facts.headlines, *facts.details, *facts.others)
  for one in stated:
    if one.name == metric:
      return one
  defined = find(facts.task, metric)
  if defined is None:
    return Metric(metric, words(metric))
  definition = defined[1]
  of_others = metric.startswith(_MEAN) and definition.metric != _family(metric)
  before = "Mean " if of_others else ""
  return Metric(
    metric,
    before + _heading(definition, metric),
    higher_is_better=definition.sense == "higher",
    percent=definition.percent,
  )


def _family(metric: str) -> str:
  """`acc_pmk` of `acc_pmk/k=3`, `AP` of `bbox/AP`."""
  parts = [part for part in metric.split("/") if part not in _OVERLAPS]
  return parts[0] if parts else ""


def _heading(definition: Definition, metric: str) -> str:
  """Of a family's member with its part: `pm-10, k=3`."""
  first, *rest = metric.split("/")
  if first in _OVERLAPS:
    return _OVERLAPS[first] + definition.heading
  part = words(", ".join(rest))
  return f"{definition.heading}, {part}" if part else definition.heading
