"""Variables of a model for tests: random numbers, or shapes alone; boxes.

`Model.init` compiles every initializer, which takes longer than the tests.
"""

import dataclasses
from typing import Any

import jax
import numpy as np

from models import model as model_lib
from models import variables as variables_lib
from models.variables import Variables


def variables(model: model_lib.NetworkModel) -> Variables:
  """Random variables of the right shapes; statistics are positive."""
  rng = np.random.default_rng(0)
  flat = {}
  for path, shape in model.shapes().items():
    spread = np.sqrt(2 / max(np.prod(shape[:-1]), 1))
    flat[path] = rng.normal(0, spread, shape).astype(np.float32)
    if path[-1] in ("scale", "var"):
      flat[path] = rng.uniform(0.5, 1.5, shape).astype(np.float32)
  return variables_lib.nest(flat)


def with_options(
  model: model_lib.NetworkModel, **options: Any
) -> model_lib.NetworkModel:
  """The model with other options of its network, e.g. fewer blocks."""
  changed = {**model.variant.options, **options}
  variant = dataclasses.replace(model.variant, options=changed)
  return dataclasses.replace(model, variant=variant)


def abstract(model: model_lib.NetworkModel) -> Variables:
  """Shapes and dtypes alone, for `jax.eval_shape`."""
  return variables_lib.nest(
    {
      path: jax.ShapeDtypeStruct(shape, np.float32)
      for path, shape in model.shapes().items()
    }
  )


def boxes(rng: np.random.Generator, count: int, side: int = 100) -> np.ndarray:
  """float32 `[count, 4]`: boxes in a square, most of them inside of it."""
  corner = rng.uniform(0, side - 20, (count, 2))
  size = rng.uniform(4, 40, (count, 2))
  return np.concatenate([corner, corner + size], 1).astype(np.float32)
