"""The one form of what is not here."""

import dataclasses

from absl.testing import absltest

from robust_tfds import errors, missing

_DATA = missing.Lack(
  "a_c: its files",
  "No a.zip in /m.",
  (missing.file_line("a.zip", 10, "0f", "https://a.org"),),
  "as it is, or unpacked",
  "mv a.zip /m/",
)
_FROST = missing.Lack("frost", "Nowhere.", get="get it")


class MissingTest(absltest.TestCase):
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
    line = str(missing.MissingError(lack, again="that"))
    self.assertEndsWith(line, "  2. that")

  def test_collected_or_raised(self):
    lacks = [_DATA]
    with missing.collected(lacks):
      raise missing.MissingError(_FROST)
    self.assertEqual(lacks, [_DATA, _FROST])
    with self.assertRaises(missing.MissingError):
      with missing.collected(None):
        raise missing.MissingError(_FROST)
