"""Custom metrics: functions of one example's output and target.

A metric is `f(output, target) -> float` of NumPy arrays. The number of a cell is
its mean over examples; what is no such mean (mean IoU, average precision) is none
of these.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from eval.metrics import definitions
from robust_tfds import errors

SENSES = ("lower", "higher")
CLEAN = "clean"  # the target that is the answer to the clean picture
_NAME = re.compile(r"(?!part_|held_out_)[A-Za-z_]\w*", re.ASCII)
_HEADLINES = ("clean_{}", "mean_{}", "{}_retained")


@dataclasses.dataclass(frozen=True, eq=False)
class OwnMetrics:
  """The functions and targets of a run.

  Attributes:
    functions: name -> function.
    digests: name -> 12 hexadecimal digits of its source.
    targets: has `of(example_id)` and the `digest` of its content; None: the
      model's own answer to the clean picture.
    keep_outputs: whether the answers are kept with the values.
  """

  FACTS: ClassVar[tuple[str, ...]] = ("own_metric", "targets")

  functions: Mapping[str, Callable[[Any, Any], Any]]
  digests: Mapping[str, str]
  targets: Any
  keep_outputs: bool = False

  @property
  def facts(self) -> dict[str, str]:
    """The facts of a cell's data that follow from them."""
    sources = ", ".join(f"{k} {v}" for k, v in self.digests.items())
    content = self.targets.digest if self.targets else CLEAN
    return dict(zip(self.FACTS, (sources, content), strict=True))

  def values(
    self,
    where: str,
    ids: Sequence[str],
    outputs: Iterable[Any],
    clean: Iterable[Any] | None,
  ) -> dict[str, np.ndarray]:
    """Measure examples; return their values as a cell's columns, float64 `[N]`.

    Args:
      where: begins a refusal, e.g. `fog_3`.
      ids: ids of the examples.
      outputs: the answer to each.
      clean: the answer to each clean picture, if that is the target.

    Raises:
      UserError: a metric fails, or its result is no finite number; names the
        first example and what came.
    """
    targets = clean or map(self.targets.target, ids)
    rows = [
      [
        _value(f"{where}: metric {name} of example {i!r}", f, output, target)
        for name, f in self.functions.items()
      ]
      for i, output, target in zip(ids, outputs, targets, strict=True)
    ]
    columns = np.array(rows, np.float64).T
    return {column(k): v for k, v in zip(self.functions, columns, strict=True)}


def column(metric: str) -> str:
  """Return the name of the column of a metric's values."""
  return f"metric_{metric}"


def named(text: str, what: str) -> dict[str, str]:
  """Return name -> value of a text like `a=lower,b=higher`, or `module:a,module:b`.

  Args:
    what: the key of the config, for errors.

  Raises:
    UserError: a name twice.
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
    taken = definitions.any_task_metric(name).sense != "unknown"
    taken |= not {form.format(name) for form in _HEADLINES}.isdisjoint(names)
    if taken or not _NAME.fullmatch(name):
      raise errors.UserError(
        f"metric: {name!r} cannot name a metric: expected letters, digits and _, and"
        " no name of another number. Name it: metric={'my_name': f}."
      )
  if better in SENSES:
    return dict.fromkeys(names, better)
  given = named(better, "better") if "=" in better else {}
  if given.keys() != set(names) or {*given.values()} - {*SENSES}:
    raise errors.UserError(
      f"better: got {better!r}; say of every metric ({', '.join(names)}) whether"
      f" 'lower' or 'higher' values are better, e.g. {{{names[0]!r}: 'lower'}}."
    )
  return given


def _value(
  what: str, function: Callable[[Any, Any], Any], output: Any, target: Any
) -> float:
  try:
    result = function(output, copy.deepcopy(target))  # it may change it
  except Exception as error:
    raise errors.UserError(
      f"{what} fails: {errors.user_fault(error)}. It got {_words(output)} as the"
      f" output and {_words(target)} as the target."
    ) from error
  number = result.item() if getattr(result, "ndim", 1) == 0 else result
  if isinstance(number, (int, float)) and math.isfinite(number):
    return float(number)
  raise errors.UserError(
    f"{what}: got {_words(result)}, expected one finite number (float). The number"
    " of a cell is the mean over its examples."
  )


def _words(value: Any) -> str:
  """Describe a value in words."""
  if isinstance(value, Mapping):
    return (
      f"a dict of {', '.join(f'{k}: {_words(v)}' for k, v in value.items())}"
    )
  if isinstance(value, np.ndarray) and value.ndim:
    return f"an array {value.dtype}{list(value.shape)}"
  return f"{type(value).__name__} {repr(value)[:60]}"
