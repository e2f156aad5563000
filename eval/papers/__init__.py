"""Printed numbers of the papers, to compare with ours, with their sources.

Every number is stored once: a folder for each paper, a TSV file for each of its
tables (`printed_rows`). `rows` returns all of them, `doubts` those that
contradict others, `protocol` how they were measured. The other functions are
views of `rows`, in which a replacement is used for a doubtful number
(`PrintedRow.used`, `doubt`).
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any

from eval.papers import doubt as doubt_lib
from eval.papers import printed_rows, raw_results
from eval.papers.doubt import Doubt
from eval.papers.printed_rows import PrintedRow, names
from eval.papers.protocols import PROTOCOLS, Protocol
from eval.papers.testbed_kinds import testbed

__all__ = [
  "DETECTION",
  "DetectionRow",
  "Doubt",
  "Key",
  "PrintedNetwork",
  "PrintedRow",
  "Protocol",
  "anchors",
  "detection_rows",
  "doubtful",
  "doubts",
  "intervals",
  "marked_networks",
  "names",
  "networks",
  "other_data",
  "printed",
  "printed_networks",
  "protocol",
  "rows",
  "source",
  "source_of",
  "testbed",
]

DETECTION = raw_results.PAPER
# Our names of data sets -> those of the detection paper.
_DETECTION_SETS = {
  "coco_c": "coco",
  "pascal_c": "pascal_voc",
  "cityscapes_c": "cityscapes",
}

Key = tuple[str, str]  # metric, condition


@dataclasses.dataclass(frozen=True)
class PrintedNetwork:
  """The numbers that a paper prints of one network on one data set.

  Attributes:
    label: printed name, with its training if tables distinguish networks by it.
    model: our name for it, or ''.
    numbers: (metric, condition) -> row, as it is used; for a number in two
      tables the first.
  """

  label: str
  model: str
  numbers: Mapping[Key, PrintedRow]

  @property
  def source(self) -> str:
    """The paper and tables, in words."""
    return source_of(self.numbers.values())


@dataclasses.dataclass(frozen=True)
class DetectionRow:
  """A row of Michaelis et al. 2019 that has raw results, in percent.

  Attributes:
    where: the table.
    dataset: `coco`, `pascal_voc` or `cityscapes`.
    model: name of the raw results file that it is printed from.
    task: `bbox` or `segm`.
    metric: `AP`, or `AP50` for VOC.
    numbers: P, mPC and rPC.
    note: why the numbers do not follow from the file, if they do not.
  """

  where: str
  dataset: str
  model: str
  task: str
  metric: str
  numbers: tuple[float, float, float]
  note: str


def rows(name: str) -> tuple[PrintedRow, ...]:
  """Return all printed numbers of a paper, or of a data set.

  Args:
    name: one of `names()`, or the name of a data set.

  Returns:
    The rows in the order of the tables; doubtful ones are marked. There are
    none for a data set that no paper prints.
  """
  if name in names():
    return printed_rows.paper_rows(name)
  everything = (r for paper in names() for r in printed_rows.paper_rows(paper))
  return tuple(r for r in everything if name in r.datasets)


def doubts(paper: str = "") -> tuple[Doubt, ...]:
  """Return printed numbers that contradict others, in a paper or in all."""
  papers = (paper,) if paper else names()
  return tuple(d for name in papers for d in doubt_lib.paper_doubts(name))


def protocol(dataset: str) -> Protocol | None:
  """Return the protocol of a data set's printed numbers; None without any."""
  return PROTOCOLS.get(dataset)


def other_data(
  dataset: str, facts: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
  """Return what keeps a run out of a table or figure of printed numbers.

  Args:
    facts: as for `Protocol.differences`.

  Returns:
    As from `Protocol.differences`, except pixels, which the authors drew once
    and every run draws anew; `dataset` if nothing is printed for it.
  """
  known = protocol(dataset)
  differ = known.differences(facts) if known else {"dataset": ("", dataset)}
  return {name: both for name, both in differ.items() if name != "pixels"}


def source(name: str) -> str:
  """Return a paper in words; for a data set with the tables that list its networks.

  The result is empty if nothing is printed for it.
  """
  if name in names():
    return printed_rows.facts(name)["paper"]
  return source_of(r for r in rows(name) if r.listed)


def source_of(selection: Iterable[PrintedRow]) -> str:
  """Return the paper and tables of rows, in words."""
  papers: dict[str, dict[str, None]] = {}
  for row in selection:
    papers.setdefault(source(row.paper), {})[row.where] = None
  return "; ".join(f"{p}, {', '.join(w)}" for p, w in papers.items())


@functools.cache
def printed_networks(
  dataset: str, every: bool = False
) -> tuple[PrintedNetwork, ...]:
  """Return the printed numbers of each network on a data set.

  Args:
    every: whether to include tables that do not list networks under one
      protocol: text, breakdowns, boards of a README. A network with two names
      counts twice.

  Returns:
    The networks in the order of the tables.
  """
  numbers: dict[str, dict[Key, PrintedRow]] = {}
  for row in rows(dataset):
    if row.network and (every or row.listed):
      key = row.metric, row.name
      numbers.setdefault(row.label, {}).setdefault(key, row.used)
  return tuple(
    PrintedNetwork(label, _model_of(list(its.values())), its)
    for label, its in numbers.items()
  )


def _model_of(network_rows: list[PrintedRow]) -> str:
  """Return our name for a network: that of its table, or in its paper's `networks`."""
  for row in network_rows:
    paper_networks = printed_rows.facts(row.paper).get("networks", {})
    if row.network in paper_networks and row.training in ("", "standard"):
      return str(paper_networks[row.network]["name"])
  return next((row.model for row in network_rows if row.model), "")


def printed(model: str, dataset: str) -> dict[str, Any]:
  """Return the printed numbers of a model on a data set; {} without any.

  Returns:
    Fractions by metric, or by metric and condition, with an empty name for the
    whole benchmark; `source` in words.
  """
  numbers: dict[str, Any] = {}
  network = _models(dataset).get(model)
  if network is None:
    return {}
  by_name = {metric for metric, name in network.numbers if name}
  for (metric, name), row in network.numbers.items():
    if metric in by_name:
      numbers.setdefault(metric, {})[name] = row.value
    else:
      numbers[metric] = row.value
  doubtful = doubt_lib.sentences(
    row for row in network.numbers.values() if row.marked
  )
  row_notes = (row.note for row in network.numbers.values() if not row.doubt)
  notes = "; ".join(dict.fromkeys(filter(None, row_notes)))
  source_words = ". ".join(filter(None, (network.source, notes, doubtful)))
  return {**numbers, "source": source_words}


def networks(dataset: str, *metrics: str) -> dict[str, tuple[float, ...]]:
  """Return these metrics by label, for every network that has them all."""
  return {
    network.label: tuple(network.numbers[m, ""].value for m in metrics)
    for network in printed_networks(dataset)
    if all((m, "") in network.numbers for m in metrics)
  }


def doubtful(dataset: str, *metrics: str) -> frozenset[str]:
  """Return the labels of networks with a doubt about one of these numbers."""
  return frozenset(
    network.label
    for network in printed_networks(dataset)
    if any(
      row.marked
      for (metric, _), row in network.numbers.items()
      if metric in metrics
    )
  )


def marked_networks(
  dataset: str, *metrics: str
) -> dict[str, tuple[float, ...]]:
  """Return `networks` with doubtful ones marked in their labels."""
  doubts = doubtful(dataset, *metrics)
  return {
    label + ", doubtful" * (label in doubts): values
    for label, values in networks(dataset, *metrics).items()
  }


def intervals(dataset: str, *metrics: str) -> dict[str, tuple[float, ...]]:
  """Return (lo, hi) of these metrics in a row, by label."""
  out = {}
  for network in printed_networks(dataset):
    listed = [network.numbers.get((m, "")) for m in metrics]
    ends = ((row.lo, row.hi) for row in listed if row)
    out[network.label] = tuple(
      e for pair in ends for e in pair if e is not None
    )
  return out


def anchors(dataset: str) -> int | None:
  """Return the number of anchor sets behind the printed numbers of a data set."""
  accepted = (r for r in rows(dataset) if r.metric == "anchors_accepted")
  return next((round(r.value) for r in accepted), None)


def detection_rows() -> list[DetectionRow]:
  """Return the printed rows of Michaelis et al. 2019 that have raw results."""
  lines: dict[tuple[str, ...], dict[str, PrintedRow]] = {}
  for row in rows(DETECTION):
    task, _, part = row.metric.rpartition("/")
    if row.model:
      key = row.where, row.datasets[0], row.model, task or "bbox"
      lines.setdefault(key, {})[part] = row
  return [_detection_row(key[-1], parts) for key, parts in lines.items()]


def _detection_row(task: str, parts: Mapping[str, PrintedRow]) -> DetectionRow:
  row = parts["p"]
  p, mpc, rpc = (float(parts[part].text) for part in ("p", "mpc", "rpc"))
  return DetectionRow(
    where=row.where,
    dataset=_DETECTION_SETS[row.datasets[0]],
    model=row.model,
    task=task,
    metric="AP50" if row.datasets[0] == "pascal_c" else "AP",
    numbers=(p, mpc, rpc),
    note=row.note if any(r.doubt for r in parts.values()) else "",
  )


@functools.cache
def _models(dataset: str) -> Mapping[str, PrintedNetwork]:
  """Return the networks by our names, lists under one protocol before text."""
  listed = (*printed_networks(dataset), *printed_networks(dataset, every=True))
  return {n.model: n for n in reversed(listed) if n.model}
