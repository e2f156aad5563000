"""Refusals in words, and what is missing."""

import dataclasses
import importlib

from absl.testing import absltest

from robust_tfds import errors, missing


class UnknownTest(absltest.TestCase):
  """Refusals in words: suggestions, packages, what kind of error they are."""

  def test_suggests_the_nearest_and_lists_in_order(self):
    error = errors.unknown_error("corruption", "fogg", iter(["snow", "fog"]))
    self.assertIsInstance(error, errors.UserError)
    self.assertEqual(
      str(error),
      "Unknown corruption 'fogg'. Did you mean 'fog'? Known: snow, fog.",
    )

  def test_no_suggestion_where_nothing_is_near(self):
    text = str(errors.unknown_error("task", "zzz", ["frames"]))
    self.assertEqual(text, "Unknown task 'zzz'. Known: frames.")

  def test_long_lists_are_cut_but_searched_whole(self):
    names = [f"model_{i}_of_many" for i in range(60)]
    text = str(errors.unknown_error("model", "model_59_of_manyy", names))
    self.assertIn("Did you mean 'model_59_of_many'?", text)
    self.assertEndsWith(text, "model_39_of_many, ....")

  def test_names_that_are_no_text(self):
    self.assertIn(
      "Unknown codec 3.", str(errors.unknown_error("codec", 3, ["png"]))
    )


class KindsTest(absltest.TestCase):
  def test_a_refusal_is_a_value_error(self):
    self.assertTrue(issubclass(errors.UserError, ValueError))

  def test_a_missing_package_is_also_an_import_error(self):
    error = errors.missing_package_error("PyAV", "video", "Reading videos")
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
      text = errors.user_fault(error)
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
    self.assertEqual(errors.user_fault(error), "Got 2 boxes.")


_DATA = missing.Lack(
  "a_c: its files",
  "No a.zip in /m.",
  (missing.file_line("a.zip", 10, "0f", "https://a.org"),),
  "as it is, or unpacked",
  "mv a.zip /m/",
)
_FROST = missing.Lack("frost", "Nowhere.", get="get it")


class MissingTest(absltest.TestCase):
  """The one form of what is not here."""

  def test_the_form(self):
    self.assertEqual(
      missing.words([_DATA, _FROST], "run it"),
      "a_c: its files: not here. No a.zip in /m.\n"
      "  file: a.zip, 10 bytes, sha256 0f, from https://a.org\n"
      "  as it is, or unpacked\n"
      "  1. mv a.zip /m/\n"
      "frost: not here. Nowhere.\n"
      "  1. get it\n"
      "  2. run it",
    )

  def test_an_error_of_both_kinds(self):
    error = missing.MissingError(_DATA, _FROST)
    self.assertIsInstance(error, errors.UserError)
    self.assertIsInstance(error, FileNotFoundError)
    self.assertEndsWith(str(error), "  2. the same again")

  def test_what_is_given_the_second_time(self):
    lack = dataclasses.replace(
      _DATA,
      options=(("data.manual_dir", "/m"), ("models.a.checkpoint", "x.npz")),
    )
    self.assertEndsWith(
      str(missing.MissingError(lack, _FROST)),
      "  2. the same again with manual_dir='/m'",
    )
    line = str(missing.MissingError(lack, next_command="that"))
    self.assertEndsWith(line, "  2. that")

  def test_collected_or_raised(self):
    lacks = [_DATA]
    with missing.collected(lacks):
      raise missing.MissingError(_FROST)
    self.assertEqual(lacks, [_DATA, _FROST])
    with self.assertRaises(missing.MissingError):
      with missing.collected(None):
        raise missing.MissingError(_FROST)
