"""The first page of a site: all boards by task and data set, then all models."""

from collections.abc import Sequence
from typing import Any

from eval.compare.boards.board import Entry
from eval.metrics import definitions
from eval.report.pages import fact_text, layout, template
from eval.report.pages.view import View
from eval.tables import numbers


def html(views: Sequence[View], excluded: Sequence[Any] = ()) -> str:
  """Return the first page of a site.

  Args:
    views: views of all boards.
    excluded: models on no board, see `site.write`.
  """
  entries = [entry for view in views for entry in view.board.entries]
  return template.page(
    "index.html",
    template.INDEX,
    script="board",
    title="Robustness boards",
    up=(),
    views=views,
    excluded=excluded,
    ours=sum(not entry.printed for entry in entries),
    printed=sum(entry.printed for entry in entries),
    tasks=_group_views(views),
    task_names=[(t, definitions.title_of(t)) for t in _group_views(views)],
    corruptions=[
      (name, definitions.words(name))
      for name in dict.fromkeys(n for v in views for n in v.corruptions)
    ],
    differing=_differing,
    first=_first,
    main_number=_main_number,
    layout=layout,
  )


def _group_views(views: Sequence[View]) -> dict[str, dict[str, list[View]]]:
  """Return task -> data set -> its boards."""
  out: dict[str, dict[str, list[View]]] = {}
  for view in views:
    datasets = out.setdefault(view.board.task, {})
    datasets.setdefault(view.board.dataset, []).append(view)
  return out


def _differing(views: Sequence[View]) -> dict[str, str]:
  """Return fact in which boards of a data set differ -> its name in words."""
  facts = dict.fromkeys(fact for v in views for fact in v.board.differs)
  return {fact: fact_text.name(fact).capitalize() for fact in facts}


def _first(view: View) -> Entry | None:
  """Return the entry of rank 1; None if nothing is ranked."""
  if view.main is None:
    return None
  return next((e for e in view.board.entries if e.rank == 1), None)


def _main_number(view: View, entry: Entry) -> str:
  """Return the ranking number in words, also over held-out conditions."""
  if view.main is None:
    return numbers.MISSING
  shown = [view.main, view.main.held_out]
  there = [m for m in shown if m is view.main or entry.number(m.name)]
  return ", ".join(
    f"{m.heading} {numbers.full_text(m, entry.number(m.name))}" for m in there
  )
