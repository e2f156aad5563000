"""Figures and tables of the papers, from printed numbers and from runs.

  <paper>/figures.json  `citation`, which paper it is; `figures`, a row each: the
                        file of its `kind` below this folder, and what it sets of
                        the attributes that the kind's class has
  <paper>/<figure>.py   how a figure is drawn that is like no other
  parts/                the kinds of figures, and what they share
  base.py               the contract, and what a figure is drawn from

A new figure of a kind that is there is a new row.
"""

import dataclasses
import functools
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from eval.report.figures import base
from robust_tfds import errors, reading, registry

ALL = "all"


@dataclasses.dataclass(frozen=True)
class Paper:
  """A paper.

  Attributes:
    citation: which one it is.
    figures: tables first, then by number.
  """

  citation: str
  figures: list[base.PaperFigure]


@functools.cache
def papers() -> dict[str, Paper]:
  """Name of a paper -> what is drawn of it, in the order of the names."""
  files = sorted(pathlib.Path(__file__).parent.glob("*/figures.json"))
  return {file.parent.name: _paper(reading.json_file(file)) for file in files}


@functools.cache
def figures() -> tuple[base.PaperFigure, ...]:
  """Every figure and table: by paper, tables first, then by number."""
  return tuple(f for paper in papers().values() for f in paper.figures)


def select(name: str) -> list[base.PaperFigure]:
  """The figures of a name: `all`, a paper's, or one figure's.

  Raises:
    UserError: an unknown name, with the nearest known one and all of them.
  """
  if name in papers():
    return papers()[name].figures
  chosen = [f for f in figures() if name in (ALL, f.name)]
  if not chosen:
    known = [ALL, *papers(), *(f.name for f in figures())]
    refusal = errors.unknown_error("figure", name, known)
    raise errors.UserError(f"{refusal} All: robust-tfds figures --list")
  return chosen


def listing() -> str:
  """What there is, a line a figure: name, what it is drawn from, title."""
  lines = []
  for name, paper in papers().items():
    lines.append(f"{name}: {paper.citation}")
    for figure in paper.figures:
      lines.append(f"  {figure.name:22} {figure.title} ({figure.status})")
      lines.append(f"  {'':22} data: {figure.source}")
  return "\n".join(lines)


def _paper(facts: Mapping[str, Any]) -> Paper:
  listed = [_figure(**row) for row in facts["figures"]]
  return Paper(facts["citation"], sorted(listed, key=_order))


def _figure(kind: str, **row: Any) -> base.PaperFigure:
  """A row's figure, of the class that the kind's file defines."""
  import pydantic

  kind_class = registry.only_class(f"{__name__}.{kind}", base.PaperFigure)
  return pydantic.TypeAdapter(kind_class).validate_python(row)


def _order(figure: base.PaperFigure) -> tuple[bool, int, str]:
  kind, number = re.fullmatch(r"(\D*)(\d*).*", figure.stem).groups()  # type: ignore[union-attr]
  return kind != "t", int(number or 0), figure.name
