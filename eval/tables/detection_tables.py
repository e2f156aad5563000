"""The detection paper's tables, computed from its raw results.

They show our numbers, those that Michaelis et al. 2019 print, and the difference, in
percent. docs/evidence/DETECTION_TABLES.md is the output.
"""

import dataclasses
import math
from collections.abc import Sequence

from etils import epath

from eval import papers
from eval.cells import table
from eval.metrics import definitions
from eval.tables import markdown as markdown_lib
from eval.tables import numbers
from eval.tables.markdown import escape

# Half of the last printed digit, in percent; and the rounding of decimals.
_HALF_DIGIT = 0.05 + 1e-9
_PARTS = ("p", "mpc", "rpc")


@dataclasses.dataclass(frozen=True)
class Compared:
  """A printed row and our numbers.

  Attributes:
    row: as the paper prints it.
    ours: our P, mPC and rPC in percent.
  """

  row: papers.DetectionRow
  ours: tuple[float, float, float]

  @property
  def agrees(self) -> tuple[bool, ...]:
    """Whether our P, mPC and rPC each round to the printed number, if any."""
    return tuple(
      printed is None or abs(value - printed) <= _HALF_DIGIT
      for value, printed in zip(self.ours, self.row.numbers)
    )


def write(rows: Sequence[table.Row], folder: epath.Path) -> str:
  """Write tables.md and return its text."""
  text = markdown(rows)
  (folder / "tables.md").write_text(text, "utf-8")
  return text


def compare(rows: Sequence[table.Row]) -> list[Compared]:
  """Return the printed rows of the models that we have, in the paper's order."""
  ours = _summaries(rows)
  return [
    Compared(row, ours[key])
    for row in papers.detection_rows()
    if (key := (row.dataset, row.model, f"{row.task}/{row.metric}")) in ours
  ]


def markdown(rows: Sequence[table.Row]) -> str:
  """Return our numbers, then a comparison with the printed ones."""
  lines = []
  for (dataset, model, metric), summary in _summaries(rows).items():
    texts = map(numbers.decimals, summary)
    lines.append([escape(dataset), escape(model), metric, *texts])
  heads = ["data set", "model", "metric", *_headings()]
  parts = [
    "# Robust Detection Benchmark: P, mPC and rPC from raw results\n",
    "In percent; mPC over the 15 benchmark corruptions.\n",
    markdown_lib.table(heads, lines, "lllr"),
  ]
  compared = compare(rows)
  if compared:
    parts += ["\n## Beside the printed numbers\n", _comparison(compared)]
    parts.append(f"\nSource: {papers.source(papers.DETECTION)}.\n")
  return "\n".join(parts) + "\n"


def _headings() -> list[str]:
  return [m.heading for m in definitions.metrics("detection", *_PARTS)]


def _summaries(
  rows: Sequence[table.Row],
) -> dict[tuple[str, str, str], tuple[float, float, float]]:
  """Return (data set, model, metric) -> P, mPC and rPC in percent."""
  metrics = {
    (r.dataset, r.model, r.metric) for r in rows if r.config == "clean"
  }
  summaries = {
    (r.dataset, r.model, r.metric): 100 * r.value
    for r in rows
    if not r.config and not r.corruption
  }
  out = {}
  for dataset, model in dict.fromkeys((r.dataset, r.model) for r in rows):
    for task, prefix in (("bbox", ""), ("segm", "segm/")):
      plain = (dataset, model, f"{task}/AP") in metrics
      metric = f"{task}/{'AP' if plain else 'AP50'}"
      p, mpc, rpc = (
        summaries.get((dataset, model, f"{prefix}{part}"), math.nan)
        for part in _PARTS
      )
      if not math.isnan(p):
        out[dataset, model, metric] = (p, mpc, rpc)
  return out


def _comparison(compared: Sequence[Compared]) -> str:
  first, *others = _headings()
  heads = ["where", "data set", "model", "metric"]
  heads += [f"{first}: ours, printed, difference", *others, ""]
  lines = []
  for line in compared:
    row = line.row
    parts = [
      _part(value, printed, agrees)
      for value, printed, agrees in zip(line.ours, row.numbers, line.agrees)
    ]
    metric = f"{row.task}/{row.metric}"
    names = [row.where, row.dataset, row.model, metric]
    lines.append([*map(escape, names), *parts, escape(row.note)])
  listed = [
    (
      (c.row.dataset, c.row.model, c.row.task, c.row.metric, part),
      number,
      agrees,
    )
    for c in compared
    for part, number, agrees in zip(_PARTS, c.row.numbers, c.agrees)
    if number is not None
  ]
  once = {(key, number): agrees for key, number, agrees in listed}
  repeats = len(listed) - len(once)
  agreement = (
    f"\n{sum(once.values())} of {len(once)} printed numbers agree within half of"
    " their last digit, each counted once"
    + f" ({sum(agrees for *_, agrees in listed)} of {len(listed)} with those that"
    " several tables print)"
    * bool(repeats)
    + "; the others are marked (!) and explained in the last column."
  )
  return f"{markdown_lib.table(heads, lines)}\n{agreement}"


def _part(value: float, printed: float | None, agrees: bool) -> str:
  text = "-"
  if printed is not None:
    text = f"{printed:.1f}, {value - printed:+.2f}"
  return f"{value:.2f}, {text}" + ("" if agrees else " (!)")
