"""Protocols of the printed numbers of data sets: pixels, examples, views.

A board ranks printed rows with a run's only if the run has the same data;
`Protocol.differences` lists what differs. Protocols are in the papers'
`paper.json`: the codecs of the published files are applied in a run, or the
files are read. Sources: docs/evidence/specs/corruptions.md section 0,
docs/evidence/specs/imagenet_p.md sections 1 and 3,
docs/evidence/specs/detection.md section 1, docs/evidence/specs/video.md sections 2 to 4.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from eval.papers import printed_rows


@dataclasses.dataclass(frozen=True)
class Protocol:
  """The protocol of a data set's printed numbers.

  Attributes:
    paper: the folder of its numbers.
    facts: name of a fact of the data (`eval/cells/cell_facts.py:DataFacts`) ->
      the values that count as the published one; the first is used in words.
    apart: why no run can have these pixels; '' if one can.
    baseline: the baseline of normalised numbers; '' if none are normalised.
  """

  paper: str
  facts: Mapping[str, Sequence[Any]]
  apart: str = ""
  baseline: str = ""

  def differences(self, facts: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return what keeps a run from being ranked with the printed numbers.

    Args:
      facts: facts of the run's data, `DataFacts.words()`; an unknown fact
        differs. `baseline` is given if its numbers are normalised: the name of
        a published baseline, or a model of the run, in words.

    Returns:
      (printed, the run's) for each fact that differs; with `pixels` if no run
      can have the published ones.
    """
    out = {
      name: (values[0], facts.get(name))
      for name, values in self.facts.items()
      if facts.get(name) not in values
    }
    baseline = str(facts.get("baseline") or "")
    if baseline and not baseline.lower().startswith(self.baseline.lower()):
      out["baseline"] = self.baseline, baseline
    if self.apart:
      out["pixels"] = self.apart, "made in the run"
    return out

  def words(self) -> str:
    """Return the protocol in words, for captions."""
    named = [
      f"{name} {_word(values[0])}"
      for name, values in self.facts.items()
      if values[0]
    ]
    return ", ".join([*named, *filter(None, [self.apart])])


def _word(value: Any) -> str:
  if isinstance(value, list):
    return " x ".join(map(str, value))
  return f"{value:,}" if isinstance(value, int) else str(value)


def _all() -> dict[str, Protocol]:
  """Return the protocols of all papers, in the order of their years."""
  listed = sorted(printed_rows.names(), key=lambda paper: paper[-4:])
  return {
    dataset: Protocol(paper, **fields)
    for paper in listed
    for dataset, fields in printed_rows.facts(paper)["protocols"].items()
  }


# Data set -> protocol of its printed numbers.
PROTOCOLS = _all()
