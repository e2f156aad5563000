"""Figures and tables of the papers, from printed numbers and from runs.

  <paper>/__init__.py   `CITATION`, which paper it is; `FIGURES`, a row each
  <paper>/<figure>.py   how a figure is drawn that is like no other
  parts/                the kinds of figures, and what they share
  base.py               the contract, and what a figure is drawn from

A new figure of a kind that is there is a new row.
"""

from __future__ import annotations

import functools
import importlib
import pathlib
import pkgutil
import re
import types

from robust_tfds import errors
from robust_tfds.eval.report.figures import base

ALL = "all"
_PARTS = "parts"


@functools.cache
def papers() -> dict[str, types.ModuleType]:
  """Name of a paper -> its module, in the order of the names."""
  folders = pkgutil.iter_modules([str(pathlib.Path(__file__).parent)])
  return {
    folder.name: importlib.import_module(f"{__name__}.{folder.name}")
    for folder in folders
    if folder.ispkg and folder.name != _PARTS
  }


@functools.cache
def figures() -> tuple[base.PaperFigure, ...]:
  """Every figure and table: by paper, tables first, then by number."""
  return tuple(f for paper in papers() for f in _of_paper(paper))


def select(name: str) -> list[base.PaperFigure]:
  """The figures of a name: `all`, a paper's, or one figure's.

  Raises:
    UserError: an unknown name, with the nearest known one and all of them.
  """
  if name in papers():
    return _of_paper(name)
  chosen = [f for f in figures() if name in (ALL, f.name)]
  if not chosen:
    known = [ALL, *papers(), *(f.name for f in figures())]
    refusal = errors.unknown("figure", name, known)
    raise errors.UserError(f"{refusal} All: python -m eval.figures --list")
  return chosen


def listing() -> str:
  """What there is, a line a figure: name, what it is drawn from, title."""
  lines = []
  for paper, module in papers().items():
    lines.append(f"{paper}: {module.CITATION}")
    for figure in _of_paper(paper):
      lines.append(f"  {figure.name:22} {figure.title} ({figure.status})")
      lines.append(f"  {'':22} data: {figure.source}")
  return "\n".join(lines)


def _of_paper(paper: str) -> list[base.PaperFigure]:
  return sorted(papers()[paper].FIGURES, key=_order)


def _order(figure: base.PaperFigure) -> tuple[bool, int, str]:
  kind, number = re.fullmatch(r"(\D*)(\d*).*", figure.stem).groups()  # type: ignore[union-attr]
  return kind != "t", int(number or 0), figure.name
