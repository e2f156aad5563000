"""Baselines: published, of the run, or none."""

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.eval.tasks.parts import baselines


class BaselinesTest(absltest.TestCase):
  def test_model_label(self):
    self.assertEqual(baselines.model_label("model:a:b"), "a:b")
    self.assertEqual(baselines.model_label("alexnet"), "")

  def test_accepted(self):
    for baseline in ("", "alexnet", "model:mine"):
      baselines.check(baseline, ["mine"])

  def test_refusals(self):
    with self.assertRaisesRegex(
      errors.UserError, "Unknown baseline 'alexnett'. Did you mean 'alexnet'"
    ):
      baselines.check("alexnett", [])
    with self.assertRaisesRegex(
      errors.UserError, "Unknown baseline model 'min'. Did you mean 'mine'"
    ):
      baselines.check("model:min", ["mine"])


if __name__ == "__main__":
  absltest.main()
