"""Classifier outputs that are probabilities, or scores in [0, 1], as logits.

For probabilities (a softmax at the end, `predict_proba`) log(max(p, smallest
normal float32)) is used: a softmax over the probabilities would change them.
Scores in [0, 1] whose sums differ, e.g. of sigmoids, rank the classes, without
calibration.
"""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from eval.pipeline import predict
from robust_tfds import errors

LOGITS, PROBABILITIES, SCORES = "logits", "probabilities", "scores"
_IS_OF_KIND = "is_of_kind"  # bool `[B]` of what is reduced
_TOLERANCE, _HALF_TOLERANCE = 1e-3, 1e-2  # tolerances of a row's sum
_HALVES = (jnp.float16, jnp.bfloat16)
_TINY = np.finfo(np.float32).tiny
_OF_CALIBRATION = ("score", "nll", "brier")
_SWITCH = (
  "If they are logits, set config.model.spec.outputs='logits' (outputs=)"
)
_WORDS = {
  PROBABILITIES: "outputs are probabilities (rows of the probe sum to 1, or the spec"
  f" says so): their logarithm is used. {_SWITCH}",
  SCORES: "outputs of the probe lie in [0, 1] and rows do not sum to 1, as of"
  " sigmoids: the best class is the answer, and calibration (ECE, NLL, Brier score)"
  f" is missing. {_SWITCH}",
}
_EXPECTED = {
  PROBABILITIES: "non-negative with a sum of 1 in each row",
  SCORES: "between 0 and 1",
}


@dataclasses.dataclass(frozen=True)
class OutputKind:
  """The kind of a model's outputs.

  Attributes:
    name: `logits`, `probabilities` or `scores`.
    tolerance: allowed distance of a row's sum from 1.
  """

  name: str = LOGITS
  tolerance: float = _TOLERANCE

  @property
  def notes(self) -> list[str]:
    """The notes that a run prints about it."""
    return [_WORDS[self.name]] if self.name in _WORDS else []

  def contains(self, rows: jax.typing.ArrayLike) -> jax.Array:
    """Return whether each row of `[..., classes]` is of this kind: bool `[...]`."""
    rows = jnp.asarray(rows)
    if self.name == SCORES:
      return ((rows >= 0) & (rows <= 1)).all(axis=-1)
    distance = jnp.abs(rows.sum(axis=-1) - 1)
    return (rows >= 0).all(axis=-1) & (distance <= self.tolerance)

  def reducing(self, reduce: predict.Reduce) -> predict.Reduce:
    """Return the reduction for outputs of this kind, which marks other rows."""

    def reduced(answer: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
      out = dict(reduce(jnp.log(jnp.maximum(answer, _TINY)), labels))
      if self.name == SCORES:
        out = {k: v for k, v in out.items() if k not in _OF_CALIBRATION}
      inside = self.contains(answer)
      inner = tuple(range(1, inside.ndim))
      return {**out, _IS_OF_KIND: inside.all(axis=inner)}

    return reduced

  def check(
    self, where: str, ids: Sequence[str], outputs: dict[str, np.ndarray]
  ) -> None:
    """Remove the marks from reduced outputs; refuse rows of another kind."""
    bad = ~outputs.pop(_IS_OF_KIND, np.ones(len(ids), np.bool_))[: len(ids)]
    if bad.any():
      raise self.refusal(
        f"{where}: {bad.sum()} examples, the first {ids[int(bad.argmax())]!r},"
      )

  def refusal(self, where: str) -> errors.UserError:
    """Return the error of outputs of another kind; `where` begins the sentence."""
    return errors.UserError(
      f"{where} have outputs that are not {_EXPECTED[self.name]}, though those of"
      f" the probe were, or the spec says so. {_SWITCH}."
    )


def kind_of(label: str, outputs: str, rows: np.ndarray | None) -> OutputKind:
  """Return the kind of a model's outputs: as stated, else as the probe shows.

  Args:
    label: the model's label, for errors.
    outputs: `outputs` of its spec.
    rows: float32 `[B, classes]`, its answers to the probe; None without a
      probe, or for a detector.

  Raises:
    UserError: the probe contradicts what is stated, or shows percentages.
  """
  if outputs == LOGITS or (rows is None and outputs != PROBABILITIES):
    return OutputKind()
  if rows is None:
    return OutputKind(PROBABILITIES)
  halves = (rows.astype(half).astype(np.float32) for half in _HALVES)
  is_half = any(np.array_equal(rounded, rows) for rounded in halves)
  kind = OutputKind(PROBABILITIES, _HALF_TOLERANCE if is_half else _TOLERANCE)
  if kind.contains(rows).all():
    return kind
  if outputs == PROBABILITIES:
    raise kind.refusal(f"{label}: pictures of the probe")
  if kind.contains(rows / 100).all():
    raise errors.UserError(
      f"{label}: outputs of the probe sum to 100 in each row, as percentages do."
      f" Divide them by 100. {_SWITCH}."
    )
  kind = OutputKind(SCORES)
  is_scores = kind.contains(rows).all() and np.ptp(rows) > 0
  return kind if is_scores else OutputKind()
