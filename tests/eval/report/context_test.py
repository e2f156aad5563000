"""What a context knows of the run's corruptions."""

from absl.testing import absltest

from tests.eval.report.reports import contexts


class ContextTest(absltest.TestCase):
  def test_common_extra_and_missing(self):
    names = "fog", "snow", "spatter"
    context = contexts.of_task("classification", names=names)
    self.assertEqual(context.common, ["fog", "snow"])
    self.assertEqual(context.extra, ["spatter"])
    self.assertLen(context.missing, 13)
    self.assertNotIn("fog", context.missing)
    self.assertEqual(context.group("spatter"), "weather")

  def test_rows_over_all_models_are_no_model(self):
    context = contexts.of_task("frames")
    self.assertIn("", {r.model for r in context.rows})
    self.assertEqual(context.models, ["ours", "base"])
