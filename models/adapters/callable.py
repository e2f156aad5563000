"""A Python function of a batch, written in jax.

model = adapt(lambda x: my_net(x), spec, name="mine")
"""

from __future__ import annotations

from collections.abc import Callable

import jax

from robust_tfds import errors
from robust_tfds.models.adapters import Adapted
from robust_tfds.models.spec import Spec


def adapt(
  function: Callable[[jax.Array], jax.Array],
  spec: Spec,
  *,
  name: str = "callable",
) -> Adapted:
  """Wraps `function(batch) -> logits`.

  Args:
    function: float32 `[B, H, W, 3]`, preprocessed as the spec says -> `[B,
      classes]`; made of jax operations.
    spec: what it expects and answers.
    name: what reports call it.

  Raises:
    UserError: not callable.
  """
  if not callable(function):
    raise errors.UserError(
      f"Got {type(function).__name__}, expected a function."
    )
  return Adapted(name, spec, lambda _, batch: function(batch))
