"""Equal weights with other numbers: marked, and what is honest is not."""

import dataclasses
import hashlib

from absl.testing import parameterized

from robust_tfds.conditions import Condition
from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.compare import runs, scores
from robust_tfds.eval.compare.boards import contradictions
from tests import in_folder
from tests.eval.compare import small_runs

_CELLS = [Condition(), Condition("fog", 1), Condition("fog", 5)]


class ContradictionsTest(in_folder.TestCase):
  def _two(
    self,
    by=0.0,
    n=1000,
    cells=_CELLS,
    metric="error",
    seed=0,
    both=None,
    **facts,
  ):
    """A model twice; the second one's numbers in some cells are others."""
    folder = str(small_runs.write(self.root / "one", {"a": 0.1}, names=["fog"]))
    (run,) = runs.read([folder])
    (one,) = scores.of_run(run, lambda _: None)
    out = []
    for name, extra in (("one", 0.0), ("two", by)):
      numbers = {
        c: {metric: Number(0.2 + extra * (c in cells), n=n)} for c in _CELLS
      }
      own = facts if name == "two" else {}
      about = {**one.entry.model_facts, **(both or {}), **own}
      entry = dataclasses.replace(
        one.entry, run=name, cells=numbers, model_facts=about
      )
      if name == "two":
        entry = dataclasses.replace(entry, seed=seed)
      out.append(dataclasses.replace(one, entry=entry))
    return [s.entry.remark for s in contradictions.marked(out)]

  @parameterized.parameters(
    {"by": 0.05},
    {"by": 0.05, "cells": _CELLS[1:2]},  # one cell alone
    {"by": 0.004},  # every cell a little
    {"by": 0.05, "code": "9.9"},
    {"by": 0.05, "trained_on": "other words", "name": "b"},
    {"by": 0.05, "adapter": "onnx"},
    {"by": 0.05, "preprocessing": {"input_px": 32, "source": "other words"}},
    {"by": 0.05, "cells": _CELLS[:1], "seed": 1},  # no seed draws clean ones
    {"by": 0.2, "cells": _CELLS[1:], "seed": 1},
  )
  def test_other_numbers(self, **given):
    first, second = self._two(**given)
    self.assertIn("other numbers in two: Error", first)
    self.assertIn("other numbers in one: Error", second)
    self.assertEndsWith(second, "One of the two is false")

  @parameterized.parameters(
    {},
    {"by": 0.0015},  # as devices round
    {"by": 0.025, "n": 40, "cells": _CELLS[:1]},  # one example
    {"by": 0.05, "weights": "9" * 64},
    {"by": 0.05, "weights": None},
    # Two plain functions, whose weights nobody sees.
    {"by": 0.05, "both": {"weights": hashlib.sha256().hexdigest()}},
    {"by": 0.05, "cells": _CELLS[1:], "seed": 1},
    {"by": 0.05, "cells": _CELLS[:1], "metric": "bbox/APs"},  # of one object
  )
  def test_what_may_differ(self, **given):
    self.assertEqual(self._two(**given), ["", ""])

  @parameterized.parameters(
    ({"preprocessing": {"input_px": 64}}, "preprocessing.input_px"),
    ({"dtype": "bfloat16"}, "dtype"),
    ({"random": True}, "random"),
  )
  def test_other_facts_are_said_beside_both(self, facts, name):
    for remark in self._two(by=0.05, **facts):
      self.assertIn("the same weights, seed and examples gave other", remark)
      self.assertEndsWith(remark, f"The models' facts differ in {name}")
    self.assertEqual(self._two(**facts), ["", ""])

  def test_a_baseline_takes_along_what_it_normalises(self):
    folders = [
      str(
        small_runs.write(
          self.root / name,
          {"a": 0.1, "x": error},
          names=["fog"],
          baseline="model:x",
        )
      )
      for name, error in (("one", 0.3), ("two", 0.6))
    ]
    listed = scores.of_runs(runs.read(folders))
    remarks = [s.entry.remark for s in contradictions.marked(listed)]
    self.assertEqual(
      remarks[0], "normalised by x, which another entry contradicts"
    )
    self.assertIn("other numbers in two", remarks[1])
