"""Barriers that make XLA's CPU compiler compute an intermediate result once.

Fusion recomputes an expression in each of its readers: two 3x3 stencils in a
row cost 81 evaluations an element instead of 18. `optimization_barrier` is gone
by the time CPU fusion runs; a branch that the compiler cannot decide is not.

`keep` costs a copy of its value, as the result of a branch is not the branch's
argument. `stored` costs none: the branch computes its result in place.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import platforms


def keep(value: jax.Array, natural: jax.Array) -> jax.Array:
  """Return a value that its readers do not recompute, since it is stored for them.

  Args:
    value: any array.
    natural: a traced number that is never negative, such as the severity; the
      compiler does not know that, so it keeps the branch.
  """

  def stored(value: jax.Array, natural: jax.Array) -> jax.Array:
    return jax.lax.cond(natural >= 0, lambda v: v, jnp.zeros_like, value)

  def fused(value: jax.Array, natural: jax.Array) -> jax.Array:
    del natural
    return value

  return platforms.dependent(value, natural, cpu=stored, default=fused)


def stored(
  function: Callable[..., jax.Array], natural: jax.Array, *arrays: jax.Array
) -> jax.Array:
  """Store the result of `function(*arrays)` like `keep`, without the copy.

  On accelerators the result is followed by a barrier.

  Args:
    function: a function from arrays to an array.
    natural: as for `keep`.
    *arrays: arguments of the function.
  """
  result = jax.eval_shape(function, *arrays)

  def branch(natural: jax.Array, *arrays: jax.Array) -> jax.Array:
    def never(*arrays: jax.Array) -> jax.Array:
      del arrays
      return jnp.zeros(result.shape, result.dtype)

    return jax.lax.cond(natural >= 0, function, never, *arrays)

  def barrier(natural: jax.Array, *arrays: jax.Array) -> jax.Array:
    del natural
    return jax.lax.optimization_barrier(function(*arrays))

  return platforms.dependent(natural, *arrays, cpu=branch, default=barrier)


def hidden(constant: jax.typing.ArrayLike, data: jax.Array) -> jax.Array:
  """Return a constant that the compiler must treat as data.

  `natural` of the functions above must not be known when compiling.

  Args:
    constant: any array.
    data: uint8, traced, of at least one element.
  """
  first = jax.lax.slice(data, [0] * data.ndim, [1] * data.ndim)
  never = first.reshape(()).astype(jnp.int32) < 0
  # Not 0: the compiler compares both arms.
  return jnp.where(never, -1, constant)
