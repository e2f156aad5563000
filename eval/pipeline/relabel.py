"""Answers of a model whose outputs are not the data set's classes, as its answers.

Outputs are put in the order of the classes before anything is reduced; outputs that
are no class are left out, and a class without an output is never answered.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from eval.pipeline import on_host, predict, programs

NONE = -1  # the class of an output that is none
_LISTED = 5  # classes without an output that are named


@dataclasses.dataclass(frozen=True)
class Relabelling:
  """Which class each output is.

  Attributes:
    class_of: of every output, a class of the data set or `NONE`; outputs of one
      class share it, and it gets the sum of their probabilities.
    classes: number of the data set's classes.
    best: a class of several outputs gets the best of them instead.
    answers: number of possible answers, where outputs that are no class are
      among them; 0: the classes.
  """

  class_of: tuple[int, ...]
  classes: int
  best: bool = False
  answers: int = 0

  def among_all(self) -> Self:
    """Return the same, where outputs that are no class may be answers too.

    They are answers of their own behind the data set's classes, and always wrong.
    """
    none = iter(range(self.classes, self.classes + len(self.class_of)))
    class_of = tuple(next(none) if c == NONE else c for c in self.class_of)
    count = max(self.classes, *(c + 1 for c in class_of))
    return dataclasses.replace(self, class_of=class_of, answers=count)

  @property
  def without_output(self) -> int:
    """Number of classes that no output is."""
    return self.classes - len(
      {c for c in self.class_of if 0 <= c < self.classes}
    )

  def words(self, names: Sequence[str] = ()) -> str:
    """How many outputs and classes belong together, for the screen.

    Args:
      names: of the data set's classes, where they are known.
    """
    outputs = len(self.class_of)
    known = sum(0 <= c < self.classes for c in self.class_of)
    absent = [n for i, n in enumerate(names) if i not in self.class_of]
    listed = ", ".join(absent[:_LISTED]) + ", ..." * (len(absent) > _LISTED)
    return (
      f"{known} of {outputs} outputs are classes of the data set"
      f"{', the others are wrong answers' * bool(self.answers)};"
      f" {self.without_output} of its {self.classes} classes have none"
      f"{': ' if listed else ''}{listed}"
    )

  def logits(self, logits: jax.Array) -> jax.Array:
    """`[..., outputs]` -> `[..., answers]`, -inf where there is no output."""
    answers = self.answers or self.classes
    known = [label for label in self.class_of if label != NONE]
    if len(set(known)) < len(known):
      return self._joined(logits)
    output_of = np.full(answers, NONE)
    for output, label in enumerate(self.class_of):
      if label != NONE:
        output_of[label] = output
    taken = jnp.asarray(logits)[..., np.maximum(output_of, 0)]
    return jnp.where(output_of == NONE, -jnp.inf, taken)

  def _joined(self, logits: jax.Array) -> jax.Array:
    """As `logits`, where several outputs are one class: log of the sum of exp."""
    outputs = [o for o, label in enumerate(self.class_of) if label != NONE]
    label_of = jnp.asarray([self.class_of[o] for o in outputs])
    rows = jnp.moveaxis(jnp.asarray(logits)[..., jnp.asarray(outputs)], -1, 0)
    answers = self.answers or self.classes
    largest = jax.ops.segment_max(rows, label_of, answers)
    if self.best:
      return jnp.moveaxis(largest, 0, -1)
    parts = jnp.exp(rows - largest[label_of])
    total = jax.ops.segment_sum(parts, label_of, answers)
    return jnp.moveaxis(largest + jnp.log(total), 0, -1)

  def detections(
    self, outputs: Mapping[str, jax.Array]
  ) -> dict[str, jax.Array]:
    """A detector's outputs; objects of other classes are not there."""
    known = jnp.asarray(np.array(self.class_of, np.int32))
    given = outputs["classes"]
    inside = (given >= 0) & (given < len(self.class_of))
    label = known[jnp.where(inside, given, 0)]
    label = jnp.where(inside, label, given)  # what is wrong stays wrong
    dropped = inside & (label == NONE)
    valid = outputs["valid"] & ~dropped
    return {**outputs, "classes": label, "valid": valid}

  def __call__(self, answer: Any) -> Any:
    """Of logits or of a detector's outputs."""
    if isinstance(answer, Mapping):
      return self.detections(answer)
    return self.logits(answer)

  def reducing(self, reduce: predict.Reduce) -> predict.Reduce:
    """The same of relabelled answers."""
    return lambda answer, labels: reduce(self(answer), labels)


class Predictor:
  """A predictor whose answers are changed; called as `predict.Predictor`."""

  def __init__(
    self,
    predictor: "predict.Predictor | on_host.HostPredictor | Predictor",
    reducing: Callable[[predict.Reduce], predict.Reduce],
  ):
    """Of a predictor of the outputs as they are, and what they are reduced by."""
    self._predictor = predictor
    self._reduce = programs.cached(reducing)

  def __call__(
    self,
    images: Any,
    labels: Any,
    reduce: predict.Reduce,
    sizes: Any = None,
    count: int | None = None,
  ) -> Any:
    """See `predict.Predictor`; labels are classes of the data set."""
    reduce = self._reduce(reduce)
    return self._predictor(images, labels, reduce, sizes, count)

  def give_up(self) -> None:
    """See `on_host.HostPredictor.give_up`."""
    self._predictor.give_up()
