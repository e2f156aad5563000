"""A small classifier of everything that training changes: norms and draws."""

from typing import Any

import jax
from flax import nnx

from models import layers
from models import model as model_lib
from models.family import Family
from models.spec import Variant
from robust_tfds import models


class _Network(nnx.Module):
  """A batch norm on pixels, a residual, numbers that drop, a matrix."""

  def __init__(self, *, rate: float, num_classes: int, rngs: nnx.Rngs):
    self.norm = layers.BatchNorm(3, rngs=rngs)
    self.inner = layers.linear(3, 3, rngs=rngs)
    self.drop_path = layers.StochasticDepth(rate)
    self.dropout = layers.Dropout(rate)
    self.head = layers.linear(3, num_classes, rngs=rngs)

  def __call__(self, x: Any) -> jax.Array:
    x = layers.global_mean(self.norm(x))
    return self.head(self.dropout(x + self.drop_path(self.inner(x))))


def model(rate: float = 0.0) -> model_lib.Classifier:
  """Of pictures of 32 px; `rate` is that of both layers that draw."""
  variant = Variant(models.get("digits_linear").spec, {"rate": rate})
  stages = ("norm", "inner|drop_path")
  family = Family(_Network, {"with_norms": variant}, stages=stages)
  return model_lib.Classifier("with_norms", variant.spec, variant, family)
