"""Two models compared: names, sentences, notes, refusals."""

from eval.compare import runs
from eval.compare.pairs import compare, lines
from robust_tfds import errors
from tests import in_folder
from tests.eval.compare import small_runs


class CompareTest(in_folder.TestCase):
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
      "Where few examples or groups tell two models apart an interval may leave 0"
      " out though the test does not decide: the verdict is the test's.",
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
      "In the first run alone, and not compared: snow_1", got.notes[1]
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

  def test_other_ids(self):
    one = self._run("one", {"a": 0.2})
    other = self._run("other", {"a": 0.2}, prefix="y")
    with self.assertRaisesRegex(errors.UserError, "80 are in one alone"):
      self._compare(one, other)
