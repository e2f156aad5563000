"""Figures and tables of the papers, from printed numbers and from runs.

  <paper>/figures.json  the paper's `citation`, and its `figures`: a row has the
                        file of its `kind` and values for attributes of its class
  <paper>/<figure>.py   a figure that is like no other
  parts/                the kinds of figures, and what they share
  base.py               the contract, and the data of a figure

A new figure of an existing kind is a new row.
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
  """A paper and its figures.

  Attributes:
    citation: authors, title and place.
    figures: tables first, then by number.
  """

  citation: str
  figures: list[base.PaperFigure]


@functools.cache
def papers() -> dict[str, Paper]:
  """Return name -> paper, in the order of the names."""
  files = sorted(pathlib.Path(__file__).parent.glob("*/figures.json"))
  return {file.parent.name: _paper(reading.json_file(file)) for file in files}


@functools.cache
def figures() -> tuple[base.PaperFigure, ...]:
  """Return every figure and table: by paper, tables first, then by number."""
  return tuple(f for paper in papers().values() for f in paper.figures)


def select(name: str) -> list[base.PaperFigure]:
  """Return the figures of a name: `all`, a paper's or a figure's.

  Raises:
    UserError: an unknown name.
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
  """Return a list of all figures with their titles and sources."""
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
  """Return a row's figure, of the class in the kind's file."""
  import pydantic

  kind_class = registry.only_class(f"{__name__}.{kind}", base.PaperFigure)
  return pydantic.TypeAdapter(kind_class).validate_python(row)


def _order(figure: base.PaperFigure) -> tuple[bool, int, str]:
  kind, number = re.fullmatch(r"(\D*)(\d*).*", figure.stem).groups()  # type: ignore[union-attr]
  return kind != "t", int(number or 0), figure.name
