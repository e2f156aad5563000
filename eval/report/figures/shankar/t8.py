"""Table 8: accuracy by frame rate."""

from robust_tfds.eval.report.figures.parts import own, printed_table


class Table8(printed_table.PrintedTable):
  """Rates are truncated: 29 is 29.97."""

  def suffixes_of(self, model: own.Own) -> list[tuple[str, str]]:
    """A line a rate of the run's videos."""
    start = "acc_orig/fps="
    rates = [
      m.removeprefix(start) for m in model.metrics() if m.startswith(start)
    ]
    return [(f"{rate} fps", f"/fps={rate}") for rate in rates]
