"""What normalises both sides."""

from absl.testing import parameterized

from eval.compare.pairs import baseline
from tests.eval.compare.pairs import sides_case


class BaselineTest(sides_case.TestCase):
  def _with_x(self, name, **options):
    return self.side(name, {"a": 0.2, "x": 0.2}, **options)

  def test_none(self):
    got = baseline.choose(self._with_x("one"), self._with_x("other"))
    self.assertEqual((got.name, got.first, got.note), ("", None, ""))

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
