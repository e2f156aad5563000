"""Prints what is known of a model.

  robust-tfds card resnet50

Its paper, size and cost, what it expects and answers, how it was checked, which
published checkpoints are known here, and the lines to load and to run it. NAME is
one of `models.names()`; docs/MODELS.md lists them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from absl import app

from robust_tfds import command


def define_flags() -> None:
  """Every command's alone."""


def main(argv: Sequence[str]) -> None:
  """Prints the card of a model."""
  from robust_tfds.models import cards

  if len(argv) != 2:
    raise app.UsageError("Name one model, e.g. resnet50.")
  print(cards.text(cards.of(argv[1])), end="")


if __name__ == "__main__":
  command.run(main, define_flags)
