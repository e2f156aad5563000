"""Two runs compared: baselines, lines, tables and figures."""

import csv
import io
import math
import pathlib

import numpy as np
from absl.testing import absltest, parameterized
from etils import epath
from PIL import Image

from eval import tasks
from eval.cells.number import Number
from eval.compare import runs
from eval.compare.pairs import (
  answers,
  baseline,
  compare,
  figure,
  lines,
  tables,
)
from eval.compare.pairs.lines import Line
from eval.metrics.replicates import Replicates
from eval.tasks.headlines import headlines
from robust_tfds import conditions
from robust_tfds.conditions import Condition
from tests import in_folder
from tests.eval.compare import small_runs
from tests.eval.compare.pairs import sides_case
from tests.eval.report.reports import contexts


class CompareTest(in_folder.TestCase):
  """Two models compared: names, sentences, notes, refusals."""

  def _run(self, name, models, **options) -> str:
    options = {"names": ["fog"], **options}
    return str(small_runs.write(self.root / name, models, **options))

  def _compare(self, first, second, models=""):
    return compare.runs(*runs.read_pair(first, second), models)

  def test_equal_labels(self):
    one = self._run("one", {"a": 0.1, "b": 0.2, "c": 0.3})
    other = self._run("other", {"c": 0.1, "b": 0.2})
    first, second = self._compare(one, other)
    self.assertEqual((first.first, first.second), ("b (first)", "b (second)"))
    self.assertEqual(second.first, "c (first)")
    self.assertEqual(
      first.sentences,
      (
        [
          "b (first) better than b (second) in 0 of 5 cells, worse in 0,"
          " undecided in 5 (error; Holm)."
        ]
      ),
    )

  def test_named_models(self):
    one = self._run("one", {"a": 0.05, "b": 0.9})
    (got,) = self._compare(one, one, "a,b")
    self.assertEqual((got.first, got.second), ("a", "b"))
    self.assertEqual(
      got.sentences,
      [
        "a better than b in 5 of 5 cells, worse in 0, undecided in 0 (error;"
        " Holm)."
      ],
    )
    (turned,) = self._compare(one, one, "b,a")
    self.assertIn("in 0 of 5 cells, worse in 5", turned.sentences[0])

  def test_a_run_and_itself(self):
    """Exact tests decide, not intervals."""
    one = self._run("one", {"a": 0.2})
    (got,) = self._compare(one, one)
    for line in got.cells:
      ends = line.difference
      self.assertEqual((ends.value, ends.interval), (0, None))
      self.assertEqual((line.test.p, line.test.adjusted), (1, 1))
      self.assertEqual(line.test.verdict, lines.UNDECIDED)
    self.assertIn(
      "If few examples or groups distinguish two models, an interval may exclude 0"
      " although the test does not decide; the verdict is the test's.",
      got.notes,
    )

  def test_one_example(self):
    one = self._run("one", {"a": -9.0}, examples=1, baseline="alexnet")
    other = self._run("other", {"a": 9.0}, examples=1)
    (got,) = self._compare(one, other)
    self.assertEqual({x.test.verdict for x in got.cells}, {lines.UNDECIDED})
    self.assertEqual(got.cells[0].difference.value, -1)

  def test_seeds_and_conditions(self):
    one = self._run("one", {"a": 0.2}, names=["fog", "snow"])
    other = self._run("other", {"a": 0.2}, seed=4)
    (got,) = self._compare(one, other)
    self.assertIn("Seeds differ (0 and 4)", got.notes[0])
    self.assertIn(
      "Only in the first run, and not compared: snow_1", got.notes[1]
    )
    self.assertEqual({x.corruption for x in got.cells}, {"", "fog"})
    (same,) = self._compare(one, one)
    self.assertEqual(
      same.notes[0],
      "Both runs saw the same examples, and models are paired by example.",
    )

  def test_the_baseline_lacks_conditions(self):
    one = self._run(
      "one",
      {"a": 0.2, "x": 0.3},
      baseline="model:x",
      chosen=lambda label, c: label == "a" or c.level < 3,
    )
    (got,) = self._compare(one, one, "a,a")
    self.assertIn(
      "Normalised numbers are not compared: x, which normalises them, lacks some"
      " of the conditions.",
      got.notes,
    )
    self.assertNotIn("ce", [x.metric for x in got.lines])

  def test_what_models_saw_and_do(self):
    of_models = {"a": {"corruptions_seen": ["fog"], "random": True}}
    one = self._run("one", {"a": 0.2, "b": 0.2}, of_models=of_models)
    (got,) = self._compare(one, one, "a,b")
    self.assertIn("a was trained on fog.", got.notes)
    self.assertNotIn("b was trained on fog.", got.notes)


class BaselineTest(sides_case.TestCase):
  """What normalises both sides."""

  def _with_x(self, name, **options):
    return self.side(name, {"a": 0.2, "x": 0.2}, **options)

  def test_published(self):
    one = self._with_x("one", baseline="alexnet")
    for other in ("alexnet", ""):
      got = baseline.choose(one, self._with_x(f"other {other}", baseline=other))
      self.assertEqual((got.name, got.first), ("alexnet", None))
      self.assertIn("AlexNet", got.note)
      self.assertIn("constant", got.note)
    self.assertEqual(got.task(one).setting.baseline, "alexnet")

  def test_a_model_of_each_run(self):
    one, other = (
      self._with_x(n, baseline="model:x", seed=i)
      for i, n in enumerate(("one", "other"))
    )
    got = baseline.choose(one, other)
    self.assertEqual((got.name, got.first.model), ("model:x", "x"))
    self.assertIs(got.first.run, one.run)
    self.assertIs(got.second.run, other.run)
    self.assertIn("each side by that of its own run", got.note)

  def test_another_model_of_the_same_label(self):
    one = self._with_x("one", baseline="model:x")
    weights = {"x": {"weights": "f" * 64}}
    other = self._with_x("other", baseline="model:x", of_models=weights)
    got = baseline.choose(one, other)
    self.assertEqual((got.name, got.first), ("", None))
    self.assertIn("x, which normalises them, is another model", got.note)

  @parameterized.parameters(True, False)
  def test_a_model_of_one_run_alone(self, turned):
    one = self._with_x("one", baseline="model:x")
    other = self.side("other")
    pair = (other, one) if turned else (one, other)
    got = baseline.choose(*pair)
    self.assertIs(got.first.run, one.run)
    self.assertIs(got.second.run, one.run)
    which = "second" if turned else "first"
    self.assertIn(f"Both are normalised by x of the {which} run", got.note)

  def test_different_ones(self):
    one = self._with_x("one", baseline="model:x")
    got = baseline.choose(one, self._with_x("other", baseline="alexnet"))
    self.assertEqual(got.name, "")
    self.assertIn(
      "the first run is normalised by model:x, the second by al", got.note
    )


_FAMILY = conditions.PICTURES


def _cell(value, metric="ece") -> dict[str, Replicates]:
  if metric == "ece":
    return {metric: headlines.value_alone(value)}
  without = value + np.linspace(-0.01, 0.01, 20)
  return {metric: Replicates(np.array(value), None, without, 40)}


class CalibrationTest(absltest.TestCase):
  """Differences of calibration over cells."""

  def _lines(self, first, second):
    lines = answers.lines(first, second, _FAMILY)
    return {(x.metric, x.corruption): x for x in lines}

  def test_clean_corruptions_and_benchmark(self):
    cells = [Condition()] + [
      Condition(n, s) for n in _FAMILY.names("common") for s in range(1, 6)
    ]
    first = {c: _cell(0.1 + 0.01 * c.level) for c in cells}
    second = {c: _cell(0.2 + 0.02 * c.level) for c in cells}
    got = self._lines(first, second)
    self.assertLen(got, 17)
    self.assertAlmostEqual(got["ece", ""].difference.value, -0.1)
    for name in ("fog", ""):
      line = got["mean_ece", name]
      self.assertAlmostEqual(line.first, 0.13)
      self.assertAlmostEqual(line.second, 0.26)
      self.assertAlmostEqual(line.decrease.value, 0.5)
      # ECE is biased: no resampling of examples covers it.
      self.assertIsNone(line.difference.interval)
      self.assertIsNone(line.decrease.interval)

  def test_only_what_both_have_whole(self):
    fog = {Condition("fog", s): _cell(0.1) for s in range(1, 6)}
    snow = {Condition("snow", s): _cell(0.1) for s in range(1, 5)}
    got = self._lines({**fog, **snow}, {**fog, **snow})
    self.assertEqual(list(got), [("mean_ece", "fog")])
    self.assertEmpty(self._lines(fog, {}))
    other = {c: _cell(0.1, "nll") for c in fog}
    self.assertEmpty(self._lines(fog, other))


def _clean(value=0.1, metric="error") -> Line:
  return Line(metric, "", 0, Condition(), value, 0.2, Number(value - 0.2))


class FigureTest(parameterized.TestCase):
  """The figure of a comparison: drawn of everything, the same bytes twice."""

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
    one = self._write(tables_comparison())
    self.assertEqual(one, self._write(tables_comparison(), "again"))
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
    self._write(tables_comparison(**changes))


def tables_comparison(**changes) -> lines.Comparison:
  """A small one of a classifier, with a name that tables have to escape."""
  test = lines.Test("exact McNemar", 1e-9, 0.02, "error", lines.BETTER)
  fields = {
    "dataset": "digits_c",
    "facts": tasks.get("classification").facts,
    "first": contexts.EVIL,
    "second": "=1+1",
    "benchmark": [
      Line(
        "mce",
        "",
        None,
        None,
        0.7,
        0.8,
        Number(-0.1, -0.2, 0.05),
        Number(0.125, -0.05, 0.3),
      ),
      Line("relative_mce", "", None, None, 1.0, math.nan, Number(None)),
    ],
    "corruptions": [
      Line("ce", "fog", None, None, 0.5, 0.5, Number(0.0), note="why")
    ],
    "cells": [
      Line(
        "error",
        "fog",
        level,
        Condition("fog", level),
        0.25,
        0.5,
        Number(-0.25, -0.3, -0.2),
        n=40,
        test=test if level < 3 else lines.Test(),
      )
      for level in (1, 2, 3)
    ],
    "sentences": ["A better than B in 2 of 2 cells."],
    "notes": ["Seeds differ."],
  }
  return lines.Comparison(**fields | changes)


class TablesTest(absltest.TestCase):
  """Comparisons as CSV and Markdown."""

  def test_csv(self):
    text = tables.csv(
      [tables_comparison(), tables_comparison(dataset="other_c")]
    )
    rows = list(csv.DictReader(io.StringIO(text)))
    self.assertLen(rows, 12)
    self.assertEqual(tuple(rows[0]), tables.HEADER)
    self.assertEqual(rows[0]["second_model"], "'=1+1")
    self.assertEqual(float(rows[0]["relative_decrease"]), 0.125)
    self.assertEqual((rows[1]["second"], rows[1]["difference"]), ("", ""))
    self.assertEqual(rows[2]["note"], "why")
    cell = rows[3]
    self.assertEqual(
      (cell["config"], cell["corruption"], cell["severity"], cell["n"]),
      ("fog_1", "fog", "1", "40"),
    )
    self.assertEqual(
      (float(cell["p"]), float(cell["p_holm"]), cell["verdict"]),
      (1e-9, 0.02, "better"),
    )
    self.assertEqual(rows[5]["p"], "")
    self.assertEqual(rows[11]["dataset"], "other_c")

  def test_markdown(self):
    text = tables.text([tables_comparison()])
    self.assertIn("A better than B in 2 of 2 cells.", text)
    self.assertIn("- Seeds differ.", text)
    self.assertIn("| mCE | 70.00 | 80.00 | -10.00 (-20.00 to +5.00) |", text)
    self.assertIn("+12.50 (-5.00 to +30.00) |", text)
    self.assertIn("| Relative mCE | 100.00 | - | - | - |", text)
    self.assertIn("| < 1e-6 | 0.02 | better |", text)
    self.assertIn("| - | - | no test |", text)
    self.assertNotIn("<script>", text)
    for line in text.splitlines():
      if line.startswith("|"):
        self.assertIn(line.replace("\\|", "").count("|"), (6, 8))
