"""The summary on the screen and in `summary.txt`."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot


class Summary(base.Report):
  """Models, then corruptions, as aligned text."""

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes summary.txt."""
    path = folder / "summary.txt"
    path.write_text(render(context), "utf-8")
    return [path]


def render(context: Context) -> str:
  """Models, then corruptions, as aligned text; percent."""
  models = context.models
  lines = [f"{context.dataset}: {len(models)} model(s), rates in %", ""]
  lines += _aligned("model", models, pivot.headline_columns(context))
  for heading, names in pivot.sections(context):
    columns = pivot.detail_columns(context, names)
    lines += ["", *_aligned(heading, names, columns)]
  return "\n".join([*lines, "", pivot.note(context), *context.provenance, ""])


def _aligned(
  corner: str, names: Sequence[str], columns: Sequence[pivot.Column]
) -> list[str]:
  """Lines of a table: names to the left, numbers to the right."""
  texts = [[corner, *names], *([c.heading, *c.texts] for c in columns)]
  widths = [max(map(len, column)) for column in texts]
  lines = [
    "  ".join(
      text.ljust(width) if i == 0 else text.rjust(width)
      for i, (text, width) in enumerate(zip(line, widths))
    ).rstrip()
    for line in zip(*texts)
  ]
  return [lines[0], "-" * len(lines[0]), *lines[1:]]
