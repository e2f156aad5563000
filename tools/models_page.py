"""Writes docs/MODELS.md: every model, and every checkpoint that is known here.

  python -m tools.models_page

What a model expects its spec says, its paper `models/papers.tsv`, its multiply-adds
`models/gflops.tsv`, its parity `models/parity.tsv`, checkpoints the tables of
`models/convert/known`.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Sequence

from robust_tfds import models
from robust_tfds.models import cards as card_lib
from robust_tfds.models.cards import Card
from robust_tfds.models.spec import KINDS

FILE = pathlib.Path(__file__).parents[1] / "docs" / "MODELS.md"
_HEAD = """\
# Models of the catalogue

Made by `python -m tools.models_page`. `python -m models.card NAME` prints what is here of
one model, and the lines to load and to run it. How models are checked: models/README.md.

GFLOPs: multiply-adds of convolutions and matrix products of one input (a picture, a clip;
of detectors 800 x 800 px), in billions, counted by one rule for all
(`models/multiply_adds.py`). Pixels: a letter of the list of that name below. Names: whose
names of arrays `models.convert.load` knows, besides our own in torch's words. Parity: how
far our float32 logits are from the reference's, over their scale, all weights random.
Top-1: as its source prints it, not measured here. What is empty is not known here.
"""
_COLUMNS = (
  "model",
  "paper",
  "parameters",
  "GFLOPs",
  "input",
  "crop",
  "pixels",
  "weights",
  "names",
  "reference",
  "parity",
)
_CHECKPOINTS = (
  "checkpoint",
  "models",
  "where",
  "sha256",
  "licence",
  "trained on",
  "top-1",
  "crop",
  "pixels",
)


def main() -> None:
  """Writes the page."""
  FILE.write_text(text(), "utf-8")


def text() -> str:
  """The page."""
  cards = [card_lib.of(name) for name in models.names()]
  papers = _numbered(c.paper for c in cards if c.paper)
  pixels = _letters(_pixels(cards))
  parts = [_HEAD]
  for kind in KINDS:
    rows = [_row(c, papers, pixels) for c in cards if c.spec.kind == kind]
    parts.append(f"\n## {kind.capitalize()}\n\n{_table(_COLUMNS, rows)}")
  rows = list(_checkpoint_rows(cards, pixels))
  parts.append(f"\n## Checkpoints\n\n{_table(_CHECKPOINTS, rows)}")
  parts.append("\n## Pixels\n\n")
  parts += [f"- {letter}: {what}\n" for what, letter in pixels.items()]
  parts.append("\n## Papers\n\n")
  parts += [f"{number}. {paper}\n" for paper, number in papers.items()]
  return "".join(parts)


def _row(
  card: Card, papers: dict[str, int], pixels: dict[str, str]
) -> list[str]:
  spec = card.spec
  return [
    card.name,
    str(papers.get(card.paper, "")),
    f"{spec.parameters:,}" if spec.parameters else "",
    "" if spec.gflops is None else f"{spec.gflops:g}",
    card.input,
    card.geometry,
    pixels[card.pixels],
    spec.weights,
    ", ".join(card.styles),
    card.reference,
    card.parity,
  ]


def _checkpoint_rows(
  cards: Sequence[Card], pixels: dict[str, str]
) -> Iterator[list[str]]:
  """A row a checkpoint, in the order of the models."""
  of_name = {c.name: card for card in cards for c in card.checkpoints}
  for name in sorted(of_name):
    card = of_name[name]
    (one,) = (c for c in card.checkpoints if c.name == name)
    own = card_lib.prepared(card, one)
    yield [
      name,
      ", ".join(one.models),
      one.where,
      one.sha256 if len(one.sha256) != 8 else f"{one.sha256}...",
      one.licence,
      one.trained_on,
      card_lib.percent(one.top1),
      own.geometry,
      pixels[own.pixels],
    ]


def _pixels(cards: Sequence[Card]) -> Iterator[str]:
  """The ways of all models, then those of their checkpoints."""
  yield from (card.pixels for card in cards)
  for card in cards:
    for one in card.checkpoints:
      yield card_lib.prepared(card, one).pixels


def _numbered(items: Iterable[str]) -> dict[str, int]:
  return {item: i for i, item in enumerate(sorted(set(items)), 1)}


def _letters(items: Iterable[str]) -> dict[str, str]:
  """In the order in which they come."""
  return {k: chr(ord("A") + i) for i, k in enumerate(dict.fromkeys(items))}


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
  lines = [columns, ["---"] * len(columns), *rows]
  return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
  main()
