"""Tables of natural perturbations: intervals, breakdowns, the paper's models."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import leaderboard_markdown
from eval.reports import natural_pivot
from eval.reports import pivot
from eval.results import table

TASKS = ("frames",)
_HEADS = ("pm-0", "pm-10", "Drop")
_BREAKDOWNS = (
  ("class", "By class"),
  ("frame_type", "By frame type of the anchor"),
  ("without_frame_type", "Without anchors of a frame type"),
  ("fps", "By frame rate (truncated)"),
)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes natural_perturbations.md."""
  parts = [
    f"# {leaderboard_markdown.escape(context.dataset)}\n",
    pivot.note(context),
    "In %, with 95 % Clopper-Pearson intervals.\n",
    _beside_published(context),
  ]
  for what, title in _BREAKDOWNS:
    for model in context.models:
      rows = _breakdown(context, model, what)
      if rows:
        name = leaderboard_markdown.escape(model)
        parts += [f"\n## {title}: {name}\n", _table([what, "n", *_HEADS], rows)]
  parts += _review(context)
  parts += _lines(context)
  footer = leaderboard_markdown.escape("; ".join(context.provenance))
  path = folder / "natural_perturbations.md"
  path.write_text("\n".join([*parts, f"\n{footer}\n"]), "utf-8")
  return [path]


def _beside_published(context: reports.Context) -> str:
  """Our models in bold among those that the authors print, best pm-0 first."""
  rows: list[tuple[float, list[str]]] = []
  for model in context.models:
    found = [
      natural_pivot.row(context, model, m)
      for m in ("acc_orig", "acc_pmk", "drop")
    ]
    cells = [f"**{leaderboard_markdown.escape(model)}**"]
    cells += [_interval(r) for r in found]
    rows.append((found[0].value if found[0] else 0.0, cells))
  for name, (orig, perturbed, *ends) in context.networks.items():
    if ends:  # of the paper's own table; the testbed is in the figure
      cells = [
        leaderboard_markdown.escape(name),
        _with_ends(orig, *ends[:2]),
        _with_ends(perturbed, *ends[2:]),
        pivot.percent(orig - perturbed),
      ]
      rows.append((orig, cells))
  rows.sort(key=lambda pair: -pair[0])
  said = ""
  if len(rows) > len(context.models):
    said = "Ours in bold; the others are the paper's (see `eval/papers`).\n\n"
  return said + _table(["Model", *_HEADS], [cells for _, cells in rows])


def _breakdown(context, model: str, what: str) -> list[list[str]]:
  orig = natural_pivot.series(context, model, "acc_orig", what)
  perturbed = dict(natural_pivot.series(context, model, "acc_pmk", what))
  out = []
  for value, row in orig:
    name = (
      natural_pivot.class_name(context, value) if what == "class" else value
    )
    drop = row.value - perturbed[value].value
    out.append(
      [
        leaderboard_markdown.escape(name),
        str(row.n),
        _interval(row),
        _interval(perturbed[value]),
        pivot.percent(drop),
      ]
    )
  return out


def _review(context: reports.Context) -> list[str]:
  """What the human review changed (Table 4)."""
  rows = []
  for model in context.models:
    for suffix, said in (
      ("", "reviewed"),
      ("/same_anchors", "all frames of the kept anchors"),
      ("/unreviewed", "all frames of all anchors"),
    ):
      found = [
        natural_pivot.row(context, model, f"{m}{suffix}")
        for m in ("acc_orig", "acc_pmk")
      ]
      if None not in found:
        drop = found[0].value - found[1].value  # type: ignore[union-attr]
        rows.append(
          [
            leaderboard_markdown.escape(model),
            said,
            *map(_interval, found),
            pivot.percent(drop),
          ]
        )
  if len(rows) == len(context.models):
    return []
  return [
    "\n## What the review changed\n",
    _table(["Model", "Frames", *_HEADS], rows),
  ]


def _lines(context: reports.Context) -> list[str]:
  """Slopes and intercepts of pm-10 on pm-0."""
  rows = []
  for name, said in (
    ("published_trend", "testbed"),
    ("paper_trend", "paper's table"),
    ("trend", "this run"),
  ):
    slope = natural_pivot.row(context, "", f"{name}_slope")
    intercept = natural_pivot.row(context, "", f"{name}_intercept")
    if slope and intercept:
      shown = f"{slope.value:.3f} [{slope.lo:.3f}, {slope.hi:.3f}]"
      rows.append([said, str(slope.n), shown, _interval(intercept)])
  if not rows:
    return []
  heads = ["Line of", "models", "slope", "intercept"]
  return ["\n## pm-10 against pm-0\n", _table(heads, rows)]


def _interval(row: table.Row | None) -> str:
  if row is None:
    return "-"
  if row.lo is None or row.hi is None:
    return pivot.percent(row.value)
  return _with_ends(row.value, row.lo, row.hi)


def _with_ends(value: float, lo: float, hi: float) -> str:
  shown = [pivot.percent(v) for v in (value, lo, hi)]
  return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def _table(heads: list[str], rows: list[list[str]]) -> str:
  lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
  return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
