"""What is known of a data set before anybody shows a prediction.

How many examples it has, which examples those are, and what class an id alone
tells: of the builders (`robust_tfds.datasets`), with no file of the data.
Of a set that is not ours nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from robust_tfds import datasets, errors
from robust_tfds.eval.cells.cell_facts import DataFacts
from robust_tfds.eval.cells.columns import Columns

# Names of videos and pictures that begin with their class: a folder, or UCF101's.
_CLASS_NAMES = (
  re.compile(r"v_(?P<name>\w+?)_g\d+_c\d+"),
  re.compile(r"(?P<name>[^/]+)/.+"),
)


def part(dataset: str, examples: int) -> str:
  """How many of a benchmark's examples a run has; empty where it has all.

  Empty too where nobody published how many there are, or says how many these are.

  >>> part("imagenet_c", 60)
  '60 of 50,000 published examples'
  >>> part("imagenet_c", 50_000), part("mine_c", 60)
  ('', '')
  """
  if not examples or dataset not in datasets.names():
    return ""
  published = datasets.builder_class(dataset).PUBLISHED_EXAMPLES
  if examples >= published:
    return ""
  return f"{examples:,} of {published:,} published examples"


def check_kind(dataset: str, kind: str) -> None:
  """Refuses a data set of ours whose examples are of another kind.

  Args:
    dataset: its name.
    kind: what the predictions are of, `Task.set_kind`.

  Raises:
    UserError: says what the set holds.
  """
  if dataset not in datasets.names():
    return
  holds = datasets.builder_class(dataset).KIND
  if holds != kind:
    raise errors.UserError(
      f"--dataset={dataset}: it is a set of {holds}, but these are predictions on"
      f" {kind}. Name the set that they are of."
    )


def check_examples(
  source: str, facts: DataFacts, limit: int, ids: Sequence[str]
) -> bool:
  """Holds examples against those that the data set has.

  Args:
    source: what a refusal begins with.
    facts: of the data.
    limit: the config's `data.limit`; 0 for all.
    ids: different ids, as many as there are examples.

  Returns:
    Whether anything is known of them.

  Raises:
    UserError: examples that the set does not have, or fewer than it has though
      the facts name no subset.
  """
  if facts.dataset not in datasets.names():
    return False
  builder = datasets.builder_class(facts.dataset)
  whole = not facts.subset and not limit
  expected = builder.PUBLISHED_EXAMPLES
  if facts.split in (None, "", builder.SPLIT) and builder.known_ids():
    expected = len(builder.known_ids())
    strange = sorted(set(ids) - set(builder.known_ids()))
    if strange:
      raise errors.UserError(
        f"{source}: {facts.dataset} has no example {strange[0]!r}"
        f" ({len(strange):,} of {len(ids):,} are not there)."
      )
  if whole and expected and len(ids) != expected:
    raise errors.UserError(
      f"{source}: {len(ids):,} examples, but {facts.dataset} has {expected:,}, and"
      " neither a subset nor a limit says that fewer were chosen: config.data.subset"
      " and config.data.limit of a run, --subset of eval.score."
    )
  return bool(expected)


def check_groups(source: str, dataset: str, columns: Columns) -> None:
  """Holds groups, which are drawn together, against what the ids tell.

  Args:
    source: what a refusal begins with.
    dataset: name of the set.
    columns: of a cell.

  Raises:
    UserError: an example of another group than its data set has it in.
  """
  names = [columns[n] for n in ("example_id", "frame", "group_id")]
  # Numbers that somebody else measured are of no examples.
  if dataset not in datasets.names() or "value" in columns:
    return
  builder = datasets.builder_class(dataset)
  for example_id, frame, group in zip(*(n.tolist() for n in names)):
    expected = builder.known_group(example_id, frame)
    if expected not in (None, group):
      raise errors.UserError(
        f"{source}: group_id of {example_id!r}: got {group!r}, but in {dataset} it"
        f" is of {expected!r}. Examples of one group are drawn together, so"
        " intervals would be others."
      )


def check_labels(
  source: str, dataset: str, ids: Sequence[str], labels: np.ndarray
) -> int:
  """Holds true classes against what the ids tell.

  Args:
    source: what a refusal begins with.
    dataset: name of the set.
    ids: of the rows.
    labels: int `[N]`.

  Returns:
    How many ids tell their class.

  Raises:
    UserError: another class than the id tells; or ids of one class's name with
      two labels.
  """
  by_id = 0
  if dataset in datasets.names():
    builder = datasets.builder_class(dataset)
    for example_id, label in zip(ids, labels.tolist()):
      expected = builder.known_label(example_id)
      by_id += expected is not None
      if expected not in (None, label):
        raise errors.UserError(
          f"{source}: label of {example_id!r}: got {label}, but its id says class"
          f" {expected}."
        )
  return by_id or _check_one_label_a_name(source, ids, labels)


def _check_one_label_a_name(
  source: str, ids: Sequence[str], labels: np.ndarray
) -> int:
  """Refuses two labels of one class's name, or two names of one label."""
  pattern = _naming(ids)
  if pattern is None:
    return 0
  label_of: dict[str, tuple[int, str]] = {}
  name_of: dict[int, tuple[str, str]] = {}
  for example_id, label in zip(ids, labels.tolist()):
    match = pattern.match(example_id)
    name = match["name"] if match else ""
    other, first = label_of.setdefault(name, (label, example_id))
    if other != label:
      raise errors.UserError(
        f"{source}: labels {other} of {first!r} and {label} of {example_id!r}, but"
        f" both ids name the class {name!r}."
      )
    other_name, first = name_of.setdefault(label, (name, example_id))
    if other_name != name:
      raise errors.UserError(
        f"{source}: label {label} of both {first!r} and {example_id!r}, whose ids"
        " name two classes."
      )
  return len(ids)


def _naming(ids: Sequence[str]) -> re.Pattern[str] | None:
  """How all ids name their class; None where they do not."""
  for pattern in _CLASS_NAMES:
    matches = [pattern.match(i) for i in ids]
    names = {m["name"] for m in matches if m}
    # A folder a picture or a frame's video names no class.
    if all(matches) and 1 < len(names) <= len(ids) / 2:
      return pattern
  return None
