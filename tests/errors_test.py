"""Refusals in words: suggestions, packages, what kind of error they are."""

import importlib

from absl.testing import absltest

from robust_tfds import errors


class UnknownTest(absltest.TestCase):
  def test_suggests_the_nearest_and_lists_in_order(self):
    error = errors.unknown("corruption", "fogg", iter(["snow", "fog"]))
    self.assertIsInstance(error, errors.UserError)
    self.assertEqual(
      str(error),
      "Unknown corruption 'fogg'. Did you mean 'fog'? Known: snow, fog.",
    )

  def test_no_suggestion_where_nothing_is_near(self):
    text = str(errors.unknown("task", "zzz", ["frames"]))
    self.assertEqual(text, "Unknown task 'zzz'. Known: frames.")

  def test_long_lists_are_cut_but_searched_whole(self):
    names = [f"model_{i}_of_many" for i in range(60)]
    text = str(errors.unknown("model", "model_59_of_manyy", names))
    self.assertIn("Did you mean 'model_59_of_many'?", text)
    self.assertEndsWith(text, "model_39_of_many, ....")

  def test_names_that_are_no_text(self):
    self.assertIn("Unknown codec 3.", str(errors.unknown("codec", 3, ["png"])))


class KindsTest(absltest.TestCase):
  def test_a_refusal_is_a_value_error(self):
    self.assertTrue(issubclass(errors.UserError, ValueError))

  def test_a_missing_package_is_also_an_import_error(self):
    error = errors.missing_package("PyAV", "video", "Reading videos")
    self.assertIsInstance(error, errors.UserError)
    self.assertIsInstance(error, ImportError)
    self.assertEqual(
      str(error),
      "Reading videos needs PyAV, which is not installed:"
      " pip install 'robust_tfds[video]'.",
    )


def _fails():
  raise KeyError("conv1\nand more")


class OfUserTest(absltest.TestCase):
  def test_the_type_the_first_line_and_the_place(self):
    try:
      _fails()
    except KeyError as error:
      text = errors.of_user(error)
    self.assertRegex(
      text,
      r"^KeyError: 'conv1\\nand more' \(.*errors_test.py, line \d+\)$",
    )

  def test_our_lines_are_not_the_users(self):
    for name in ("eval.run.plan", "models.spec", "robust_tfds.conditions"):
      module = importlib.import_module(name)
      self.assertTrue(errors._installed(module.__file__), name)
    self.assertFalse(errors._installed(__file__))

  def test_of_a_function_that_jax_called_on_the_host(self):
    error = RuntimeError(
      "INTERNAL: Traceback (most recent call last):\n  File x\n"
      "robust_tfds.errors.UserError: Got 2 boxes."
    )
    self.assertEqual(errors.of_user(error), "Got 2 boxes.")
