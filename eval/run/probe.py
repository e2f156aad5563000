"""What a model answers to a fixed batch: what tells that it is still the same.

A user's own model may keep its weights where nobody sees them. So at every start
it is shown a few pictures, and the answers are compared with those of the first
start, which lie in the workdir (`own_models`). Classifiers see pictures made from
a seed; detectors the set's first clean ones, as they would find nothing in made
ones. A run's other programs stay as they are: the probe compiles one of its own,
on one device, for `ROWS` inputs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.corruptions import canvas
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.run import likeness
from robust_tfds.models.model import Model

ROWS = 4
_SEED = 0
# Sides of the squares of one colour, px: one for each picture.
_GRAINS = (1, 4, 16, 64)

Answers = Mapping[str, np.ndarray]


def batch(
  model: Model,
  clean: inputs.Source,
  side_px: int,
  rows: int | None = None,
) -> list[np.ndarray]:
  """What the model is shown: uint8 inputs, and of detectors their sizes too.

  Args:
    model: whose spec says the shape.
    clean: the run's clean set.
    side_px: of the pictures that the run shows, where it is not the set's own.
    rows: how many inputs a classifier sees; `ROWS` by default.
  """
  if model.kind == "detection":
    examples = clean.metadata(())
    pictures = [np.asarray(e["image"]) for _, e in zip(range(ROWS), examples)]
    return list(canvas.stack(pictures))
  shape = list(model.spec.batch_shape(rows or ROWS, side_px))
  known = clean.shape[-3:-1]
  if not model.spec.clip_frames and None not in known:
    shape[1:3] = known
  return [_pictures(tuple(shape))]


def _pictures(shape: tuple[int, ...]) -> np.ndarray:
  """Noise of several grains, uint8 of a shape whose last axes are `[H, W, 3]`.

  No picture is of one colour, which models that scale contrast may not stand.
  """
  rng = np.random.default_rng(_SEED)
  high, wide = shape[-3:-1]
  out = rng.integers(0, 48, shape, np.uint8)
  for i, picture in enumerate(out):
    grain = _GRAINS[i % len(_GRAINS)]
    rough = rng.integers(
      0, 208, (*shape[1:-3], -(-high // grain), -(-wide // grain), 3), np.uint8
    )
    squares = rough.repeat(grain, -3).repeat(grain, -2)
    picture += squares[..., :high, :wide, :]
  return out


def answers(
  label: str, model: Model, variables: Any, rows: list[np.ndarray]
) -> tuple[Answers, bool]:
  """What the model answers, and whether it answers otherwise when asked again.

  Args:
    label: of the model, for errors.
    model: a user's own.
    variables: its weights.
    rows: from `batch`.

  Returns:
    `logits` float32 `[B, classes]`, or a detector's arrays; and True where two
    calls differ (see `likeness`), or would in two programs: a draw of
    `np.random` while a function is traced is a constant of the program.

  Raises:
    UserError: the model fails, gives other shapes, dtypes or classes than its
      spec says, or NaN or infinite numbers, or its answer to an input depends
      on the others of the batch.
  """
  with _explained(label, model, variables, rows):
    first, second = _twice(model, variables, rows)
    one, two = first(rows), second(rows)
  _check_values(label, model, one)
  random = bool(likeness.difference(one, two))
  if not random:
    with _explained(label, model, variables, rows):
      words = _neighbours(model, first, rows, one)
    if words:
      raise errors.UserError(
        f"{label} {words}. Every picture is to be answered by itself alone:"
        " batch norm or dropout is in train mode, or something else is computed"
        f" over the batch. {train_mode.remedy(model)}"
      )
  return one, random


def _neighbours(
  model: Model, ask: Ask, rows: list[np.ndarray], one: Answers
) -> str:
  """How the answer to a picture depends on the others of its batch, in words.

  Args:
    model: is asked.
    ask: it.
    rows: what it was shown.
    one: what it answered.
  """
  count = len(rows[0])
  order = np.roll(np.arange(count), 1)
  permuted = ask([part[order] for part in rows])
  words = likeness.difference(
    {key: value[order] for key, value in one.items()}, permuted
  )
  if words:
    return f"answers otherwise to the same pictures in another order: {words}"
  first = {key: value[:1] for key, value in one.items()}
  alone = None
  if model.batch_rows is None:
    alone = ask([part[:1] for part in rows])
    if not likeness.difference(first, alone):
      return ""
  # Another size of a batch may be another order of sums; the same size is not.
  words = likeness.difference(
    first, ask([part[:1].repeat(count, 0) for part in rows])
  )
  if words:
    return f"answers otherwise to a picture alone than among others: {words}"
  if alone is not None:
    words = likeness.difference(first, alone, OTHER_SIZE)
  return words and f"answers otherwise to a batch of one: {words}"


def _twice(
  model: Model, variables: Any, rows: list[np.ndarray]
) -> tuple[Ask, Ask]:
  """The model as it is asked, built twice where JAX builds it."""
  if model.on_host:

    def call(rows: Sequence[np.ndarray]) -> Answers:
      answer = _by_name(model.apply(variables, *rows))
      return {key: np.asarray(value) for key, value in answer.items()}

    return call, call
  one, two = _Program(model, variables, rows), _Program(model, variables, rows)
  return one, one if one.same(two) else two


class _Program:
  """A model as JAX builds it, one program for each size of batches."""

  def __init__(self, model: Model, variables: Any, rows: list[np.ndarray]):
    """Traces it for these inputs."""
    self._model, self._variables = model, variables
    self._trace = self._traced(rows)
    self._compiled: dict[int, Any] = {}

  def __call__(self, rows: Sequence[np.ndarray]) -> Answers:
    """The answers to some inputs."""
    count = len(rows[0])
    if count not in self._compiled:
      first = not self._compiled
      trace = self._trace if first else self._traced(rows)
      self._compiled[count] = trace.lower().compile()
    out = self._compiled[count](self._variables, *map(jnp.asarray, rows))
    return {key: np.asarray(value) for key, value in out.items()}

  def _traced(self, rows: Sequence[np.ndarray]) -> Any:
    def step(variables: Any, *rows: jax.Array) -> dict[str, jax.Array]:
      return _by_name(self._model.apply(variables, *rows))

    # True float32 on every device: answers of two devices are to be alike.
    with jax.default_matmul_precision("highest"):
      return jax.jit(step).trace(self._variables, *map(jnp.asarray, rows))

  def same(self, other: _Program) -> bool:
    """Whether two traces are one program, constants included."""
    one, two = self._trace.jaxpr, other._trace.jaxpr
    if str(one) != str(two) or len(one.consts) != len(two.consts):
      return False
    pairs = zip(one.consts, two.consts)
    return all(a is b or np.array_equal(_bytes(a), _bytes(b)) for a, b in pairs)


def _by_name(answer: Any) -> dict[str, Any]:
  """Logits under their name; a detector's arrays have names."""
  return dict(answer) if isinstance(answer, Mapping) else {"logits": answer}


def _bytes(constant: Any) -> np.ndarray:
  if jnp.issubdtype(constant.dtype, jax.dtypes.prng_key):
    constant = jax.random.key_data(constant)
  return np.asarray(constant)


@contextlib.contextmanager
def _explained(
  label: str, model: Model, rows: list[np.ndarray]
) -> Iterator[None]:
  try:
    yield
  except errors.UserError:
    raise
  except Exception as error:
    hint = ""
    if model.batch_rows not in (None, len(rows[0])):
      hint = f" It was made for batches of {model.batch_rows}."
    raise errors.UserError(
      f"{label} fails on a batch of {len(rows[0])}, before the run:"
      f" {errors.of_user(error)}.{hint} Try its `apply` by hand first."
    ) from error


def _check_values(label: str, model: Model, answer: Answers) -> None:
  """Refuses numbers that no metric can use."""
  if "logits" in answer:
    return _check_finite(label, "logits", answer["logits"])
  valid = answer["valid"]
  for key in ("boxes", "scores", *(["masks"] if "masks" in answer else [])):
    _check_finite(label, key, answer[key][valid])
  classes = answer["classes"][valid]
  most = model.spec.num_classes
  if classes.size and not 0 <= classes.min() <= classes.max() < most:
    raise errors.UserError(
      f"{label} gave classes {classes.min()}..{classes.max()} on the set's first"
      f" pictures, expected 0..{most - 1}: map its label ids first."
    )
  return None


def _check_finite(label: str, key: str, values: np.ndarray) -> None:
  bad = int((~np.isfinite(values)).sum())
  if bad:
    raise errors.UserError(
      f"{label} gave {key} of which {bad} of {values.size} are NaN or infinite on"
      f" {ROWS} pictures, before the run. Check its weights and its dtype."
    )
