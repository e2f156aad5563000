"""CoTTA's augmented views: one random change for all pictures of a batch.

Colour, a small affine map, a blur, a flip and noise, in this order, with the
ranges of the CIFAR code of qinenergy/cotta.

DEVIATION: a view is rounded to 8 bits, as networks take pictures; the noise alone
is larger.
"""

import jax
import jax.numpy as jnp
import numpy as np

_GREY = np.array([0.299, 0.587, 0.114], np.float32)
# Ranges of the factors of brightness, contrast, saturation, hue and gamma.
_COLOUR = np.array(
  [(0.6, 1.4), (0.7, 1.3), (0.5, 1.5), (-0.06, 0.06), (0.7, 1.3)], np.float32
)
_DEGREES, _SHIFT, _SCALE = 15.0, 1 / 16, (0.9, 1.1)
_SIGMA = (0.001, 0.5)
_NOISE = 0.005


def view(images: jax.Array, key: jax.Array) -> jax.Array:
  """Return a view of a batch.

  Args:
    images: uint8 `[B, H, W, 3]`.
    key: a JAX key.

  Returns:
    uint8 `[B, H, W, 3]`.
  """
  colour, affine, blur, flip, noise = jax.random.split(key, 5)
  x = images.astype(jnp.float32) / 255
  x = _blurred(_moved(_coloured(x, colour), affine), blur)
  x = jnp.where(jax.random.bernoulli(flip), x[:, :, ::-1], x)
  x = x + _NOISE * jax.random.normal(noise, x.shape)
  return jnp.round(jnp.clip(x, 0, 1) * 255).astype(jnp.uint8)


def _coloured(x: jax.Array, key: jax.Array) -> jax.Array:
  """Change brightness, contrast, saturation, hue and gamma in random order."""
  order_key, factor_key = jax.random.split(key)
  low, high = _COLOUR.T
  factors = low + (high - low) * jax.random.uniform(factor_key, (len(_COLOUR),))
  changes = (_brightness, _contrast, _saturation, _hue, _gamma)
  for index in jax.random.permutation(order_key, len(changes)):
    x = jnp.clip(jax.lax.switch(index, changes, x, factors[index]), 0, 1)
  return x


def _brightness(x: jax.Array, factor: jax.Array) -> jax.Array:
  return x * factor


def _contrast(x: jax.Array, factor: jax.Array) -> jax.Array:
  mean = (x @ _GREY).mean((1, 2))[:, None, None, None]
  return factor * x + (1 - factor) * mean


def _saturation(x: jax.Array, factor: jax.Array) -> jax.Array:
  return factor * x + (1 - factor) * (x @ _GREY)[..., None]


def _gamma(x: jax.Array, factor: jax.Array) -> jax.Array:
  return jnp.maximum(x, 0) ** factor


def _hue(x: jax.Array, turn: jax.Array) -> jax.Array:
  """Turn the hue of HSV by a share of the circle."""
  top, low = x.max(-1), x.min(-1)
  spread = top - low
  safe = jnp.where(spread == 0, 1, spread)
  red, green, blue = ((top - x[..., i]) / safe for i in range(3))
  sector = jnp.where(
    x[..., 0] == top,
    blue - green,
    jnp.where(x[..., 1] == top, 2 + red - blue, 4 + green - red),
  )
  hue = jnp.mod(sector / 6 + turn, 1) * 6
  # Each channel falls from the top by how far the hue is from its own.
  away = jnp.abs(jnp.mod(hue[..., None] - np.array([0, 2, 4]) + 3, 6) - 3)
  return top[..., None] - spread[..., None] * jnp.clip(away - 1, 0, 1)


def _moved(x: jax.Array, key: jax.Array) -> jax.Array:
  """Turn, shift and scale about the centre; borders are continued."""
  u = jax.random.uniform(key, (4,), minval=-1)
  height, width = x.shape[1:3]
  angle = jnp.deg2rad(_DEGREES) * u[0]
  down, across = (
    jnp.round(_SHIFT * n * v) for n, v in ((height, u[1]), (width, u[2]))
  )
  scale = _SCALE[0] + (_SCALE[1] - _SCALE[0]) * (u[3] + 1) / 2
  y = jnp.arange(height)[:, None] - (height - 1) / 2 - down
  x_at = jnp.arange(width)[None] - (width - 1) / 2 - across
  cos, sin = jnp.cos(angle) / scale, jnp.sin(angle) / scale
  rows = cos * y - sin * x_at + (height - 1) / 2
  columns = sin * y + cos * x_at + (width - 1) / 2

  def sample(channel: jax.Array) -> jax.Array:
    return jax.scipy.ndimage.map_coordinates(
      channel, [rows, columns], order=1, mode="nearest"
    )

  over = jax.vmap(jax.vmap(sample, in_axes=-1, out_axes=-1))
  return over(x)


def _blurred(x: jax.Array, key: jax.Array) -> jax.Array:
  """Blur by five taps of a Gaussian, borders mirrored."""
  low, high = _SIGMA
  sigma = low + (high - low) * jax.random.uniform(key)
  weights = jnp.exp(-0.5 * (jnp.arange(-2, 3) / sigma) ** 2)
  weights = weights / weights.sum()
  for axis in (1, 2):
    pad = [(0, 0)] * 4
    pad[axis] = (2, 2)
    wide = jnp.pad(x, pad, mode="reflect")
    length = x.shape[axis]
    x = sum(
      w * jax.lax.slice_in_dim(wide, i, i + length, axis=axis)
      for i, w in enumerate(weights)
    )
  return x
