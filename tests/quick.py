"""Cases of a test of which some are quick, and the others `slow`."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from absl.testing import parameterized


def cases(quick: Iterable[Any], slow: Iterable[Any]) -> Callable[..., Any]:
  """As `parameterized.parameters` of both, the second ones marked slow."""

  def listed(test: Callable[..., None]) -> Iterator[Callable[..., None]]:
    yield from parameterized.parameters(list(quick))(test)
    for function in parameterized.parameters(list(slow))(test):
      yield pytest.mark.slow(function)

  return listed
