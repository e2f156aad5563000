"""Definitions of every number of the tables: heading, words, formula, unit,
sense, source.

Tasks, reports, boards, comparisons and pages all take them from here. A metric
`a/b=3` belongs to the family `a`: the text behind the slash names the part (a
class, a distance k, a group). A leading `bbox/`, `segm/` or `localization/` is
no part: it names the kind of overlap. An undefined metric has its own name and
an unknown sense.

  <topic>.json   the metrics of a task as data
  base.py        the classes of metrics and topics, and how a file is read

Metrics of answers state their definitions beside their functions, in files of
`eval/metrics/answers`. Each of these files is a topic, too.

The look-ups are here: `topics`, `metric`, `metrics`, `find`, `printed_heading`,
`any_task_metric`, `topic_of`, `title_of`, `anchor`, `words`.
"""

import dataclasses
import functools
import pathlib
from collections.abc import Mapping

from eval.metrics.definitions.base import HELD_OUT as HELD_OUT
from eval.metrics.definitions.base import PART as PART
from eval.metrics.definitions.base import Metric, Topic

FOLDER = pathlib.Path(__file__).parent
_TASK_TOPICS = (
  "classification",
  "sequences",
  "detection",
  "segmentation",
  "video",
  "frames",
  "subtypes",
  "frame_detection",
  "effective_robustness",
  "own",
)
_TOPIC_OF: Mapping[str, str] = {"own_videos": "own"}  # tasks without their own
# Prefix of a number that is a mean of another over conditions.
_MEAN = "mean_"
_OVERLAPS: Mapping[str, str] = {
  "bbox": "",
  "segm": "Mask ",
  "localization": "Localization ",
}


@functools.cache
def topics() -> tuple[Topic, ...]:
  """Return every topic: those of the JSON files, then those of answers."""
  from eval.metrics import answers

  files = (FOLDER / f"{name}.json" for name in _TASK_TOPICS)
  return (*map(Topic.read, files), *answers.topics())


def metrics(task: str, *names: str) -> tuple[Metric, ...]:
  """Return several metrics of a task, see `metric`."""
  return tuple(metric(task, name) for name in names)


@functools.cache
def metric(task: str, name: str) -> Metric:
  """Return a task's metric by its full name, also a family's member.

  An undefined metric is called by its name, and its sense is unknown.

  >>> metric("frames", "acc_pmk/k=3").heading
  'pm-10, k=3'
  >>> metric("classification", "mean_ece").heading
  'Mean ECE'
  >>> metric("classification", "oddness_of_it").sense_words
  'unknown sense'
  """
  found = find(task, name)
  if found is None:
    return Metric(name, words(name))
  topic, defined = found
  if name == defined.name:
    return defined
  heading = topic.headings.get(name) or _heading(defined, name)
  return dataclasses.replace(defined, name=name, heading=heading, title="")


@functools.cache
def find(task: str, name: str) -> tuple[Topic, Metric] | None:
  """Find the definition of a task's metric, or of its family.

  The result is None if there is none.

  A mean over conditions without its own definition takes that of the averaged
  number; a mean over conditions not trained on takes that of the whole mean.

  >>> find("frames", "acc_pmk/k=3")[1].heading
  'pm-10'
  """
  family = _family(name)
  if family.startswith(HELD_OUT):
    whole = find(task, name.replace(HELD_OUT, "", 1))
    return whole and (whole[0], whole[1].held_out)
  topic_task = _TOPIC_OF.get(task, task)
  own = [topic for topic in topics() if topic.task in (topic_task, "")]
  # Clean cells of other tasks are scored like those of classification.
  for topic in (*own, topics()[0]):
    for defined in topic.metrics:
      if defined.name == family:
        return topic, defined
  if family.startswith(_MEAN):
    return find(task, family.removeprefix(_MEAN))
  return None


@functools.cache
def any_task_metric(name: str) -> Metric:
  """Return a metric by its full name in any task, for what all tasks agree on.

  >>> any_task_metric("segm/mpc").bounds, any_task_metric("mean_brier").bounds
  ((0, 1), (0, 2))
  """
  tasks = (topic.task for topic in topics())
  task = next((task for task in tasks if find(task, name)), "")
  return metric(task, name)


def printed_heading(name: str) -> str:
  """Return the heading of a printed table's column for a metric of any task.

  >>> printed_heading("segm/mce"), printed_heading("clean_error")
  ('mask mCE', 'clean error')
  """
  part, _, last = name.rpartition("/")
  heading = _sentence_heading(last)
  if part in _OVERLAPS:
    return f"{_OVERLAPS[part].lower()}{heading}"
  known = _heading_of(part)
  if known:
    return f"{known} {heading}"
  return f"{part}: {heading}" if part else heading


def topic_of(task: str) -> Topic | None:
  """Return a task's own topic."""
  topic_task = _TOPIC_OF.get(task, task)
  return next((topic for topic in topics() if topic.task == topic_task), None)


def title_of(task: str) -> str:
  """Return the title of a task.

  >>> title_of("frames")
  'Natural perturbations in videos'
  """
  topic = topic_of(task)
  return topic.title if topic else words(task).capitalize()


def anchor(topic: Topic, defined: Metric) -> str:
  """Return the id of a definition on its page: one metric has several meanings."""
  return f"{topic.task}-{defined.name}" if topic.task else defined.name


def words(name: str) -> str:
  """Return a name of the tables as words.

  >>> words("gaussian_noise")
  'gaussian noise'
  """
  return name.replace("_", " ")


def _family(name: str) -> str:
  """Return a name's family: `AP` for `bbox/AP`."""
  parts = [part for part in name.split("/") if part not in _OVERLAPS]
  return parts[0] if parts else ""


def _heading(defined: Metric, name: str) -> str:
  """Return the heading of a mean or a family's member: `pm-10, k=3`."""
  first, *rest = name.split("/")
  if first in _OVERLAPS:
    return _OVERLAPS[first] + defined.heading
  mean = "Mean " if first != defined.name else ""
  part = words(", ".join(rest))
  return f"{mean}{defined.heading}, {part}" if part else mean + defined.heading


def _heading_of(name: str) -> str:
  """Return the heading in the first topic that has a metric of this name.

  It is '' if no topic has one.
  """
  every = (metric for topic in topics() for metric in topic.metrics)
  return next((m.full_heading for m in every if m.name == name), "")


def _sentence_heading(name: str) -> str:
  """Return a heading with a small first letter, unless it is a symbol."""
  heading = _heading_of(name) or words(name)
  return (
    heading[:1].lower() + heading[1:] if heading[1:2].islower() else heading
  )
