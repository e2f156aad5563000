"""Makes XLA's CPU compiler compute an intermediate result once.

Fusion recomputes an expression in each of its readers: two 3x3 stencils in a
row cost 81 evaluations an element instead of 18. `optimization_barrier` is gone
by the time CPU fusion runs; a branch that the compiler cannot decide is not.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def keep(value: jax.Array, natural: jax.Array) -> jax.Array:
  """`value`, stored before anything reads it.

  Args:
    value: any array.
    natural: a traced number that is never negative, such as the severity.
  """

  def stored(value: jax.Array, natural: jax.Array) -> jax.Array:
    return jax.lax.cond(natural >= 0, lambda v: v, jnp.zeros_like, value)

  def fused(value: jax.Array, natural: jax.Array) -> jax.Array:
    del natural
    return value

  return jax.lax.platform_dependent(value, natural, cpu=stored, default=fused)
