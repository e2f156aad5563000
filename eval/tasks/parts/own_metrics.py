"""Metrics of one's own: functions of one example's output and target.

A metric is `f(output, target) -> float` of NumPy arrays. The number of a cell is
its mean over examples; what is no such mean (mean IoU, average precision) is none
of these.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from eval.metrics import definitions
from robust_tfds import errors

SENSES = ("lower", "higher")
# The target that is the model's own answer to the clean picture.
CLEAN = "clean"
_COLUMN = "metric_"  # begins the name of a column of values
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Targets(Protocol):
  """Targets by the ids of examples."""

  @property
  def digest(self) -> str:
    """12 hexadecimal digits of their content."""
    ...

  @property
  def ids(self) -> Sequence[str] | None:
    """The ids of all targets; None: any id may have one."""
    ...

  def of(self, example_id: str) -> Any:
    """Return the target of an example."""
    ...


@dataclasses.dataclass(frozen=True, eq=False)
class OwnMetrics:
  """The functions and targets of a run.

  Attributes:
    functions: name -> function.
    digests: name -> 12 hexadecimal digits of its source.
    targets: None: the model's own answer to the clean picture.
    keep_outputs: whether the answers are kept with the values.
  """

  KEYS: ClassVar[tuple[str, ...]] = ("own_metric", "targets")

  functions: Mapping[str, Callable[[Any, Any], Any]]
  digests: Mapping[str, str]
  targets: Targets | None
  keep_outputs: bool = False

  @property
  def facts(self) -> dict[str, str]:
    """The facts of a cell's data that follow from them."""
    sources = ", ".join(f"{k} {v}" for k, v in self.digests.items())
    digest = self.targets.digest if self.targets else CLEAN
    return dict(zip(self.KEYS, (sources, digest), strict=True))

  def values(
    self,
    where: str,
    ids: Sequence[str],
    outputs: Iterator[Any],
    clean: Iterator[Any] | None,
  ) -> dict[str, np.ndarray]:
    """Measure examples; return their values as a cell's columns, float64 `[N]`.

    Args:
      where: begins a refusal, e.g. `fog_3`.
      ids: of the examples.
      outputs: the answer to each.
      clean: the answer to each clean picture, if that is the target.

    Raises:
      UserError: a metric fails, or its result is no finite number; names the
        first example and what came.
    """
    values: dict[str, list[float]] = {name: [] for name in self.functions}
    for example_id, output in zip(ids, outputs, strict=True):
      target = next(clean) if clean else self._target(example_id)
      for name, function in self.functions.items():
        what = f"{where}: metric {name} of example {example_id!r}"
        values[name].append(_value(what, function, output, target))
    return {column(k): np.array(v, np.float64) for k, v in values.items()}

  def _target(self, example_id: str) -> Any:
    assert self.targets is not None  # else it is the clean answer
    return self.targets.of(example_id)


def column(metric: str) -> str:
  """Return the name of the column of a metric's values."""
  return _COLUMN + metric


def named(text: str, what: str) -> dict[str, str]:
  """Return name -> value of a text like `a=lower,b=higher`, or `module:a,module:b`.

  Args:
    what: the key of the config, for errors.

  Raises:
    UserError: a name twice, or one that cannot name a metric.
  """
  out: dict[str, str] = {}
  for item in filter(None, map(str.strip, text.split(","))):
    name, equals, value = item.partition("=")
    if not equals:
      name, value = re.split(r"[:.]", item)[-1], item
    if name in out:
      raise errors.UserError(f"{what}: got the name {name!r} twice.")
    out[name] = value
  return out


def senses(metric: str, better: str) -> dict[str, str]:
  """Return name -> `lower` or `higher`, from the keys of a config.

  Raises:
    UserError: names that no table can hold or that the package has itself, a
      metric without a sense, or a sense without a metric.
  """
  names = list(named(metric, "metric"))
  for name in names:
    _check_name(name)
  if better in SENSES:
    return dict.fromkeys(names, better)
  given = named(better, "better") if "=" in better else {}
  wrong = [n for n in names if given.get(n) not in SENSES]
  if wrong or given.keys() - set(names):
    got = f"got {better!r}" if better else "it is missing"
    raise errors.UserError(
      f"better: {got}; say of every metric ({', '.join(names)}) whether lower or"
      f" higher values are better: 'lower', 'higher', or by name, e.g."
      f" {{{(wrong or names)[0]!r}: 'lower'}}."
    )
  return {name: given[name] for name in names}


def _check_name(name: str) -> None:
  if not _NAME.fullmatch(name):
    raise errors.UserError(
      f"metric: {name!r} cannot name a metric, expected letters, digits and _. Name"
      " the functions: metric={'rmse': f}."
    )
  ours = definitions.any_task_metric(name).sense != "unknown"
  if ours or name.startswith((definitions.PART, definitions.HELD_OUT)):
    raise errors.UserError(
      f"metric: {name!r} is the name of a number of this package, which means"
      f" something else. Name it otherwise: metric={{'my_{name}': f}}."
    )


def _value(
  what: str, function: Callable[[Any, Any], Any], output: Any, target: Any
) -> float:
  try:
    result = function(output, target)
  except Exception as error:
    raise errors.UserError(
      f"{what} fails: {errors.user_fault(error)}. It got {_words(output)} as the"
      f" output and {_words(target)} as the target."
    ) from error
  try:
    array = np.asarray(result)
    number = (
      float(array) if not array.ndim and array.dtype.kind in "biuf" else ""
    )
  except Exception:  # tensors of a device, or with a gradient
    number = ""
  if isinstance(number, float) and math.isfinite(number):
    return number
  got = number if isinstance(number, float) else _words(result)
  raise errors.UserError(
    f"{what}: got {got}, expected one finite number (float). The number of a cell"
    " is the mean over its examples."
  )


def _words(value: Any) -> str:
  """Return what a value is, in words."""
  if isinstance(value, Mapping):
    return (
      f"a dict of {', '.join(f'{k}: {_words(v)}' for k, v in value.items())}"
    )
  if isinstance(value, (tuple, list)):
    few = ", ".join(map(_words, value[:3])) + ", ..." * (len(value) > 3)
    return f"a {type(value).__name__} of {len(value)} ({few})"
  if isinstance(value, np.ndarray):
    return f"an array {value.dtype}{list(value.shape)}"
  text = repr(value)
  return f"{type(value).__name__} {text[:60]}"
