"""A Python function of a batch, written in jax.

model = adapt(lambda x: my_net(x), spec, name="mine")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from robust_tfds import errors
from robust_tfds.models.adapters import Adapted
from robust_tfds.models.spec import ModelSpec


def adapt(
  function: Callable[[jax.Array], Any],
  spec: ModelSpec,
  *,
  name: str = "callable",
  channels_first: bool = False,
  output: str | int | None = None,
) -> Adapted:
  """Wraps `function(batch) -> logits`.

  Args:
    function: float32 `[B, H, W, 3]`, preprocessed as the spec says -> `[B,
      classes]`; made of jax operations.
    spec: what it expects and answers.
    name: what reports call it.
    channels_first: give it `[B, 3, H, W]`.
    output: which of several outputs are the logits.

  Raises:
    UserError: not callable, or no spec.
  """
  if not callable(function):
    raise errors.UserError(
      f"Got {type(function).__name__}, expected a function."
    )
  return Adapted(
    name,
    spec,
    lambda _, *batch: function(*batch),
    channels_first=channels_first,
    output=output,
    code=function,
  )
