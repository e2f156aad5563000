"""A corruption of one's own in the tables of conditions, for one test."""

import dataclasses
from unittest import mock

from absl.testing import absltest

from robust_tfds import conditions

_ROW = conditions.Row("invert", "noise", "own")


def add(test: absltest.TestCase) -> None:
  """Adds `invert` to the pictures, sequences and videos until the test ends."""
  for name in ("PICTURES", "SEQUENCES", "VIDEOS"):
    family = getattr(conditions, name)
    longer = dataclasses.replace(family, rows=(*family.rows, _ROW))
    test.enterContext(mock.patch.object(conditions, name, longer))
