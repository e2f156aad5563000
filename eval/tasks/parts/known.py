"""What is known of a data set before anybody shows a prediction.

How many examples it has, which examples those are, and what class an id alone
tells: of the builders (`robust_tfds.datasets.known`), with no file of the data.
Of a set that is not ours nothing is known but what its facts say.
"""

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eval.cells.cell_facts import DataFacts
from eval.cells.files.columns import Columns
from eval.pipeline import subset as subset_lib
from eval.tasks.headlines import stored_numbers
from robust_tfds import datasets, errors
from robust_tfds.building import base, frames

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
  """How many of a benchmark's examples a run has; empty where it has all.

  Empty too where nobody published how many there are, or says how many these are.

  >>> part("imagenet_c", 60)
  '60 of 50,000 published examples'
  >>> part("imagenet_c", 50_000), part("mine_c", 60)
  ('', '')
  """
  published = datasets.known(dataset).published_in(split)
  if not 0 < examples < published:
    return ""
  return f"{examples:,} of {published:,} published examples"


def check_name(dataset: str) -> None:
  """Refuses a name that is one of ours but for its spelling.

  Raises:
    UserError: names ours.
  """
  name = datasets.spelled(dataset)
  if name not in ("", dataset):
    raise errors.UserError(
      f"data set {dataset!r}: write {name} where it is that set, whose examples"
      " are then checked; name another set otherwise."
    )


def check_kind(dataset: str, kind: str) -> None:
  """Refuses a data set of ours whose examples are of another kind.

  Args:
    kind: what the predictions are of, `Task.set_kind`.

  Raises:
    UserError: says what the set holds.
  """
  holds = datasets.known(dataset).KIND
  if holds not in ("", kind):
    raise errors.UserError(
      f"--dataset={dataset}: it is a set of {holds}, but these are predictions on"
      f" {kind}. Name the set that they are of."
    )


class Examples(NamedTuple):
  """What was held against a set, in words; empty where nothing was, or is left.

  Attributes:
    verified: what is right.
    unverified: what nothing here tells.
  """

  verified: str = ""
  unverified: str = ""


def check_examples(
  source: str, facts: DataFacts, limit: int, ids: Sequence[str]
) -> Examples:
  """Holds examples against those that the data set has.

  Args:
    source: what a refusal begins with.
    limit: the config's `data.limit`; 0 for all.
    ids: different ids, as many as there are examples.

  Raises:
    UserError: examples that the set does not have, fewer than it has though
      neither a subset nor a limit says so, others than the first ones that a
      limit takes, or others than those of a named subset.
  """
  name, builder = facts.dataset, datasets.known(facts.dataset)
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
    return _of_subset(name, source, facts.subset, ids)
  usual = _is_usual(builder, facts)
  total = len(known) or (builder.published_in(facts.split) if usual else 0)
  if limit:
    return _of_limit(source, facts, ids, known, total)
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
  """Refuses a split that a set of conditions does not have."""
  if builder.FAMILY and facts.split not in (None, "", *builder.splits()):
    raise errors.UserError(
      f"{source}: data.split: got {facts.split!r}, and {facts.dataset} has"
      f" {' or '.join(map(repr, builder.splits()))} alone."
    )


def _check_count(
  source: str, facts: DataFacts, limit: int, ids: Sequence[str]
) -> None:
  """Refuses a limit that was not kept, or one of a subset."""
  if limit and (facts.subset or len(ids) != limit):
    raise errors.UserError(
      f"{source}: {len(ids):,} examples"
      f"{f' of the subset {facts.subset}' if facts.subset else ''}, but"
      f" the limit takes the first {limit:,} of {facts.dataset}."
    )


def _known_ids(
  builder: type[base.Builder], facts: DataFacts, ids: Sequence[str]
) -> set[str]:
  """Ids of all examples; none where they are not known, or named otherwise.

  Other programs name the examples of a published set as they like.
  """
  usual = _is_usual(builder, facts)
  known = set(builder.known_ids() if usual else _frames(facts.dataset))
  outside = facts.source not in _OURS and builder.PUBLISHED_EXAMPLES
  varies = builder.NAMES_VARY or outside or _are_numbers(builder, facts, ids)
  return set() if varies and not known & set(ids) else known


def _are_numbers(
  builder: type[base.Builder], facts: DataFacts, ids: Sequence[str]
) -> bool:
  """Whether these are another program's boxes, whose pictures have numbers."""
  results = builder.KIND == "objects" and facts.source not in _OURS
  return results and all(i.isdigit() for i in ids)


def _is_usual(builder: type[base.Builder], facts: DataFacts) -> bool:
  """Whether data are of the variant that is published."""
  config = builder.config_of(facts.config) if facts.config else None
  return config is None or config.variant in ("", base.SOURCE)


def _of_subset(
  name: str, source: str, subset: str, ids: Sequence[str]
) -> Examples:
  """Holds ids against those of a subset's name (`eval/run/subsets.py`)."""
  examples = (
    f"{name}: the {len(ids):,} examples of the subset {subset}, by their ids"
  )
  stems = [subset_lib.stem(i) for i in ids]
  if subset in _SUBSETS:
    if _SUBSETS[subset] not in map(subset_lib.sha256, (ids, stems)):
      raise errors.UserError(
        f"{source}: these {len(ids):,} examples are not those of the subset"
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
  """Lines of the file that a subset's name is of; none where they were others.

  Args:
    subset: a file's stem and 8 digits.
    ids: of the examples: the lines were these, or their stems.
  """
  match = _OF_FILE.fullmatch(subset)
  for lines in (list(ids), [subset_lib.stem(i) for i in ids]):
    if match and subset_lib.sha256(lines).startswith(match["digits"]):
      return lines
  return []


def _of_limit(
  source: str,
  facts: DataFacts,
  ids: Sequence[str],
  known: Collection[str],
  total: int,
) -> Examples:
  """Holds ids against the first of the set, in the order that TFDS gives it."""
  name = facts.dataset
  place = functools.partial(base.place, datasets.known(name).SPLIT)
  wrong = sorted(set(ids) - set(sorted(known, key=place)[: len(ids)]))
  if known and wrong:
    raise errors.UserError(
      f"{source}: the limit takes the first {len(ids):,} of {name}, and"
      f" {wrong[0]!r} is none of them ({len(wrong):,} of {len(ids):,} are not)."
    )
  if known:
    return Examples(
      f"{name}: the first {len(ids):,} of its {total:,} examples, by their ids"
    )
  return Examples(
    "", f"that these are the first {len(ids):,} examples of {name}"
  )


def check_groups(source: str, dataset: str, columns: Columns) -> None:
  """Holds groups, which are drawn together, against what the ids tell.

  Raises:
    UserError: an example of another group than its data set has it in.
  """
  if stored_numbers.is_one(columns):
    return
  builder = datasets.known(dataset)
  names = [columns[n].tolist() for n in ("example_id", "frame", "group_id")]
  for example_id, frame, group in zip(*names):
    expected = builder.known_group(example_id, frame)
    if expected not in (None, group):
      raise errors.UserError(
        f"{source}: group_id of {example_id!r}: got {group!r}, but in {dataset} it"
        f" is of {expected!r}. Examples of one group are drawn together, so"
        " intervals would be others. Run again over the set as it is built now."
      )


@functools.cache
def _frames(dataset: str) -> Mapping[str, frames.Row]:
  """Id -> frame, also unreviewed ones; none where they are not embedded."""
  builder = datasets.known(dataset)
  listed = builder.known_frames() if issubclass(builder, frames.Builder) else ()
  return {row.frame.example_id: row for row in listed}


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
    UserError: another class than the id tells.
  """
  builder, by_id = datasets.known(dataset), 0
  for example_id, label in zip(ids, labels.tolist()):
    expected = builder.known_label(example_id)
    by_id += expected is not None
    if expected not in (None, label):
      raise errors.UserError(
        f"{source}: label of {example_id!r}: got {label}, but its id says class"
        f" {expected}."
      )
  return by_id
