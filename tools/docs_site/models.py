"""The generated part of docs/evidence/MODELS.md: every model by kind and paper.

A model's entry is its card, as `robust-tfds card` prints it; the field above them
leaves those whose card has all words that are typed (`docs/_static/site.js`).
"""

from __future__ import annotations

import html
import itertools

from models import cards
from models.cards import Card
from models.spec import KINDS
from robust_tfds import models

_FIELD = """
<label class="filter">Only models whose card has these words
<input type="search" data-filter="details.model" placeholder="vit apache-2.0"></label>
"""
_NO_PAPER = "Of this package"


def text() -> str:
  """Return the entries."""
  listed = sorted(map(cards.make, models.names()), key=_place)
  parts = [_FIELD]
  for kind, of_kind in itertools.groupby(
    listed, key=lambda card: card.spec.kind
  ):
    parts.append(f"\n## {kind.capitalize()}\n")
    for paper, members in itertools.groupby(
      of_kind, key=lambda card: card.paper
    ):
      parts.append(f"\n### {paper or _NO_PAPER}\n")
      parts += map(_entry, members)
  absent = [f"`{card.name}`" for card in listed if not card.parity]
  parts.append(
    f"\n## Not compared with a reference: {len(absent)} of {len(listed)}\n"
  )
  parts.append(f"\n{', '.join(absent)}\n")
  return "".join(parts)


def _place(card: Card) -> tuple[int, str, str]:
  return KINDS.index(card.spec.kind), card.paper, card.name


def _entry(card: Card) -> str:
  count = card.spec.parameters
  words = (
    f"{count:,} parameters" if count else "",
    card.input,
    f"checkpoints: {len(card.checkpoints)}" if card.checkpoints else "",
  )
  facts = html.escape(", ".join(filter(None, words)))
  return (
    f'\n<details class="model" id="{card.name}"><summary><code>{card.name}</code>'
    f" <small>{facts}</small></summary>\n\n```text\n{cards.text(card)}```\n\n"
    "</details>\n"
  )
