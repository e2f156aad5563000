"""Checks of predictions against the examples that a data set is known to have.

The builders (`robust_tfds.datasets.class_or_unknown`) know how many examples a set has,
their ids, and the classes that ids imply, without any file of the data. A set
that is not ours is only known by its facts.
"""

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eval.cells.cell_facts import DataFacts
from eval.cells.files.columns import Columns
from eval.pipeline import subset as subset_lib
from eval.tasks.headlines import stored_numbers
from robust_tfds import datasets, errors
from robust_tfds.building import base

# `subset.sha256` of the ids or of their stems. `robustbench5k`: of the file of
# robustbench 1.1.1 (`eval/run/subsets.py`).
_SUBSETS = {
  "robustbench5k": (
    "b03ccff6d05e129cb1b9cd2b27b30c1a81031dfde52a7c44be9c6d93077407ed"
  ),
  "2015": ("0d1eeb571ff6464acfb98dd1cc52e999538f1660d6fbc553a97f5d7779292e8a"),
}
# As `eval/run/subsets.py` names files: a submission's name leads to no folder.
_OF_FILE = re.compile(r"(?P<stem>[\w.-]+)-(?P<digits>[0-9a-f]{8})")
_OURS = ("fly", "prepared")


def part(dataset: str, examples: int, split: str | None = None) -> str:
  """Return how many of a benchmark's examples a run has; '' if it has all.

  The result is also '' if either number is unknown.

  >>> part("imagenet_c", 60)
  '60 of 50,000 published examples'
  >>> part("imagenet_c", 50_000), part("mine_c", 60)
  ('', '')
  """
  published = datasets.class_or_unknown(dataset).published_in(split)
  if not 0 < examples < published:
    return ""
  return f"{examples:,} of {published:,} published examples"


def check_name(dataset: str) -> None:
  """Refuse a name that is one of ours except for its spelling.

  Raises:
    UserError: the message gives our spelling.
  """
  name = datasets.spelled(dataset)
  if name not in ("", dataset):
    raise errors.UserError(
      f"data set {dataset!r}: write {name} if it is that set; its examples are"
      " then checked. Otherwise use another name."
    )


def check_kind(dataset: str, kind: str) -> None:
  """Refuse a data set of ours whose examples are of another kind.

  Args:
    kind: the kind of the predicted examples, `Task.set_kind`.

  Raises:
    UserError: the message says what the set holds.
  """
  holds = datasets.class_or_unknown(dataset).KIND
  if holds not in ("", kind):
    raise errors.UserError(
      f"--dataset={dataset}: it is a set of {holds}, but these are predictions on"
      f" {kind}. Name the predictions' data set."
    )


class Examples(NamedTuple):
  """The results of checking examples against a set, in words.

  Attributes:
    verified: what was checked; may be ''.
    unverified: what could not be checked; may be ''.
  """

  verified: str = ""
  unverified: str = ""


def check_examples(
  source: str, facts: DataFacts, limit: int, ids: Sequence[str]
) -> Examples:
  """Check examples against the data set's.

  Args:
    source: the beginning of an error message.
    limit: the config's `data.limit`; 0 for all.
    ids: the unique ids of the examples.

  Raises:
    UserError: examples that the set does not have, fewer than it has without a
      subset or a limit, others than the first ones that a limit takes, or
      others than those of a named subset.
  """
  name, builder = facts.dataset, datasets.class_or_unknown(facts.dataset)
  check_name(name)
  _check_split(source, facts, builder)
  _check_count(source, facts, limit, ids)
  known = _known_ids(builder, facts, ids)
  strange = sorted(set(ids) - known) if known else []
  if strange:
    raise errors.UserError(
      f"{source}: {name} has no example {strange[0]!r}"
      f" ({len(strange):,} of {len(ids):,} are not there)."
    )
  if facts.subset:
    return _check_subset(name, source, facts.subset, ids)
  usual = _is_usual(builder, facts)
  total = len(known) or (builder.published_in(facts.split) if usual else 0)
  if limit:
    return _check_limit(source, facts, ids, known, total)
  if total and len(ids) != total:
    raise errors.UserError(
      f"{source}: {len(ids):,} examples, but {name} has {total:,}, and"
      " neither a subset nor a limit says that fewer were chosen: config.data.subset"
      " and config.data.limit of a run, --subset of robust-tfds score."
    )
  if known:
    return Examples(f"{name}: its {total:,} examples, by their ids")
  count = f"{name}: {total:,} examples, as many as it has" if total else ""
  return Examples(count, f"that {name} has these examples and no others")


def _check_split(
  source: str, facts: DataFacts, builder: type[base.Builder]
) -> None:
  """Refuse a split that a corrupted set does not have."""
  if builder.FAMILY and facts.split not in (None, "", *builder.splits()):
    raise errors.UserError(
      f"{source}: data.split: got {facts.split!r}, expected"
      f" {' or '.join(map(repr, builder.splits()))} of {facts.dataset}."
    )


def _check_count(
  source: str, facts: DataFacts, limit: int, ids: Sequence[str]
) -> None:
  """Refuse a limit that was not kept, or a limit of a subset."""
  if limit and (facts.subset or len(ids) != limit):
    raise errors.UserError(
      f"{source}: {len(ids):,} examples"
      f"{f' of the subset {facts.subset}' if facts.subset else ''}, but"
      f" the limit takes the first {limit:,} of {facts.dataset}."
    )


def _known_ids(
  builder: type[base.Builder], facts: DataFacts, ids: Sequence[str]
) -> set[str]:
  """Return the ids of all examples; none if unknown, or if they are named otherwise.

  Other programs may use any names for the examples of a published set.
  """
  usual = _is_usual(builder, facts)
  known = set(builder.known_ids() if usual else _frames(facts.dataset))
  outside = facts.source not in _OURS and builder.PUBLISHED_EXAMPLES
  varies = builder.NAMES_VARY or outside or _are_numbers(builder, facts, ids)
  return set() if varies and not known & set(ids) else known


def _are_numbers(
  builder: type[base.Builder], facts: DataFacts, ids: Sequence[str]
) -> bool:
  """Return whether these are another program's boxes, whose pictures have numbers."""
  results = builder.KIND == "objects" and facts.source not in _OURS
  return results and all(i.isdigit() for i in ids)


def _is_usual(builder: type[base.Builder], facts: DataFacts) -> bool:
  """Return whether data are of the published variant."""
  config = builder.config_of(facts.config) if facts.config else None
  return config is None or config.variant in ("", base.SOURCE)


def _check_subset(
  name: str, source: str, subset: str, ids: Sequence[str]
) -> Examples:
  """Check ids against a named subset (`eval/run/subsets.py`)."""
  examples = (
    f"{name}: the {len(ids):,} examples of the subset {subset}, by their ids"
  )
  stems = [subset_lib.stem(i) for i in ids]
  if subset in _SUBSETS:
    if _SUBSETS[subset] not in map(subset_lib.sha256, (ids, stems)):
      raise errors.UserError(
        f"{source}: these {len(ids):,} examples are not the subset"
        f" {subset}, whose ids are a fixed list. Choose examples of your own by"
        " a file."
      )
    return Examples(examples)
  match = _OF_FILE.fullmatch(subset)
  if not match or datasets.letters(match["stem"]) in map(
    datasets.letters, _SUBSETS
  ):
    raise errors.UserError(
      f"{source}: data.subset: got {subset!r}, expected one of"
      f" {', '.join(_SUBSETS)}, or a file's stem and 8 digits of a sha256."
    )
  chosen = f"how the subset {subset} was chosen: by a file of the submitter's"
  if subset_lines(subset, ids):
    return Examples(examples, chosen)
  return Examples("", f"{chosen}, whose ids are not at hand")


def subset_lines(subset: str, ids: Sequence[str]) -> list[str]:
  """Return the lines of the file that a subset is named after; none if they differ.

  Args:
    subset: a file's stem and 8 digits.
    ids: the examples' ids: the lines are these, or their stems.
  """
  match = _OF_FILE.fullmatch(subset)
  for lines in (list(ids), [subset_lib.stem(i) for i in ids]):
    if match and subset_lib.sha256(lines).startswith(match["digits"]):
      return lines
  return []


def _check_limit(
  source: str,
  facts: DataFacts,
  ids: Sequence[str],
  known_ids: Collection[str],
  total: int,
) -> Examples:
  """Check ids against the first ones of the set, in TFDS's order."""
  name = facts.dataset
  place = functools.partial(base.place, datasets.class_or_unknown(name).SPLIT)
  wrong = sorted(set(ids) - set(sorted(known_ids, key=place)[: len(ids)]))
  if known_ids and wrong:
    raise errors.UserError(
      f"{source}: the limit takes the first {len(ids):,} of {name}, and"
      f" {wrong[0]!r} is not one of them ({len(wrong):,} of {len(ids):,} are not)."
    )
  if known_ids:
    return Examples(
      f"{name}: the first {len(ids):,} of its {total:,} examples, by their ids"
    )
  return Examples(
    "", f"that these are the first {len(ids):,} examples of {name}"
  )


def check_groups(source: str, dataset: str, columns: Columns) -> None:
  """Check groups, which are drawn together, against the ids.

  Raises:
    UserError: an example whose group differs from its data set's.
  """
  if stored_numbers.holds_numbers(columns):
    return
  builder = datasets.class_or_unknown(dataset)
  names = [columns[n].tolist() for n in ("example_id", "frame", "group_id")]
  for example_id, frame, group in zip(*names):
    expected = builder.known_group(example_id, frame)
    if expected not in (None, group):
      raise errors.UserError(
        f"{source}: group_id of {example_id!r}: got {group!r}, expected"
        f" {expected!r} as in {dataset}: groups decide the intervals. Run again"
        " over the set as it is built now."
      )


@functools.cache
def _frames(dataset: str) -> Mapping[str, Any]:
  """Return the frames by id, with unreviewed ones; none if they are not embedded."""
  from robust_tfds.building import frames

  builder = datasets.class_or_unknown(dataset)
  listed = builder.known_frames() if issubclass(builder, frames.Builder) else ()
  return {row.frame.example_id: row for row in listed}


def check_labels(
  source: str, dataset: str, ids: Sequence[str], labels: np.ndarray
) -> int:
  """Check true classes against the ids.

  Args:
    source: the beginning of an error message.
    dataset: name of the set.
    ids: the id of each row.
    labels: int `[N]`.

  Returns:
    The number of ids that imply their class.

  Raises:
    UserError: a class other than the id implies.
  """
  builder, by_id = datasets.class_or_unknown(dataset), 0
  for example_id, label in zip(ids, labels.tolist()):
    expected = builder.known_label(example_id)
    by_id += expected is not None
    if expected not in (None, label):
      raise errors.UserError(
        f"{source}: label of {example_id!r}: got {label}, but its id says class"
        f" {expected}."
      )
  return by_id
