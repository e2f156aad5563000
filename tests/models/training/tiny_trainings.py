"""Tiny trainings: a network of a batch norm and a matrix, on pictures of two kinds."""

import types
from collections.abc import Iterator
from typing import Any

import ml_collections
import numpy as np
from flax import nnx

from models import layers
from models import model as model_lib
from models.family import Family
from models.spec import Variant
from models.training import config as config_lib
from models.training import recipes, run
from robust_tfds import conditions, models

_PX = 32


class _Network(nnx.Module):
  """A batch norm on pixels, then a matrix."""

  def __init__(self, *, num_classes, rngs):
    self.norm = layers.BatchNorm(3, rngs=rngs)
    self.head = layers.linear(3, num_classes, rngs=rngs)

  def __call__(self, x):
    return self.head(layers.global_mean(self.norm(x)))


def network() -> model_lib.Classifier:
  """The network, of two classes."""
  variant = Variant(models.get("digits_linear").spec.with_classes(2))
  family = Family(_Network, {"tiny": variant}, stages=("norm",))
  return model_lib.Classifier("tiny", variant.spec, variant, family)


class Source:
  """Dark and bright pictures, batched as `models/training/data` batches them."""

  name, kind, classes, digest = "tones", "pictures", ("dark", "bright"), "5e"
  config = types.SimpleNamespace()

  def __init__(self, count: int = 24, validation: int = 0):
    """So many examples to train on, and to choose on."""
    rng = np.random.default_rng(0)
    total = count + validation
    noise = rng.integers(0, 60, (total, _PX, _PX, 3))
    self.label = (np.arange(total) % 2).astype(np.int32)
    tones = 180 * self.label[:, None, None, None]
    self.image = (noise + tones).astype(np.uint8)
    self.num_examples = count
    self._parts = {
      "train": np.arange(count),
      "validation": np.arange(count, total),
    }

  def steps(self, batch_size: int, split="train", remainder="drop") -> int:
    """Batches of an epoch."""
    count = len(self._parts[split])
    return (
      count // batch_size if remainder == "drop" else -(-count // batch_size)
    )

  def batches(
    self, *, batch_size, seed, epoch, start=0, host=(0, 1), split="train", **_
  ) -> Iterator[dict[str, Any]]:
    """As `models.training.data.Source.batches`, of one host."""
    assert host == (0, 1)
    rows = self._parts[split]
    if split == "train":
      rows = np.random.default_rng([seed, epoch]).permutation(rows)
      rows = rows[: len(rows) // batch_size * batch_size]
    for begin in range(start, len(rows), batch_size):
      part = rows[begin : begin + batch_size]
      ids = [f"e{i}" for i in part]
      yield {
        "image": self.image[part],
        "label": self.label[part],
        "key": conditions.raw_keys(seed, "tones", "train", epoch, ids),
        "id": ids,
      }


def joined(recipe: Any, batch: dict[str, Any]) -> dict[str, Any]:
  """A batch with what a recipe adds to its examples, as `data.Source` adds it."""
  copies = np.arange(len(batch["key"])) % recipe.copies
  more = []
  for i, key in enumerate(batch["key"]):
    item = {name: array[i] for name, array in batch.items()}
    more.append(recipe.extra_arrays(item, key, key ^ 1, int(copies[i])))
  extras = {name: np.stack([row[name] for row in more]) for name in more[0]}
  return {**batch, **extras}


def config(**changes: Any) -> config_lib.Config:
  """Of the tiny network: 12 steps, a checkpoint every 5; changes by dotted keys."""
  made = ml_collections.ConfigDict(
    {
      "model": {"name": "tiny"},
      "data": {"source": "tones"},
      "recipe": {"name": "standard", "flip": True, "crop_px": 2},
      "optimizer": {"name": "sgd", "learning_rate": 0.5, "momentum": 0.9},
      "schedule": {"name": "cosine"},
      "keep": {"every": 5, "log": 3},
      "steps": 12,
      "batch_size": 8,
      "seed": 3,
    }
  )
  for key, value in changes.items():
    *groups, name = key.split("__")
    place = made
    for group in groups:
      place = place[group]
    place[name] = value
  return config_lib.parse(made)


def prepared(source: Source | None = None, **changes: Any) -> run.Prepared:
  """The tiny training, prepared."""
  import jax

  made, model = config(**changes), network()
  return run.Prepared(
    made,
    model,
    recipes.make_recipe(made.recipe),
    source or Source(),
    model.init(jax.random.key(made.seed)),
  )
