"""The summary on the screen and in `summary.txt`."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import pivot

TASKS = ("classification", "sequences", "frames", "detection", "video")


def render(context: reports.Context) -> str:
  """Models, then corruptions, as aligned text; percent."""
  models, headlines = context.models, pivot.headlines(context)
  lines = [f"{context.dataset}: {len(models)} model(s), rates in %", ""]
  heads = ["model", *(label for _, label in headlines)]
  rows = [
    [m, *(pivot.text(k, pivot.headline(context, m, k)) for k, _ in headlines)]
    for m in models
  ]
  lines += _aligned([heads, *rows])
  details = pivot.details(context)
  for heading, names in pivot.sections(context):
    heads = [heading, *(f"{m} {label}" for m in models for _, label in details)]
    rows = [[n, *_numbers(context, models, details, n)] for n in names]
    lines += ["", *_aligned([heads, *rows])]
  return "\n".join([*lines, "", pivot.note(context), *context.provenance, ""])


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes summary.txt."""
  path = folder / "summary.txt"
  path.write_text(render(context), "utf-8")
  return [path]


def _numbers(context, models, details, name):
  return [
    pivot.text(metric, pivot.by_corruption(context, m, metric, name))
    for m in models
    for metric, _ in details
  ]


def _aligned(rows: list[list[str]]) -> list[str]:
  widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
  lines = [
    "  ".join(
      c.ljust(w) if i == 0 else c.rjust(w)
      for i, (c, w) in enumerate(zip(r, widths))
    ).rstrip()
    for r in rows
  ]
  return [lines[0], "-" * len(lines[0]), *lines[1:]]
