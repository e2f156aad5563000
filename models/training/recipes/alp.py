"""Adversarial logit pairing, and with other weights adversarial training.

Kannan et al. 2018, arXiv:1803.06373, as tensorflow/models has it
(docs/evidence/specs/training.md section 2): the cross-entropy, its mean over clean and
adversarial pictures together, + w mean((z_clean - z_adversarial)^2), on pixels
that targeted PGD finds with the network in evaluation mode. Both halves share
one forward pass and the statistics of its norms. Attacked pixels stay floats.
An attack is no condition of a benchmark.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import optax

from models.training import pgd
from models.training.recipes import base
from robust_tfds import errors, settings

_TARGETS = ("least_likely", "random")
_START, _TARGET = 0, 1  # streams
_Bound: Any = settings.between(0.001, 255)
_Step: Any = settings.between(0, 255)
_Steps: Any = settings.between(1, 1000, int)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Alp(base.Recipe):
  """The recipe of this file; the defaults are the attack `pgdll_16_2_10`.

  Attributes:
    weight: weight of the logits' mean squared difference.
    clean: weight of clean pictures in the cross-entropy's mean, beside 1 for
      attacked ones; with 0 here and in `weight` the network is shown no clean
      pictures, as in adversarial training.
    target: the class that an attack aims at: `least_likely`, or a `random`
      wrong one.
    bound: bound of the attack, in levels of 255.
    step: step of the attack, in levels of 255.
    steps: number of steps of the attack.
  """

  weight: base.Weight = 0.5
  clean: base.Weight = 1.0
  target: str = "least_likely"
  bound: _Bound = 16.0
  step: _Step = 2.0
  steps: _Steps = 10

  def __post_init__(self) -> None:
    """Refuse an unknown target."""
    if self.target not in _TARGETS:
      raise errors.unknown_error(
        "target of config.recipe (alp)", self.target, _TARGETS
      )

  @property
  def passes(self) -> int:
    """The gradients of a step: the attack's, and those of what is then shown."""
    return self.steps + (2 if self.paired else 1)

  @property
  def paired(self) -> bool:
    """Whether the network is shown clean pictures too."""
    return bool(self.weight or self.clean)

  def network_inputs(
    self,
    apply_train: base.ApplyTrain,
    variables: base.Variables,
    batch: base.Batch,
  ) -> jax.Array:
    """Return the clean pictures, if the loss uses them, then the attacked ones.

    The result is float32 `[2 * B, H, W, 3]` in [0, 1], or `[B, H, W, 3]`.
    """
    still = jax.lax.stop_gradient(variables)
    answers = lambda pixels: apply_train(still, pixels, None)[0]
    keys, label = batch["key"], batch["label"]
    clean = self.views(batch) / jnp.float32(255)
    target = self._targets(answers(clean), label, base.stream(keys, _TARGET))

    def far(pixels: jax.Array) -> jax.Array:
      return optax.softmax_cross_entropy_with_integer_labels(
        answers(pixels), target
      )

    attacked = pgd.descend(
      far,
      clean,
      base.stream(keys, _START),
      bound=self.bound / 255,
      step=self.step / 255,
      steps=self.steps,
    )
    return jnp.concatenate([clean, attacked]) if self.paired else attacked

  def logits_loss(
    self, logits: jax.Array, label: jax.Array
  ) -> tuple[jax.Array, base.Numbers]:
    """Compute the loss, and `error` on clean pictures or `adversarial_error`."""
    if not self.paired:
      loss, numbers = super().logits_loss(logits, label)
      return loss, {"adversarial_error": numbers["error"]}
    clean, attacked = jnp.split(logits, 2)
    clean_loss, numbers = super().logits_loss(clean, label)
    attacked_loss, others = super().logits_loss(attacked, label)
    pairing = jnp.mean(jnp.square(clean - attacked))
    numbers |= {"adversarial_error": others["error"], "pairing": pairing}
    entropy = (self.clean * clean_loss + attacked_loss) / (self.clean + 1)
    return entropy + self.weight * pairing, numbers

  def _targets(
    self, logits: jax.Array, label: jax.Array, keys: jax.Array
  ) -> jax.Array:
    """Return the classes int32 `[B]` that the attack aims at."""
    if self.target == "least_likely":
      return jnp.argmin(logits, axis=-1)
    classes = logits.shape[-1]

    def further(words: jax.Array) -> jax.Array:
      key = jax.random.wrap_key_data(words, impl="threefry2x32")
      return jax.random.randint(key, (), 1, classes)

    return (label + jax.vmap(further)(keys)) % classes
