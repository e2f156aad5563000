"""Print the card of a model.

  robust-tfds card resnet50
  robust-tfds card 'vit*'         # the names that fit

A card has the paper, size, cost, preprocessing and labels of a model, how it was
checked, its published checkpoints, and the lines to load and run it. NAME is one of
`models.names()`; `'*'` lists them all.
"""

from collections.abc import Sequence

from absl import app

from robust_tfds import command


def define_flags() -> None:
  """Define no flags: the command has none of its own."""


def main(argv: Sequence[str]) -> None:
  """Print the card of a model, or the names that fit a pattern."""
  from models import cards, catalogue

  if len(argv) != 2:
    raise app.UsageError("Name one model, e.g. resnet50.")
  name = argv[1]
  fitting = catalogue.names(name) if "*" in name else ()
  print("\n".join(fitting) or cards.text(cards.make(name)).rstrip())


if __name__ == "__main__":
  command.run(main, define_flags)
