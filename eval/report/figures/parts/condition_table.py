"""Tables 1 to 4 of Hendrycks and Dietterich: a mean and all its conditions."""

import dataclasses
from collections.abc import Sequence

from eval.metrics import definitions
from eval.papers import Key, PrintedRow, doubt
from eval.report.figures import base
from eval.report.figures.parts import networks, own, printed, sheet
from robust_tfds import conditions

_TIDY = ("network", "metric", "condition", "value", "lo", "hi", "source")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConditionTable(base.PaperFigure):
  """Printed networks, then the models of runs; a column per condition.

  The CSV has a line per number, with its interval.

  Attributes:
    table: table of `eval/papers`.
    mean: metric of the benchmark, with its heading.
    detail: metric of a condition.
    family: kind of the conditions.
  """

  table: str
  mean: tuple[str, str]
  detail: str
  family: str

  @property
  def printed_sets(self) -> Sequence[str]:
    return printed.datasets("hendrycks2019", self.table)

  def drawn(self, request: base.Request) -> base.Drawn:
    rows = request.if_printed(printed.table("hendrycks2019", self.table))
    models = own.from_boards(self.boards(request))
    metric, heading = self.mean
    names = conditions.family(self.family).names("common")
    keys = [
      ("clean_error", ""),
      (metric, ""),
      *((self.detail, n) for n in names),
    ]
    added = networks.from_runs(models, keys)
    listed = [
      *networks.printed(rows, "printed"),
      *(n for n in added if (metric, "") in n.numbers),
    ]
    columns: list[str | sheet.Column] = [
      *("network", sheet.Column("clean error"), sheet.Column(heading)),
      *(sheet.Column(f"{heading} lo"), sheet.Column(f"{heading} hi")),
      *(sheet.Column(definitions.words(name), digits=0) for name in names),
      "source",
    ]
    cells = [_cells(network, keys) for network in listed]
    table = sheet.Sheet(columns, cells, self._caption(rows, models))
    tidy = [line for network in listed for line in network.lines()]
    return base.Drawn(None, (), sheet.Sheet(_TIDY, tidy), table)

  def _caption(
    self, rows: Sequence[PrintedRow], models: Sequence[own.Own]
  ) -> str:
    doubts = doubt.sentences(rows, as_printed=True)
    parts = ["In %.", printed.words_of_source(rows), doubts]
    if models:
      dataset = self.printed_sets[0]
      known = [m.label for m in models if m.number(self.mean[0])]
      parts += [
        f"lo, hi: 95 % intervals of runs{'; printed numbers have none' * bool(rows)}.",
        own.baselines(models, dataset if rows else ""),
        own.comparability(models, dataset),
        own.missing_numbers(models, known),
      ]
    return " ".join(filter(None, dict.fromkeys(parts)))


def _cells(network: networks.Network, keys: Sequence[Key]) -> list[sheet.Cell]:
  """Return a network's line: its numbers, and the interval of the mean."""
  clean, mean, *others = (network.value(*key) for key in keys)
  interval = network.numbers.get(keys[1])
  ends = (interval.lo, interval.hi) if interval else (None, None)
  return [network.label, clean, mean, *ends, *others, network.source]
