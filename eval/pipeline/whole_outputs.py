"""Answers of any structure, kept on the host: for metrics of one's own.

A model's answer to a batch is an array, or dicts and tuples of arrays, each with
an axis of the batch first. It is held flat: the path of each array (`"points"`,
then `0`) is written as JSON into its name, from which `nested` makes the
structure again. Models of JAX are compiled for each shape of pictures, on one
device of the host.
"""

import concurrent.futures
import dataclasses
import functools
import json
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from eval.pipeline import inputs, on_host
from eval.pipeline import show as show_lib
from robust_tfds import devices, errors, reading
from robust_tfds.conditions import Condition

_START = "output:"  # of the names of flat arrays
_KINDS = "biufU"  # NumPy's kinds of truth values, numbers and texts
# Name -> the array of each example of a batch.
Rows = Mapping[str, list[np.ndarray]]


def flat(name: str, answer: Any, rows: int) -> dict[str, Any]:
  """Return the arrays of an answer by the names of their paths.

  Args:
    name: of the model, for errors.
    answer: an array `[rows, ...]`, or dicts, tuples and lists of them.
    rows: how many inputs the model was shown.

  Raises:
    UserError: another structure, an array without the axis of the batch, or of
      something else than numbers and texts.
  """
  out: dict[str, Any] = {}

  def add(path: list[str | int], value: Any) -> None:
    several = isinstance(value, (tuple, list)) and not _is_array(value)
    if isinstance(value, Mapping) or several:
      pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
      for key, each in pairs:
        add([*path, str(key) if isinstance(value, Mapping) else key], each)
    else:
      out[_START + json.dumps(path)] = _checked(name, path, value, rows)

  add([], answer)
  if not out:
    raise errors.UserError(f"{name} answered with nothing: {answer!r}.")
  return dict(sorted(out.items()))


def nested(arrays: Mapping[str, Any]) -> Any:
  """Return the structure of flat arrays: dicts and tuples.

  >>> nested({'output:["a", 0]': 1, 'output:["a", 1]': 2, 'output:["b"]': 3})
  {'a': (1, 2), 'b': 3}
  """
  tree: dict[Any, Any] = {}
  for name, array in arrays.items():
    place, path = tree, ["", *_path(name)]
    for key in path[:-1]:
      place = place.setdefault(key, {})
    place[path[-1]] = array
  return _with_tuples(tree[""])


def of_columns(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Return the kept answers among a cell's columns."""
  return {k: v for k, v in columns.items() if k.startswith(_START)}


@dataclasses.dataclass(frozen=True)
class Whole:
  """A model whose `apply` gives its flat outputs, for the probe before a run."""

  model: Any

  def __getattr__(self, name: str) -> Any:
    """Return anything else of the model."""
    return getattr(self.model, name)

  def apply(self, variables: Any, batch: Any) -> dict[str, Any]:
    """Return the flat outputs of a batch."""
    answer = self.model.outputs(variables, batch)
    return flat(self.model.name, answer, len(batch))


@dataclasses.dataclass(eq=False)
class _Placed:
  """A batch on the devices, and its clean pictures by the models' crop."""

  inner: Any
  clean: dict[Any, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Shown:
  """What a predictor gets beside a batch of pictures.

  Attributes:
    placed: the batch, for answers that are kept while it is shown.
    sizes: int32 `[B, 2]` of pictures that are shown whole; else None.
    clean: the same pictures without corruption; None if nobody asks.
  """

  placed: _Placed
  sizes: Any
  clean: Any


class Show:
  """The show of a task, with the clean pictures beside the corrupted ones."""

  def __init__(self, inner: show_lib.Show, *, with_clean: bool):
    """Create it from the task's show."""
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
  ) -> tuple[Any, Shown]:
    """Return images, and what goes with them, see `show.Show`."""
    see, clean = self._inner.see, None
    if self._with_clean:
      if spec not in placed.clean:
        placed.clean[spec] = see(placed.inner, Condition(), spec)[0]
      clean = placed.clean[spec]
    images, sizes = see(placed.inner, condition, spec)
    return images, Shown(placed, sizes, clean)


class Outputs:
  """The answers of a model call in progress, like `packing.Outputs`."""

  def __init__(self, future: concurrent.futures.Future[dict[str, Any]]):
    """Create them."""
    self._future = future

  def block_until_ready(self) -> None:
    """Wait until the model has answered."""
    self._future.result()

  def fetch(self) -> dict[str, Any]:
    """Return `outputs` and `clean` as `Rows`, or raise the model's error."""
    return dict(self._future.result())


class Predictor:
  """A model whose whole answers stay on the host.

  It has the interface of `predict.Predictor`; nothing is reduced.
  """

  def __init__(self, label: str, model: Any, variables: Any):
    """Create it without calling the model."""
    call: Callable[[Any, Any], Any] = Whole(model).apply
    if not model.on_host:
      call = jax.jit(call)
      variables = jax.device_put(variables, jax.local_devices()[0])
    self._label = label
    self._answer = functools.partial(call, variables)
    self._clean: weakref.WeakKeyDictionary[_Placed, Rows]
    self._clean = weakref.WeakKeyDictionary()
    self._first: dict[str, int] = {}
    self._item = model.spec.item_axes
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
      sizes: what `Show` gave with them.
      count: of rows that are examples.
    """
    del labels, reduce
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
    self, images: jax.Array, shown: Shown, count: int | None
  ) -> dict[str, Any]:
    """Answer a batch; this runs in the thread."""
    out = {"outputs": self._rows(images, shown, count), "clean": None}
    if shown.clean is not None:
      if shown.placed not in self._clean:
        clean = self._rows(shown.clean, shown, count)
        self._clean[shown.placed] = clean
      out["clean"] = self._clean[shown.placed]
    return out

  def _rows(self, images: jax.Array, shown: Shown, count: int | None) -> Rows:
    pixels = devices.local_rows(images)
    if shown.sizes is None:  # batches of one size, the last one filled up
      flat_pixels = pixels.reshape(-1, *pixels.shape[-self._item :])
      answer = self._named(flat_pixels)
      return {k: list(v[:count]) for k, v in answer.items()}
    sizes = devices.local_rows(shown.sizes)[:count]
    rows: dict[str, list[Any]] = {}
    for size in dict.fromkeys(map(tuple, sizes.tolist())):
      places = np.flatnonzero((sizes == size).all(axis=1))
      answer = self._named(pixels[places, : size[0], : size[1]])
      for name, values in answer.items():
        of_all = rows.setdefault(name, [None] * len(sizes))
        for place, value in zip(places, values):
          of_all[place] = value
    return rows

  def _named(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
    """Return the flat answer; refuse another structure than the first one."""
    answer = {k: np.asarray(v) for k, v in self._answer(pixels).items()}
    axes = {name: array.ndim for name, array in answer.items()}
    self._first = self._first or axes
    if axes != self._first:
      raise errors.UserError(
        f"{self._label} answered with {_words(axes)}, and before with"
        f" {_words(self._first)}: expected one structure for every batch."
      )
    return answer


def _is_array(value: tuple[Any, ...] | list[Any]) -> bool:
  """Return whether a list is one of numbers or texts, not of arrays."""
  return isinstance(value, list) and all(
    isinstance(each, (int, float, str, np.generic)) for each in value
  )


def _checked(name: str, path: list[str | int], value: Any, rows: int) -> Any:
  where = f"{name} answered with {_place(path)}"
  if not isinstance(value, jax.Array):
    try:
      value = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as e:
      raise errors.UserError(f"{where}: {errors.user_fault(e)}") from e
  elif value.dtype == jnp.bfloat16:
    value = value.astype(jnp.float32)
  if value.dtype.kind not in _KINDS:
    raise errors.UserError(
      f"{where} of {value.dtype}, expected arrays of numbers or texts, or dicts"
      " and tuples of them."
    )
  if not value.ndim or value.shape[0] != rows:
    raise errors.UserError(
      f"{where} of shape {list(value.shape)} to {rows} inputs, expected the axis"
      " of the batch first: one answer for every input."
    )
  return value


def _place(path: list[str | int]) -> str:
  return f"an array at {json.dumps(path)[1:-1]}" if path else "an array"


def _path(name: str) -> list[str | int]:
  path: list[str | int] = reading.json_text(name.removeprefix(_START), name)
  return path


def _words(axes: Mapping[str, int]) -> str:
  listed = (
    f"{_place(_path(name))} of {count} axes" for name, count in axes.items()
  )
  return ", ".join(listed)


def _with_tuples(tree: Any) -> Any:
  """Return a tree in which dicts of numbers are tuples."""
  if not isinstance(tree, dict):
    return tree
  made = {key: _with_tuples(value) for key, value in tree.items()}
  if all(isinstance(key, int) for key in made):
    return tuple(made[key] for key in sorted(made))
  return made
