"""Impulse noise (salt and pepper): values set to 0 or 1, channel by channel.

docs/evidence/specs/corruptions.md section 3: skimage's `random_noise(mode="s&p")` flips
each value with probability `amount` and then tosses a fair coin for salt or
pepper, both per element, so the channels of a pixel are independent.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import layout

SEVERITIES = {  # probability that a value is replaced
  "imagenet": (0.03, 0.06, 0.09, 0.17, 0.27),
  "inception": (0.04, 0.07, 0.10, 0.18, 0.28),
  "tiny_imagenet": (0.01, 0.02, 0.05, 0.08, 0.14),
  "cifar10": (0.01, 0.02, 0.03, 0.05, 0.07),
}
SEVERITIES["ccc"] = spec.quarters(0, SEVERITIES["imagenet"])


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `amount` as a threshold on 31-bit words, uint32 `[5]`."""
  amount = np.array(edition.row(SEVERITIES), np.float64)
  return {"amount": np.round(amount * 2**31).astype(np.uint32)}


def draw(scene: plugins.Scene) -> tuple[jax.Array, jax.Array]:
  """Draw (flip, salt), bool `[H, W * 3]`: one random word decides both."""
  words = seeding.bits(scene.key, layout.flat(scene.image).shape)
  return (words >> 1) < scene.table["amount"], (words & 1) == 1


def apply(
  scene: plugins.Scene, draws: tuple[jax.Array, jax.Array]
) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`; `draws` are (flip, salt) as from `draw`."""
  flip, salt = (layout.flat(d) for d in draws)
  extreme = jnp.where(salt, jnp.uint8(255), jnp.uint8(0))
  return jnp.where(flip, extreme, layout.flat(scene.image))


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
)
