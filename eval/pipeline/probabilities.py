"""Answers of a classifier that are probabilities, or scores in [0, 1], as logits.

A softmax at the end is common (Keras, `predict_proba`), and a softmax over it gives
other probabilities. Which of them a model's outputs are is seen on the probe, or its
spec says it; what is kept is computed from log(max(p, smallest normal float32)).
Scores in [0, 1] whose sums differ, as of sigmoids, rank the classes; they are no
probabilities, so that nothing of calibration is kept. A row of another kind than
those of the probe is marked.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.eval.pipeline import predict

LOGITS, PROBABILITIES, SCORES = "logits", "probabilities", "scores"
IS_OF_KIND = "is_of_kind"  # bool `[B]` of what is reduced
_TOLERANCE, _HALF_TOLERANCE = 1e-3, 1e-2  # of a row's sum
_HALVES = (jnp.float16, jnp.bfloat16)
_LEAST = np.finfo(np.float32).tiny
_OF_CALIBRATION = ("score", "nll", "brier")
_SWITCH = (
  "set outputs='logits' (config.model.spec.outputs, of evaluate outputs=)"
)


@dataclasses.dataclass(frozen=True)
class OutputKind:
  """What a model's outputs are.

  Attributes:
    name: `logits`, `probabilities` or `scores`.
    tolerance: by which a row's sum may differ from 1.
    is_seen: whether the probe tells it, not the spec.
  """

  name: str = LOGITS
  tolerance: float = _TOLERANCE
  is_seen: bool = True

  @property
  def fact(self) -> str | None:
    """As cells record it; None where they are logits."""
    return None if self.name == LOGITS else self.name

  @property
  def notes(self) -> list[str]:
    """What a run prints of it."""
    if self.name == LOGITS:
      return []
    if self.name == SCORES:
      return [
        "outputs of the probe lie in [0, 1] and rows do not sum to 1, as of"
        " sigmoids: the best class is the answer, and calibration (ECE, NLL, Brier"
        f" score) is missing. If they are logits, {_SWITCH}"
      ]
    seen = "rows of the probe sum to 1" if self.is_seen else "as its spec says"
    return [
      f"outputs are probabilities ({seen}): their logarithm is used. If they are"
      f" logits, {_SWITCH}"
    ]

  def contains(self, rows: jax.typing.ArrayLike) -> jax.Array:
    """Whether each row of `[..., classes]` is of this kind: bool `[...]`."""
    rows = jnp.asarray(rows)
    if self.name == SCORES:
      return ((rows >= 0) & (rows <= 1)).all(axis=-1)
    distance = jnp.abs(rows.sum(axis=-1) - 1)
    return (rows >= 0).all(axis=-1) & (distance <= self.tolerance)

  def reducing(self, reduce: predict.Reduce) -> predict.Reduce:
    """The same of outputs of this kind; see `relabel.Predictor`."""

    def reduced(answer: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
      out = dict(reduce(jnp.log(jnp.maximum(answer, _LEAST)), labels))
      if self.name == SCORES:
        out = {k: v for k, v in out.items() if k not in _OF_CALIBRATION}
      inside = self.contains(answer)
      inner = tuple(range(1, inside.ndim))
      return {**out, IS_OF_KIND: inside.all(axis=inner)}

    return reduced

  def refusal(self, where: str) -> errors.UserError:
    """That outputs are of another kind; `where` begins the sentence."""
    expected = "non-negative with a sum of 1 in each row"
    if self.name == SCORES:
      expected = "between 0 and 1"
    seen = "those of the probe were" if self.is_seen else "its spec says so"
    return errors.UserError(
      f"{where} outputs that are not {expected}, though {seen}. If they are logits,"
      f" {_SWITCH}; finished cells are untouched."
    )


def kind_of(label: str, stated: str, rows: np.ndarray | None) -> OutputKind:
  """Return what a model's outputs are: as stated, else as the probe shows.

  Args:
    label: of the model, for refusals.
    stated: `outputs` of its spec.
    rows: float32 `[B, classes]`, its answers to the probe; None: it has no probe,
      or is a detector.

  Raises:
    UserError: the probe contradicts the spec.
  """
  if stated == LOGITS or (rows is None and stated != PROBABILITIES):
    return OutputKind()
  is_half = rows is not None and any(
    np.array_equal(rows.astype(half).astype(np.float32), rows)
    for half in _HALVES
  )
  tolerance = _HALF_TOLERANCE if is_half else _TOLERANCE
  kind = OutputKind(PROBABILITIES, tolerance, stated != PROBABILITIES)
  if rows is None or kind.contains(rows).all():
    return kind
  if not kind.is_seen:
    raise kind.refusal(f"{label} gave, on the probe,")
  kind = OutputKind(SCORES)
  is_scores = kind.contains(rows).all() and np.ptp(rows) > 0
  return kind if is_scores else OutputKind()
