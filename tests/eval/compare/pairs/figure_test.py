"""The figure of a comparison: drawn of everything, the same bytes twice."""

import math
import pathlib

from absl.testing import parameterized
from etils import epath
from PIL import Image

from eval.cells.number import Number
from eval.compare.pairs import figure
from eval.compare.pairs.lines import Line
from robust_tfds.conditions import Condition
from tests.eval.compare.pairs.tables_test import comparison


def _clean(value=0.1, metric="error") -> Line:
  return Line(metric, "", 0, Condition(), value, 0.2, Number(value - 0.2))


class FigureTest(parameterized.TestCase):
  def _write(self, one, name="out") -> bytes:
    folder = epath.Path(self.create_tempdir(name).full_path)
    figure.write(one, folder, "comparison")
    self.assertEqual(
      sorted(p.name for p in folder.iterdir()),
      ["comparison.png", "comparison.svg"],
    )
    with Image.open(pathlib.Path(folder) / "comparison.png") as picture:
      self.assertGreater(min(picture.size), 150)
    return (folder / "comparison.svg").read_bytes()

  def test_the_same_bytes(self):
    one = self._write(comparison())
    self.assertEqual(one, self._write(comparison(), "again"))
    text = one.decode()
    self.assertIn("better", text)

  @parameterized.parameters(
    {"benchmark": []},
    {"cells": []},
    {"cells": [_clean()]},
    {"benchmark": [], "cells": [_clean(math.nan)]},
    {"benchmark": [], "corruptions": [], "cells": []},
    {"cells": [_clean(), _clean(3.0, "unnormalised_t5d")]},
  )
  def test_whatever_there_is(self, **changes):
    self._write(comparison(**changes))
