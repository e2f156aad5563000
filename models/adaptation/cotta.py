"""CoTTA: a student follows a slow teacher that averages over augmented views.

Wang et al. 2022 (arXiv:2203.13591), qinenergy/cotta. The teacher averages
parameters, not statistics; the logits returned are the teacher's.
"""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from models.adaptation import base, network, views
from robust_tfds import errors

# (restored share, confidence below which views are averaged), by data set.
_PAPER = {
  "imagenet": (0.001, 0.1),
  "cifar10": (0.01, 0.92),
  "cifar100": (0.01, 0.72),
}
_LOSSES = ("teacher", "symmetric")


@dataclasses.dataclass(frozen=True)
class Cotta(base.Learner):
  """Continual test-time adaptation of all weights.

  Attributes:
    teacher_momentum: share of the teacher that stays at each batch.
    restored: share of the weights that go back to the source at each batch; None:
      the papers'.
    confidence: where the source's mean largest probability is below it, the
      teacher answers by the mean over views; None: the papers'.
    loss: `teacher` (cross-entropy to the teacher, the CIFAR code), `symmetric`
      (half of it both ways, the ImageNet code); None: the papers'.
    num_views: augmented views.
  """

  teacher_momentum: float = 0.999
  restored: float | None = None
  confidence: float | None = None
  loss: str | None = None
  num_views: int = 32
  side_by_side: ClassVar[bool] = False
  IMAGENET: ClassVar[base.Optimizer] = base.Optimizer("sgd", 0.01)

  def __post_init__(self) -> None:
    """Refuse an unknown loss too."""
    super().__post_init__()
    if self.loss not in (None, *_LOSSES):
      raise errors.unknown_error("loss of CoTTA", self.loss, _LOSSES)

  def trained_paths(self, variables: Any) -> list[str]:
    """Return the paths of all parameters."""
    network.norms(self.model, variables)
    return network.parameter_paths(self.model, variables)

  def fresh(self, weights: network.Weights) -> base.State:
    """Return the state of a new object."""
    start = super().fresh(weights)
    confidence = jnp.zeros((), jnp.result_type(*weights.values()))
    return {**start, "teacher": weights, "confidence": confidence}

  def step(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    draws: base.Draws | None = None,
  ) -> tuple[jax.Array, base.State]:
    """Answer a batch and adapt, see the base class.

    Args:
      state: see the base class.
      images: see the base class.
      key: of the views, and of which weights are restored.
      draws: `views`, uint8 or float pixels `[num_views, B, H, W, 3]`, and
        `restored`, masks by the weights' paths.
    """
    draws = draws or {}
    restored, confidence = _PAPER[base.published(self.model)]
    restored = restored if self.restored is None else self.restored
    threshold = confidence if self.confidence is None else self.confidence
    dropped = jax.random.split(jax.random.fold_in(key, 0), 3)
    anchor = self.logits(state, state["source"], images, dropped[0])
    seen = jax.nn.softmax(anchor)
    sure = seen.max(-1).mean()
    target = jax.lax.cond(
      sure < threshold,
      lambda: self._mean_over_views(state, images, key, draws.get("views")),
      lambda: self.logits(state, state["teacher"], images, dropped[1]),
    )

    def loss(weights: network.Weights) -> jax.Array:
      logits = self.logits(state, weights, images, dropped[2])
      return self._loss(target, logits).mean()

    gradient = jax.grad(loss)(state["weights"])
    changed = self.update(state, gradient)
    keep = self.teacher_momentum
    teacher = jax.tree.map(
      lambda t, s: keep * t + (1 - keep) * s,
      state["teacher"],
      changed["weights"],
    )
    masks = draws.get("restored")
    if masks is None:
      masks = _masks(jax.random.fold_in(key, 1), state["source"], restored)
    changed["weights"] = {
      path: jnp.where(masks[path], state["source"][path], value)
      for path, value in changed["weights"].items()
    }
    return target, {
      **state,
      **changed,
      "teacher": teacher,
      "confidence": sure,
      "backward": state["backward"] + len(images),
    }

  def _loss(self, target: jax.Array, logits: jax.Array) -> jax.Array:
    kind = self.loss
    if kind is None:
      large = base.published(self.model) == "imagenet"
      kind = "symmetric" if large else "teacher"
    forward = base.cross_entropy(target, logits)
    if kind == "teacher":
      return forward
    return (forward + base.cross_entropy(logits, target)) / 2

  def _mean_over_views(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    pixels: jax.Array | None,
  ) -> jax.Array:
    """Return the teacher's mean logits over views of the batch."""

    def answer(i: jax.Array) -> jax.Array:
      drawn = jax.random.fold_in(key, 2 + i)
      seen = views.view(images, drawn) if pixels is None else pixels[i]
      dropped = jax.random.fold_in(drawn, 0)
      return self.logits(state, state["teacher"], seen, dropped)

    count = self.num_views if pixels is None else len(pixels)
    first = answer(jnp.int32(0))
    # Sums of differences are smaller, and so is what float32 rounds away.
    away = jax.lax.fori_loop(
      1, count, lambda i, sum_: sum_ + (answer(i) - first), first * 0
    )
    return first + away / count


def _masks(
  key: jax.Array, source: network.Weights, share: float
) -> dict[str, jax.Array]:
  """Draw which weights go back to the source."""
  return {
    path: jax.random.bernoulli(jax.random.fold_in(key, i), share, value.shape)
    for i, (path, value) in enumerate(source.items())
  }


METHOD = Cotta
