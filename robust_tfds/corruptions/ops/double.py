"""Float64 for the levels that the last bit of the authors' float64 decides.

Truncation turns k - 1e-14 into k - 1, and resampling often gives whole levels in
exact arithmetic; float32 is then off by one in up to 9 % of a frame. The few
functions that need it compute in float64 inside `jax.enable_x64(True)`, on
constants that travel as bits through a JAX that otherwise knows float32 alone,
and keep the compiler from fusing a product into the sum that follows.
"""

import jax
import jax.numpy as jnp
import numpy as np


def bits(values: np.ndarray) -> np.ndarray:
  """Return float64 `[...]` as int32 `[..., 2]`, on the host."""
  return np.ascontiguousarray(values, np.float64)[..., None].view(np.int32)


def value(stored: jax.Array) -> jax.Array:
  """Convert `bits` back to float64, inside `jax.enable_x64(True)`."""
  return jax.lax.bitcast_convert_type(stored, jnp.float64)


def run_time_zero(stored: jax.Array) -> jax.Array:
  """Return an int64 0 that the compiler cannot know, from any traced integers."""
  with jax.enable_x64(True):
    return (stored.reshape(-1)[0] & 0).astype(jnp.int64)


def rounded(product: jax.Array, zero: jax.Array) -> jax.Array:
  """Round a product on its own, never fused into a multiply-add."""
  stored = jax.lax.bitcast_convert_type(product, jnp.int64)
  return jax.lax.bitcast_convert_type(stored ^ zero, jnp.float64)


def scaled_int(x: jax.Array, places: int) -> jax.Array:
  """Round x times 2**places to int32, for |x| below 2**(31 - places).

  XLA's own conversion tests every value for NaN and both ends of int32.
  """
  shifted = x + 1.5 * 2.0 ** (52 - places)  # its last bit is 2**-places
  stored = jax.lax.bitcast_convert_type(shifted, jnp.int64)
  return stored.astype(jnp.int32)


def quotient(a: jax.Array, b: jax.typing.ArrayLike) -> jax.Array:
  """Compute a / b as float32, correctly rounded.

  XLA turns a float32 division by a constant or a scalar into a product with the
  reciprocal, which may be off in the last bit.
  """
  with jax.enable_x64(True):
    exact = a.astype(jnp.float64) / jnp.asarray(b).astype(jnp.float64)
    return exact.astype(jnp.float32)
