"""An exported graph as plain data, and running it in JAX.

A program is a list of steps in order: an operator of `operators/`, its arguments
and the name of its result. Sizes of the batch are read from the traced array, so
one program serves batches of any number of rows, also a device's share of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.models.adapters.torch_graph.operators import (
  OPERATORS,
  PRODUCTS,
)


@dataclasses.dataclass(frozen=True)
class Result:
  """Stands for what an earlier step, an input or a variable is called."""

  name: str

  def __repr__(self) -> str:
    """As a line of the program's text."""
    return f"%{self.name}"


@dataclasses.dataclass(frozen=True)
class Step:
  """One operator.

  Attributes:
    operator: as torch calls it, e.g. `aten.add.Tensor`.
    arguments: in the order of its schema; lists and `Result`s among them.
    options: the arguments that are given by name.
    result: what its answer is called.
  """

  operator: str
  arguments: tuple[Any, ...]
  options: Mapping[str, Any]
  result: str


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
  """A function of variables and a batch.

  Attributes:
    steps: in order.
    batch: what the batch is called.
    variables: what a variable is called in the steps -> its own name.
    constants: a variable's own name -> its value, where it is no weight but
      depends on the size of the pictures.
    answer: a `Result`, or a mapping or list of them.
    rows: of the only batches that it takes; None: any number.
  """

  steps: tuple[Step, ...]
  batch: str
  variables: Mapping[str, str]
  constants: Mapping[str, np.ndarray]
  answer: Any
  rows: int | None = None

  def __call__(
    self, variables: Mapping[str, Any], batch: jax.Array, dtype: str = "float32"
  ) -> Any:
    """What the module answers.

    Args:
      variables: name -> array.
      batch: float32, as the module takes it.
      dtype: `float32`, or `bfloat16`, in which matrices are then multiplied;
        statistics of norms and softmax stay in float32.
    """
    named = {**variables, **self.constants}
    values: dict[str, Any] = {
      result: jnp.asarray(named[name])
      for result, name in self.variables.items()
    }
    values[self.batch] = batch
    precision = "highest" if dtype == "float32" else "default"
    with jax.default_matmul_precision(precision):
      for step in self.steps:
        values[step.result] = _run(step, values, dtype)
    return _resolved(self.answer, values)

  def unknown(self) -> tuple[str, ...]:
    """The operators that JAX is not told how to compute, by name."""
    return tuple(sorted({s.operator for s in self.steps} - set(OPERATORS)))

  def text(self) -> str:
    """A line for each step."""
    return "\n".join(_lines(self))


def _lines(program: Program) -> Iterator[str]:
  yield f"{Result(program.batch)} = batch"
  for result, name in program.variables.items():
    yield f"{Result(result)} = {name}"
  for step in program.steps:
    parts = [repr(a) for a in step.arguments]
    parts += [f"{key}={value!r}" for key, value in step.options.items()]
    yield f"{Result(step.result)} = {step.operator}({', '.join(parts)})"
  yield f"return {program.answer!r}"


def _run(step: Step, values: Mapping[str, Any], dtype: str) -> Any:
  function = OPERATORS[step.operator]
  arguments = _resolved(step.arguments, values)
  options = _resolved(dict(step.options), values)
  if dtype != "float32" and step.operator in PRODUCTS:
    arguments = jax.tree.map(lambda x: _narrowed(x, dtype), arguments)
  return function(*arguments, **options)


def _narrowed(x: Any, dtype: str) -> Any:
  """An array of real numbers in the dtype; all else as it is."""
  if isinstance(x, (jax.Array, np.ndarray)) and x.dtype == jnp.float32:
    return jnp.asarray(x, dtype)
  return x


def _resolved(value: Any, values: Mapping[str, Any]) -> Any:
  """With what they stand for in place of `Result`s."""
  if isinstance(value, Result):
    return values[value.name]
  if isinstance(value, Mapping):
    return {key: _resolved(v, values) for key, v in value.items()}
  if isinstance(value, (tuple, list)):
    return type(value)(_resolved(v, values) for v in value)
  return value
