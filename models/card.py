"""Prints what is known of a model.

  robust-tfds card resnet50
  robust-tfds card 'vit*'         # the names that fit

Its paper, size and cost, what it expects and answers, how it was checked, which
published checkpoints are known here, and the lines to load and to run it. NAME is
one of `models.names()`; `'*'` lists them all.
"""

from collections.abc import Sequence

from absl import app

from robust_tfds import command


def define_flags() -> None:
  """Every command's alone."""


def main(argv: Sequence[str]) -> None:
  """Prints the card of a model, or the names that fit a pattern."""
  from models import cards, catalogue

  if len(argv) != 2:
    raise app.UsageError("Name one model, e.g. resnet50.")
  name = argv[1]
  fitting = catalogue.names(name) if "*" in name else ()
  print("\n".join(fitting) or cards.text(cards.of(name)).rstrip())


if __name__ == "__main__":
  command.run(main, define_flags)
