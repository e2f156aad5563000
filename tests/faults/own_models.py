"""Own models for configs, `tests.faults.own_models:large`: without weights."""

import functools
from typing import Any

from models import adapters
from models import spec as spec_lib


def _logits(classes: int, images: Any) -> Any:
  import jax.numpy as jnp

  level = jnp.mean(images.astype(jnp.float32), (1, 2, 3))
  return jnp.cos(level[:, None] * jnp.arange(classes))


def _model(name: str, side: int, classes: int) -> Any:
  spec = spec_lib.Spec(input_px=side, resize_px=side, num_classes=classes)
  call = functools.partial(_logits, classes)
  return adapters.get("callable")(call, spec, name=name)


def large() -> Any:
  """ImageNet's classes at 224 px."""
  return _model("large", 224, 1000)


def inception() -> Any:
  """ImageNet's classes at 299 px."""
  return _model("inception", 299, 1000)


def tiny() -> Any:
  """Tiny ImageNet's classes."""
  return _model("tiny", 64, 200)


def small() -> Any:
  """CIFAR-10's classes."""
  return _model("small", 32, 10)
