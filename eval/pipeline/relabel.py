"""Mapping of a model's outputs to the data set's classes.

Outputs are put in the order of the classes before any reduction; outputs that
are no class are left out, and a class without an output is never answered.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import jax
import jax.numpy as jnp
import numpy as np

from eval.pipeline import on_host, predict, programs

NONE = -1  # the class of an output that is none
Joined = Literal["sum", "mean", "best"]
_WRONG = np.iinfo(np.int16).max  # no class of any set
_LISTED = 5  # classes without an output that are named


@dataclasses.dataclass(frozen=True)
class Relabelling:
  """A mapping from outputs to classes.

  Attributes:
    class_of: for every output, a class of the data set or `NONE`.
    classes: number of the data set's classes.
    joined: what a class of several outputs gets of their probabilities: the
      `sum`, the `mean` or the `best`.
    answers: number of possible answers, if outputs that are no class are among
      them; 0: the classes.
  """

  class_of: tuple[int, ...]
  classes: int
  joined: Joined = "sum"
  answers: int = 0

  def among_all(self) -> Self:
    """Return the mapping in which outputs that are no class may be answers too.

    They are additional answers after the data set's classes, and always wrong.
    """
    none = iter(range(self.classes, self.classes + len(self.class_of)))
    class_of = tuple(next(none) if c == NONE else c for c in self.class_of)
    count = max(self.classes, *(c + 1 for c in class_of))
    return dataclasses.replace(self, class_of=class_of, answers=count)

  @property
  def without_output(self) -> int:
    """The number of classes without an output."""
    return self.classes - len(
      {c for c in self.class_of if 0 <= c < self.classes}
    )

  def words(self, names: Sequence[str] = ()) -> str:
    """Return how many outputs and classes belong together, for the screen.

    Args:
      names: names of the data set's classes, if known.
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
    """Map `[..., outputs]` to `[..., answers]`, -inf for classes without an output."""
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
    """Map logits if several outputs are one class: log of the joined exp."""
    outputs = [o for o, label in enumerate(self.class_of) if label != NONE]
    label_of = np.array([self.class_of[o] for o in outputs])
    rows = jnp.moveaxis(jnp.asarray(logits)[..., jnp.asarray(outputs)], -1, 0)
    answers = self.answers or self.classes
    largest = jax.ops.segment_max(rows, label_of, answers)
    if self.joined == "best":
      return jnp.moveaxis(largest, 0, -1)
    parts = jnp.exp(rows - largest[label_of])
    total = jax.ops.segment_sum(parts, label_of, answers)
    if self.joined == "mean":
      counts = np.bincount(label_of, minlength=answers)
      widened = counts.reshape(-1, *[1] * (total.ndim - 1))
      total = total / np.maximum(widened, 1)
    return jnp.moveaxis(largest + jnp.log(total), 0, -1)

  def detections(
    self, outputs: Mapping[str, jax.Array]
  ) -> dict[str, jax.Array]:
    """Return a detector's outputs without objects of other classes."""
    known = jnp.asarray(np.array(self.class_of, np.int32))
    given = outputs["classes"]
    inside = (given >= 0) & (given < len(self.class_of))
    label = known[jnp.where(inside, given, 0)]
    label = jnp.where(inside, label, given)  # what is wrong stays wrong
    dropped = inside & (label == NONE)
    valid = outputs["valid"] & ~dropped
    return {**outputs, "classes": label, "valid": valid}

  def class_ids(self, outputs: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
    """Return a segmenter's class ids; `NONE` where an output is no class."""
    known = jnp.asarray(np.array(self.class_of, np.int32))
    given = outputs["classes"]
    inside = (given >= 0) & (given < len(self.class_of))
    # What is wrong stays wrong.
    label = jnp.where(inside, known[jnp.where(inside, given, 0)], _WRONG)
    return {**outputs, "classes": label}

  def __call__(self, answer: Any) -> Any:
    """Map logits, a detector's outputs or class ids."""
    if not isinstance(answer, Mapping):
      return self.logits(answer)
    if "valid" not in answer:
      return self.class_ids(answer)
    return self.detections(answer)

  def reducing(self, reduce: predict.Reduce) -> predict.Reduce:
    """Return the reduction of relabelled answers."""
    return lambda answer, labels: reduce(self(answer), labels)


class Predictor:
  """A predictor whose answers are changed, with the interface of
  `predict.Predictor`.
  """

  def __init__(
    self,
    predictor: "predict.Predictor | on_host.HostPredictor | Predictor",
    reducing: Callable[[predict.Reduce], predict.Reduce],
  ):
    """Create it from a predictor of the unchanged outputs, and what makes
    reductions.
    """
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
    """Call the predictor, see `predict.Predictor`; labels are the data set's
    classes.
    """
    reduce = self._reduce(reduce)
    return self._predictor(images, labels, reduce, sizes, count)

  def give_up(self) -> None:
    """Cancel waiting calls, see `on_host.HostPredictor.give_up`."""
    self._predictor.give_up()
