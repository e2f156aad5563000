"""A model's answers to a fixed batch, before a run.

A user's own model may be in train mode, be random, or be another one than its spec
says. So it is shown a few inputs, twice, in another order and one without the
others, and refused in words. It may also keep its weights where they cannot be read:
the answers are compared with those of the first start, which lie in the workdir
(`own_models`). Classifiers see pictures made from a seed; detectors the set's
first clean ones, as they would find nothing in made ones.

It costs, of a model on the host, the time of 5 * `ROWS` + 1 inputs; of a traced one
a program of its own, on one device, and five of its batches of `ROWS`. Of a model
that is random 72 batches more tell whether it is nothing else, see `repeats`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from eval.pipeline import inputs
from eval.run.model import likeness, repeats, train_mode
from models.model import Model
from robust_tfds import errors
from robust_tfds.corruptions import canvas

ROWS = 4
_SEED = 0
# Share of the logits' range by which one answer may differ in a batch of another
# size, where it does not in one of the same size. Measured on a CPU, a batch of 1
# beside one of 4, of seven networks of the catalogue and five of torchvision in
# torch: up to 8e-7 in float32, 6e-3 in bfloat16 (vit_b_16); in another order, or
# among copies in a batch of the same size, exactly 0.
_OTHER_SIZE = 0.05
# Sides of the squares of one colour, px: one for each picture.
_GRAINS = (1, 4, 16, 64)

_ADAPTS = (
  " Adaptation at test time by a known method is asked for with adapt=, as in"
  " adapt='tent' (docs/ADAPTATION.md). What adapts in a way of its own (no"
  " allow_random allows it) is measured in a loop of your own: robust-tfds corrupt"
  " --manifest writes the pictures and a table to fill in, robust-tfds score reads"
  " it."
)

Answers = Mapping[str, np.ndarray]
Apply = Callable[..., Any]  # (variables, *rows) -> answers


def batch(model: Model, clean: inputs.Source, side_px: int) -> list[np.ndarray]:
  """Return the probe's inputs: uint8 pictures, for detectors also their sizes.

  Args:
    model: the model, whose spec says the shape.
    side_px: side of the pictures that the run shows, if it is not the set's own.
  """
  if model.kind in ("detection", "segmentation"):
    examples = clean.metadata(())
    pictures = [np.asarray(e["image"]) for _, e in zip(range(ROWS), examples)]
    return list(canvas.stack(pictures))
  shape = list(model.spec.batch_shape(ROWS, side_px))
  known = clean.shape[-3:-1]
  if model.spec.takes_whole:
    known = np.asarray(clean.sample()[clean.pixels]).shape[-3:-1]
  if not model.spec.clip_frames and None not in known:
    shape[1:3] = known
  return [_pictures(tuple(shape))]


def _pictures(shape: tuple[int, ...]) -> np.ndarray:
  """Return noise of several grains, uint8 of a shape that ends in `[H, W, 3]`.

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
  label: str,
  model: Model,
  variables: Any,
  rows: list[np.ndarray],
  apply: Apply | None = None,
) -> tuple[Answers, bool]:
  """Return the model's answers, and whether they differ between two calls.

  Args:
    label: label of the model, for errors.
    rows: from `batch`.
    apply: `(variables, *rows)` -> answers; None: the model's own.

  Returns:
    `logits` float32 `[B, classes]`, a detector's arrays, or a segmenter's
    `classes` `[B, H, W]`; and True where two
    calls differ (see `likeness`), or would in two programs: a draw of
    `np.random` while a function is traced is a constant of the program.

  Raises:
    UserError: the model fails, gives other shapes, dtypes or classes than its
      spec says, or NaN or infinite numbers, or its answer to an input depends
      on the others of the batch, their order, or earlier calls: random or not.
  """
  with _explained(label, len(rows[0])):
    first, second = _twice(apply or model.apply, model.on_host, variables, rows)
    one, two = first(rows), second(rows)
  _check_values(label, model, one)
  random = bool(likeness.difference(one, two))
  with _explained(label, len(rows[0])):
    words = repeats.dependence(first, rows) if random else ""
  if not random:
    with _explained(label, 1):
      single = first.try_one([part[:1] for part in rows])
    with _explained(label, len(rows[0])):
      words = _order_dependence(first, rows, one)
      words = _batch_dependence(first, rows, one, single) or words
      change = likeness.difference(one, first(rows))
      words = f"{repeats.STATE}: {change}" if change else words
  if words:
    raise errors.UserError(
      f"{label} {words}. Every input is to be answered by itself alone: batch"
      " norm or dropout is in train mode, or something else is computed over the"
      f" batch or kept between calls. {train_mode.remedy(model.code)}{_ADAPTS}"
    )
  return one, random


def notes(answers: Answers) -> list[str]:
  """Return the notes about a classifier that gives all pictures the same answer."""
  if "logits" not in answers or np.ptp(answers["logits"], axis=0).any():
    return []
  return [
    f"gives the same outputs for all {ROWS} pictures of the probe: are its weights"
    " loaded, and its pixels scaled as it expects (0..255, or its spec's mean and"
    " std)?"
  ]


def _order_dependence(
  ask: _Traced | _Called, rows: list[np.ndarray], answered: Answers
) -> str:
  """Return a text about an answer's dependence on its place in the batch."""
  order = np.roll(np.arange(len(rows[0])), 1)
  expected = {key: value[order] for key, value in answered.items()}
  words = likeness.difference(expected, ask([part[order] for part in rows]))
  return words and f"{repeats.ORDER}: {words}"


def _batch_dependence(
  ask: _Traced | _Called,
  rows: list[np.ndarray],
  answered: Answers,
  single: Answers | None,
) -> str:
  """Return a text about an answer's dependence on the rest of the batch.

  Args:
    rows: what it was shown.
    answered: what it answered.
    single: to the first input alone, where that was computed.
  """
  expected = {key: value[:1] for key, value in answered.items()}
  # Another size of a batch may be another order of sums; the same size is not.
  mixed = ask(repeats.among_dark(rows))
  first = {key: value[:1] for key, value in mixed.items()}
  words = likeness.difference(expected, first)
  if single and not words:
    words = likeness.difference(expected, single, _OTHER_SIZE)
  return words and f"{repeats.OTHERS}: {words}"


def _twice(
  apply: Apply, on_host: bool, variables: Any, rows: list[np.ndarray]
) -> tuple[_Traced | _Called, _Traced | _Called]:
  """Return the model as it is called, built twice if JAX builds it."""
  if on_host:
    called = _Called(apply, variables)
    return called, called
  one, two = _Traced(apply, variables, rows), _Traced(apply, variables, rows)
  return one, one if one.is_same_program(two) else two


class _Called:
  """A model on the host."""

  def __init__(self, apply: Apply, variables: Any):
    """Call nothing yet."""
    self._apply, self._variables = apply, variables

  def __call__(self, rows: Sequence[np.ndarray]) -> Answers:
    """Return the answers without texts: masks go with their boxes."""
    given = map(np.copy, rows)  # some functions write into their input
    answer = _named_arrays(self._apply(self._variables, *given))
    return {k: v for k, v in answer.items() if v.dtype != np.object_}

  def try_one(self, rows: Sequence[np.ndarray]) -> Answers:
    """Return the answer to one input."""
    return self(rows)


class _Traced:
  """A model as JAX builds it: one program, of one shape of inputs."""

  def __init__(self, apply: Apply, variables: Any, rows: list[np.ndarray]):
    """Trace it for these inputs."""
    self._apply, self._variables = apply, variables
    self._trace = self._traced(rows)

  def __call__(self, rows: Sequence[np.ndarray]) -> Answers:
    """Return the answers to some inputs."""
    out = self._program(self._variables, *map(jnp.asarray, rows))
    return {key: np.asarray(value) for key, value in out.items()}

  @functools.cached_property
  def _program(self) -> Any:
    return self._trace.lower().compile()

  def try_one(self, rows: Sequence[np.ndarray]) -> None:
    """Trace it for one input; not computed, as a second program takes long.

    Raises:
      UserError: it gives another shape then.
    """
    self._traced(rows)

  def _traced(self, rows: Sequence[np.ndarray]) -> Any:
    def step(variables: Any, *rows: jax.Array) -> dict[str, jax.Array]:
      return _named_arrays(self._apply(variables, *rows))

    # True float32 on every device: answers of two devices are to be alike.
    with jax.default_matmul_precision("highest"):
      return jax.jit(step).trace(self._variables, *map(jnp.asarray, rows))

  def is_same_program(self, trace: _Traced) -> bool:
    """Return whether two traces are one program, constants included."""
    one, two = self._trace.jaxpr, trace._trace.jaxpr
    if str(one) != str(two) or len(one.consts) != len(two.consts):
      return False
    pairs = zip(one.consts, two.consts)
    return all(a is b or np.array_equal(_bytes(a), _bytes(b)) for a, b in pairs)


def _named_arrays(answer: Any) -> dict[str, Any]:
  """Return logits or class ids under a name; a detector's arrays have names."""
  if isinstance(answer, Mapping):
    return dict(answer)
  whole = jnp.issubdtype(answer.dtype, jnp.integer)
  return {"classes" if whole else "logits": answer}


def _bytes(constant: Any) -> np.ndarray:
  if jnp.issubdtype(constant.dtype, jax.dtypes.prng_key):
    constant = jax.random.key_data(constant)
  return np.asarray(constant)


@contextlib.contextmanager
def _explained(label: str, count: int) -> Iterator[None]:
  """Describe the exception of a model for a batch of `count` inputs."""
  try:
    yield
  except errors.UserError as error:
    if label in str(error):
      raise
    raise errors.UserError(f"{label}: {error}") from error
  except Exception as error:
    hint = ""
    if count == 1:
      hint = (
        " It answers to more at once: let it take batches of any size, or give"
        " the adapter rows=, the size that it takes."
      )
    raise errors.UserError(
      f"{label} fails on a batch of {count}, before the run:"
      f" {errors.user_fault(error)}.{hint} Try its `apply` by hand first."
    ) from error


def _check_values(label: str, model: Model, answer: Answers) -> None:
  """Refuse numbers that no metric can use."""
  if "logits" in answer:
    return _check_finite(label, "logits", answer["logits"])
  if "valid" not in answer:
    return None  # class ids or a structure of its own, which a run checks
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
