"""What the printed numbers of a data set are of: pixels, examples, views.

A board ranks printed rows beside a run's only where the run is of the same data;
`Protocol.differences` says what differs. They stand in the papers' `paper.json`:
the codecs of the published files are made in a run, or the files are read. Sources:
docs/specs/corruptions.md section 0, docs/specs/imagenet_p.md sections 1 and 3,
docs/specs/detection.md section 1, docs/specs/video.md sections 2 to 4.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from robust_tfds.eval.papers import printed_rows


@dataclasses.dataclass(frozen=True)
class Protocol:
  """What the printed numbers of a data set are of.

  Attributes:
    paper: the folder of its numbers.
    facts: name of a fact of the data (`eval/cells/cell_facts.py:DataFacts`)
      -> the values that are the published one; the first says it in words.
    apart: why no run's pixels are these; empty where they can be.
    baseline: what normalised numbers are divided by; empty where none are.
  """

  paper: str
  facts: Mapping[str, Sequence[Any]]
  apart: str = ""
  baseline: str = ""

  def differences(self, facts: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What keeps a run from being ranked with the printed numbers.

    Args:
      facts: of the run's data, `DataFacts.words()`; a fact that it does not
        know differs. With `baseline` where its numbers are normalised: the name
        of a published one, or a model of the run, in words.

    Returns:
      Fact -> (printed, the run's), of those that differ; `pixels` where no run's
      are the published ones.
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
    """In words, for captions."""
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
  """Of all papers, in the order of their years."""
  listed = sorted(printed_rows.names(), key=lambda paper: paper[-4:])
  return {
    dataset: Protocol(paper, **fields)
    for paper in listed
    for dataset, fields in printed_rows.facts(paper)["protocols"].items()
  }


# Data set -> what its printed numbers are of.
PROTOCOLS = _all()
