"""The first page: all boards by task and data set, then all models."""

from collections.abc import Sequence
from typing import Any

from eval.compare.boards.board import Entry
from eval.metrics import definitions
from eval.report.pages import fact_text, layout, template
from eval.report.pages.view import View
from eval.tables import numbers


def html(views: Sequence[View], aside: Sequence[Any] = ()) -> str:
  """The first page of a site.

  Args:
    aside: what stands on none of them, see `site.write`.
  """
  entries = [entry for view in views for entry in view.board.entries]
  return template.page(
    "index.html",
    template.INDEX,
    script="board",
    title="Robustness boards",
    up=(),
    views=views,
    aside=aside,
    ours=sum(not entry.printed for entry in entries),
    printed=sum(entry.printed for entry in entries),
    tasks=_by_task(views),
    task_names=[(t, definitions.title_of(t)) for t in _by_task(views)],
    corruptions=_named(dict.fromkeys(n for v in views for n in v.corruptions)),
    differing=_differing,
    first=_first,
    main_number=_main_number,
    layout=layout,
  )


def _by_task(views: Sequence[View]) -> dict[str, dict[str, list[View]]]:
  """Task -> data set -> its boards."""
  out: dict[str, dict[str, list[View]]] = {}
  for view in views:
    datasets = out.setdefault(view.board.task, {})
    datasets.setdefault(view.board.dataset, []).append(view)
  return out


def _named(corruptions: Sequence[str] | dict[str, None]) -> list:
  return [(name, definitions.words(name)) for name in corruptions]


def _differing(views: Sequence[View]) -> dict[str, str]:
  """Fact in which boards of one data set differ -> its name in words."""
  facts = dict.fromkeys(fact for v in views for fact in v.board.differs)
  return {fact: fact_text.name(fact).capitalize() for fact in facts}


def _first(view: View) -> Entry | None:
  """The first of a board; None where nothing is ranked."""
  if view.main is None:
    return None
  return next((e for e in view.board.entries if e.rank == 1), None)


def _main_number(view: View, entry: Entry) -> str:
  """The number that ranks, and over what was held out, in words."""
  if view.main is None:
    return numbers.MISSING
  shown = [view.main, view.main.held_out]
  there = [m for m in shown if m is view.main or entry.number(m.name)]
  return ", ".join(
    f"{m.heading} {numbers.with_unit(m, entry.number(m.name))}" for m in there
  )
