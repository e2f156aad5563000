"""Our networks in float64, to compare them with others' where both are exact.

In float32 a relu whose input lies within rounding of 0 takes one side here and the
other there, and its gradient with it: of a million of them some do. In float64
hardly any does, and what is left is what a step means.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, TypeVar
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

from models import model as model_lib
from models import variables as variables_lib
from models.convert import match

_MOVE = 1e-5  # of an array's largest move; tables of theirs are in float32
_STILL = 1e-12  # of an array's largest number: moves by rounding alone
_M = TypeVar("_M", bound=model_lib.NetworkModel)


@contextlib.contextmanager
def entered(model: _M) -> Iterator[_M]:
  """The model in float64: what it calls float32 is that inside.

  Build, load and run it in here: layers ask jax for its float32 when they run.
  """
  with contextlib.ExitStack() as stack:
    stack.enter_context(jax.enable_x64(True))
    stack.enter_context(mock.patch.object(jnp, "float32", jnp.float64))
    stack.enter_context(mock.patch.object(model_lib, "_DTYPES", ("float64",)))
    yield dataclasses.replace(model, dtype="float64")


def arrays(module: Any) -> dict[str, np.ndarray]:
  """A torch module's arrays, copied, by their names."""
  return {n: t.numpy().copy() for n, t in module.state_dict().items()}


def loaded(model: model_lib.NetworkModel, named: dict[str, Any]) -> Any:
  """Arrays of a torch module as float64 variables, inside of `entered`."""
  return jax.tree.map(np.float64, match.match_arrays(model, named).variables)


def check_moves(
  test: Any,
  model: model_lib.NetworkModel,
  after: Any,
  theirs: tuple[dict[str, Any], dict[str, Any]],
) -> None:
  """Every array of ours has moved as a torch module's; prints how near.

  Args:
    test: whose assertions are used.
    model: whose step it was.
    after: our variables after it, numpy.
    theirs: the module's arrays before, from which ours started, and after it.
  """
  before, end = theirs
  moves = {name: end[name] - array for name, array in before.items()}
  start, want, got = map(
    variables_lib.flatten, (loaded(model, before), loaded(model, moves), after)
  )
  worst, moved = 0.0, 0
  for path, move in want.items():
    test.assertEqual(got[path].dtype, np.float64)
    difference = np.abs(got[path] - start[path] - move).max()
    still, far = _STILL * np.abs(start[path]).max(), np.abs(move).max()
    test.assertLessEqual(difference, max(_MOVE * far, still), path)
    if far > still:
      moved, worst = moved + 1, max(worst, difference / far)
  print(
    f"{model.name}: {moved} of {len(want)} arrays move, at most {worst:.1e} of"
    " their move from torch's"
  )
  test.assertGreater(moved, len(want) / 4)
