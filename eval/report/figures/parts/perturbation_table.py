"""Tables 4 to 7 of Schiappa et al.: a line per perturbation, columns of models."""

import dataclasses
from collections.abc import Sequence

from eval.papers import derived, doubt
from eval.report.figures import base
from eval.report.figures.parts import (
  gammas,
  networks,
  own,
  printed,
  sheet,
)
from robust_tfds import conditions

_MEANS = (
  "A group's line is the printed mean, which need not be that of its lines."
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PerturbationTable(base.OneSet):
  """Printed networks, then models of runs; the CSV has a line per number."""

  source: str = "eval/papers: the printed table"
  tasks: tuple[str, ...] = ("video",)

  def drawn(self, request: base.Request) -> base.Drawn:
    added = own.from_boards(self.boards(request))
    listed = [
      *request.if_printed(
        gammas.printed_networks(self.dataset, as_printed=True)
      ),
      *gammas.run_networks(added),
    ]
    rows = request.if_printed(gammas.printed_rows(self.dataset))
    parts = [
      "gamma_a: 1 - (clean accuracy - accuracy), gamma_r: accuracy / clean"
      " accuracy, means over severities.",
      *request.if_printed([_MEANS]),
      printed.words_of_source(rows),
      doubt.sentences(rows, as_printed=True),
      own.comparability(added, self.dataset),
    ]
    caption = " ".join(filter(None, parts))
    numbers = sheet.Sheet(gammas.COLUMNS, gammas.sheet_lines(listed))
    return base.Drawn(None, (), numbers, _table(listed, caption))


def _table(models: Sequence[networks.Network], caption: str) -> sheet.Sheet:
  columns = [
    sheet.Column(f"{network.label} {measure}", 2, percent=False)
    for network in models
    for measure in derived.MEASURES
  ]
  lines: list[list[sheet.Cell]] = []
  for group in conditions.VIDEOS.groups:
    members = conditions.VIDEOS.members(group, "common")
    for name in (*members, group):
      keys = [gammas.metric_key(measure, name) for measure in derived.MEASURES]
      values = [network.value(*key) for network in models for key in keys]
      words = name if name in members else f"all {group}"
      lines.append([words.replace("_", " "), *values])
  return sheet.Sheet(["perturbation", *columns], lines, caption)
