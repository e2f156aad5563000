"""disclosure.json: what a network was trained on and how, as boards show it.

The held-out rule: a network that saw a benchmark's condition in training is no
entry like others. So a recipe that shows one is refused unless the config says
`allow_benchmark_conditions=True`, and then the conditions stand here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from etils import epath

from robust_tfds import conditions, errors, reading, version
from robust_tfds.records import Record
from robust_tfds.storage import disk

if TYPE_CHECKING:
  from robust_tfds.models.training.config import Config
  from robust_tfds.models.training.recipes import base

FILE = "disclosure.json"
_OWN = "own"  # the set of a user's corruptions, of no benchmark


class Disclosure(Record):
  """What a file says.

  Attributes:
    model: name of the network.
    classes: names in label order.
    data: what was trained on, in words: `digits train`.
    examples: how many.
    conditions: of benchmarks, that training showed; sorted.
    severities: of them.
    pictures: what was mixed in, in words.
    recipe: `config.recipe`.
    steps: of training.
    batch_size: examples of a step.
    seed: of the data's order, of all draws, of random initial weights.
    checkpoint: what training began with; empty: random weights.
    initial: sha256 of the initial weights.
    weights: sha256 of weights.npz.
    code: version of the package.
  """

  model: str
  classes: list[str]
  data: str
  examples: int
  conditions: list[str]
  severities: list[int]
  pictures: str
  recipe: dict[str, Any]
  steps: int
  batch_size: int
  seed: int
  checkpoint: str
  initial: str
  weights: str
  code: str = version.VERSION

  @property
  def trained_on(self) -> str:
    """One line, as boards show it."""
    recipe = self.recipe["name"]
    began = f", from {self.checkpoint}" if self.checkpoint else ""
    mixed = f", {self.pictures}" if self.pictures else ""
    return f"{self.data}: {recipe}{mixed}, {self.steps:,} steps{began}"

  def write(self, workdir: epath.Path) -> None:
    """Writes the file."""
    text = json.dumps(self.model_dump(), indent=1, sort_keys=True)
    disk.write_text(workdir / FILE, f"{text}\n")


def read(workdir: epath.Path) -> Disclosure | None:
  """What a folder's file says; None where there is none.

  Raises:
    UserError: it is damaged.
  """
  path = workdir / FILE
  if not disk.exists(path):
    return None
  return reading.records(reading.json_file(path), Disclosure, str(path))


def data_in_words(config: Config) -> str:
  """`digits train`; of a path its last name."""
  kind, colon, place = config.data.source.partition(":")
  name = place.rstrip("/").rpartition("/")[2] if colon else kind
  return f"{name} {config.data.split}"


def check(config: Config, recipe: base.Recipe) -> None:
  """Refuses a recipe that shows conditions of a benchmark, unless it is allowed.

  Raises:
    UserError: names them.
  """
  shown = of_benchmarks(recipe.disclosure()["conditions"])
  if shown and not config.allow_benchmark_conditions:
    raise errors.UserError(
      f"config.recipe: it trains on {', '.join(shown)}, which benchmarks test on."
      " A network that saw them is not comparable with others. Say"
      " --config.allow_benchmark_conditions=True where that is what you study:"
      " its rows are marked then, and name them."
    )


def of_benchmarks(names: Sequence[str]) -> list[str]:
  """Those names that are conditions of a benchmark, sorted."""
  rows = [r for f in conditions.FAMILIES.values() for r in f.rows]
  tested = {row.name for row in rows if row.set != _OWN}
  return sorted(tested & set(names))
