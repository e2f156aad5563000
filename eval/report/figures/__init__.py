"""Figures and tables of the papers, from printed numbers and from runs.

  <paper>/<figure>.py   one figure or table: a subclass of `base.PaperFigure`
  <paper>/__init__.py   `CITATION`, which paper it is
  parts/                what several figures share
  base.py               the contract, and what a figure is drawn from

The folders are the registry: `hendrycks/f5.py` is the figure `hendrycks_f5`, and
a new figure is a new file.
"""

from __future__ import annotations

import functools
import importlib
import pathlib
import pkgutil
import re
from collections.abc import Iterator

from robust_tfds import errors, registry
from robust_tfds.eval.report.figures import base

ALL = "all"
_PARTS = "parts"


@functools.cache
def papers() -> dict[str, str]:
  """Folder of a paper -> its citation, in the order of the names."""
  return {
    folder: importlib.import_module(f"{__name__}.{folder}").CITATION
    for folder in sorted(_folders())
  }


@functools.cache
def figures() -> tuple[base.PaperFigure, ...]:
  """Every figure and table: by paper, tables first, then by number."""
  listed = [
    registry.only_class(f"{__name__}.{paper}.{module.name}", base.PaperFigure)()
    for paper in papers()
    for module in pkgutil.iter_modules([str(_root() / paper)])
  ]
  return tuple(sorted(listed, key=_order))


def select(name: str) -> list[base.PaperFigure]:
  """The figures of a name: `all`, a paper's, or one figure's.

  Raises:
    UserError: an unknown name, with the nearest known one and all of them.
  """
  chosen = [f for f in figures() if name in (ALL, f.paper, f.name)]
  if not chosen:
    known = [ALL, *papers(), *(f.name for f in figures())]
    refusal = errors.unknown("figure", name, known)
    raise errors.UserError(f"{refusal} All: python -m eval.figures --list")
  return chosen


def listing() -> str:
  """What there is, a line a figure: name, what it is drawn from, title."""
  lines = []
  for paper, citation in papers().items():
    lines.append(f"{paper}: {citation}")
    for figure in figures():
      if figure.paper == paper:
        lines.append(f"  {figure.name:22} {figure.title} ({figure.status})")
        lines.append(f"  {'':22} data: {figure.source}")
  return "\n".join(lines)


def _root() -> pathlib.Path:
  return pathlib.Path(__file__).parent


def _folders() -> Iterator[str]:
  for module in pkgutil.iter_modules([str(_root())]):
    if module.ispkg and module.name != _PARTS:
      yield module.name


def _order(figure: base.PaperFigure) -> tuple[str, bool, int, str]:
  kind, number = re.fullmatch(r"(\D*)(\d*).*", figure.stem).groups()  # type: ignore[union-attr]
  return figure.paper, kind != "t", int(number or 0), figure.name
