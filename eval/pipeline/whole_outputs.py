"""Answers of any structure, kept on the host: for custom metrics.

A model's answer to a batch is an array, or dicts and tuples of arrays, each with
the batch as its first axis. It is stored flat: the name of each array is its path
(`"points"`, then `0`) as JSON, from which `nested` restores the structure. JAX
models are compiled for each shape of pictures, on one device of the host.
"""

import concurrent.futures
import dataclasses
import functools
import json
import weakref
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from eval.pipeline import inputs, on_host
from eval.pipeline import show as show_lib
from robust_tfds import devices, errors, reading
from robust_tfds.conditions import Condition

_START = "output:"  # prefix of the names of flat arrays
_KINDS = "biufU"  # NumPy's kinds of booleans, numbers and texts
# Name -> the array of each example of a batch.
Rows = Mapping[str, list[np.ndarray]]


def flat(name: str, answer: Any, rows: int) -> dict[str, Any]:
  """Return path -> array of an answer.

  Args:
    name: name of the model, for errors.
    answer: an array `[rows, ...]`, or dicts, tuples and lists of them.
    rows: number of inputs that the model was shown.

  Raises:
    UserError: the answer has another structure, or an array has no batch axis or
      holds anything else than numbers and texts.
  """
  out: dict[str, Any] = {}

  def add(path: list[str | int], value: Any) -> None:
    if isinstance(value, Mapping):
      for key, each in value.items():
        add([*path, str(key)], each)
    elif isinstance(value, (tuple, list)) and not _is_array(value):
      for i, each in enumerate(value):
        add([*path, i], each)
    else:
      where = f"{name} answered with an array{' at ' * bool(path)}{path or ''}"
      out[_START + json.dumps(path)] = _checked(where, value, rows)

  add([], answer)
  if not out:
    raise errors.UserError(f"{name} answered with nothing: {answer!r}.")
  return dict(sorted(out.items()))


def nested(arrays: Mapping[str, Any]) -> Any:
  """Restore the structure of flat arrays: dicts and tuples.

  >>> nested({'output:["a", 0]': 1, 'output:["a", 1]': 2, 'output:["b"]': 3})
  {'a': (1, 2), 'b': 3}
  """
  tree: dict[Any, Any] = {}
  for name, array in arrays.items():
    path = reading.json_text(name.removeprefix(_START), name)
    place = tree
    for key in ["", *path[:-1]] if path else []:
      place = place.setdefault(key, {})
    place[path[-1] if path else ""] = array
  return _restored_tuples(tree[""])


def kept_answers(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Return the columns of a cell that are kept answers."""
  return {k: v for k, v in columns.items() if k.startswith(_START)}


def apply(model: Any, variables: Any, batch: Any) -> dict[str, Any]:
  """Return a model's flat outputs of a batch."""
  return flat(model.name, model.outputs(variables, batch), len(batch))


@dataclasses.dataclass(eq=False)
class _Placed:
  """A batch on the devices, and spec -> its clean pictures."""

  inner: Any
  clean: dict[Any, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class _Companions:
  """What goes with images: their batch, its sizes and clean pictures if needed."""

  placed: _Placed
  sizes: Any
  clean: Any


class Show:
  """The show of a task, with the clean pictures beside the corrupted ones."""

  def __init__(self, inner: show_lib.Show, with_clean: bool):
    """Wrap the task's show."""
    self._inner, self._with_clean = inner, with_clean
    self.several = inner.several

  def put(self, batch: inputs.Batch) -> _Placed:
    """Put the batch onto the devices, see `show.Show`."""
    return _Placed(self._inner.put(batch))

  def shapes(self, batch: inputs.Batch) -> _Placed | None:
    """Return the shapes, see `show.Show`."""
    shapes = self._inner.shapes(batch)
    return None if shapes is None else _Placed(shapes)

  def see(
    self, placed: _Placed, condition: Condition, spec: Any
  ) -> tuple[Any, _Companions]:
    """Return images and their companions, see `show.Show`."""
    if self._with_clean and spec not in placed.clean:
      clean, _ = self._inner.see(placed.inner, Condition(), spec)
      placed.clean[spec] = clean
    images, sizes = self._inner.see(placed.inner, condition, spec)
    return images, _Companions(placed, sizes, placed.clean.get(spec))


class Outputs:
  """The answers of a model call in progress, like `packing.Outputs`."""

  def __init__(self, future: concurrent.futures.Future[dict[str, Any]]):
    """Wrap the future of `outputs` and `clean`, each `Rows` or None."""
    self.fetch = self.block_until_ready = future.result


class Predictor:
  """A model whose whole answers stay on the host.

  It has the interface of `predict.Predictor`; nothing is reduced.
  """

  def __init__(self, label: str, model: Any, variables: Any):
    """Create the predictor without calling the model."""
    call: Any = functools.partial(apply, model)
    if not model.on_host:
      call = jax.jit(call)
      variables = jax.device_put(variables, jax.local_devices()[0])
    self._label, self._item = label, model.spec.item_axes
    self._answer = functools.partial(call, variables)
    self._clean: weakref.WeakKeyDictionary[_Placed, Rows]
    self._clean = weakref.WeakKeyDictionary()
    self._first: dict[str, int] = {}  # axes of the first answer
    self._waiting: set[concurrent.futures.Future[Any]] = set()

  def __call__(
    self,
    images: Any,
    labels: Any,
    reduce: Any,
    sizes: Any = None,
    count: int | None = None,
  ) -> Outputs:
    """Call the model without waiting, see `predict.Predictor`.

    Args:
      images: uint8 `[B, H, W, 3]`, or clips `[B, 1, T, H, W, 3]`.
      sizes: the companions that `Show.see` returned.
      count: number of rows that are examples.
    """
    if isinstance(images, jax.ShapeDtypeStruct):
      return Outputs(concurrent.futures.Future())
    future = on_host.thread().submit(self._call, images, sizes, count)
    self._waiting.add(future)
    future.add_done_callback(self._waiting.discard)
    return Outputs(future)

  def give_up(self) -> None:
    """Cancel waiting calls: the run ends."""
    for future in list(self._waiting):
      future.cancel()

  def _call(
    self, images: jax.Array, companions: _Companions, count: int | None
  ) -> dict[str, Any]:
    """Answer a batch; this runs in the thread."""
    placed, sizes = companions.placed, companions.sizes
    outputs = self._rows(images, sizes, count)
    if companions.clean is not None and placed not in self._clean:
      self._clean[placed] = self._rows(companions.clean, sizes, count)
    return {"outputs": outputs, "clean": self._clean.get(placed)}

  def _rows(self, images: jax.Array, sizes: Any, count: int | None) -> Rows:
    pixels = devices.local_rows(images)
    if sizes is None:  # all of one size, the last batch padded
      answer = self._named(pixels.reshape(-1, *pixels.shape[-self._item :]))
      return {k: list(v[:count]) for k, v in answer.items()}
    rows: dict[str, dict[int, np.ndarray]] = {}
    every = devices.local_rows(sizes)[:count]
    for high, wide in np.unique(every, axis=0).tolist():
      places = np.flatnonzero((every == (high, wide)).all(axis=1))
      for name, values in self._named(pixels[places, :high, :wide]).items():
        rows.setdefault(name, {}).update(zip(places.tolist(), values))
    order = range(len(every))
    return {k: [values[i] for i in order] for k, values in rows.items()}

  def _named(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
    """Return the flat answer; refuse a structure that differs from the first one."""
    answer = {k: _read_only(v) for k, v in self._answer(pixels).items()}
    axes = {name: array.ndim for name, array in answer.items()}
    self._first = self._first or axes
    if axes != self._first:
      was, now = (
        ", ".join(
          f"{k.removeprefix(_START)} of {v} axes" for k, v in each.items()
        )
        for each in (self._first, axes)
      )
      raise errors.UserError(
        f"{self._label} answered with {now}, and before with {was} (path in the"
        " answer, number of axes): expected one structure for every batch."
      )
    return answer


def _is_array(value: tuple[Any, ...] | list[Any]) -> bool:
  """Return whether a list holds numbers or texts rather than arrays."""
  plain = (int, float, str, np.generic)
  return isinstance(value, list) and all(isinstance(x, plain) for x in value)


def _checked(where: str, value: Any, rows: int) -> Any:
  """Return a value as a JAX or NumPy array."""
  if not isinstance(value, jax.Array):
    try:
      value = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as e:
      raise errors.UserError(f"{where}: {errors.user_fault(e)}") from e
  elif value.dtype == jnp.bfloat16:
    value = value.astype(jnp.float32)
  if value.dtype.kind not in _KINDS or not value.ndim or len(value) != rows:
    raise errors.UserError(
      f"{where} of {value.dtype}{list(value.shape)} to {rows} inputs, expected"
      " numbers or texts with the axis of the batch first, or dicts and tuples of"
      " such arrays."
    )
  return value


def _read_only(value: Any) -> np.ndarray:
  """Return a read-only view, so that no metric can change another one's input."""
  array = np.asarray(value).view()
  array.flags.writeable = False
  return array


def _restored_tuples(tree: Any) -> Any:
  """Return a tree with tuples in place of dicts whose keys are numbers."""
  if not isinstance(tree, dict):
    return tree
  made = {key: _restored_tuples(value) for key, value in tree.items()}
  if all(isinstance(key, int) for key in made):
    return tuple(made[key] for key in sorted(made))
  return made
