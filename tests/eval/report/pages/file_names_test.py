"""Names of files: safe, apart, the same whatever else there is."""

import re

from absl.testing import absltest

from robust_tfds.eval.site import file_names
from tests.eval.site.boards import ODD_NAMES


class FileNamesTest(absltest.TestCase):
  def test_names_are_plain_short_and_apart_without_case(self):
    keys = [*ODD_NAMES, "x" * 500, "X" * 500, "", "..", "../../etc/passwd"]
    names = file_names.of_keys(keys)
    self.assertLen(names, len(keys))
    self.assertLen({n.casefold() for n in names.values()}, len(keys))
    for name in names.values():
      self.assertRegex(name, r"^[a-z0-9][a-z0-9_-]{0,79}$")

  def test_a_plain_key_is_its_name_unless_it_is_a_device(self):
    names = file_names.of_keys(["resnet50", "con", "lpt1"])
    self.assertEqual(names["resnet50"], "resnet50")
    self.assertTrue(re.fullmatch(r"con-[0-9a-f]{8}", names["con"]))
    self.assertNotEqual(names["lpt1"], "lpt1")

  def test_a_name_does_not_depend_on_the_others(self):
    alone = file_names.of_keys(["A b"])["A b"]
    self.assertEqual(file_names.of_keys(["z", "A b", "a b"])["A b"], alone)

  def test_a_key_that_is_the_name_of_another_keeps_it(self):
    taken = file_names.of_keys(["A b"])["A b"]
    names = file_names.of_keys(["A b", taken])
    self.assertEqual(names[taken], taken)
    self.assertTrue(names["A b"].startswith(taken))
    self.assertNotEqual(names["A b"], taken)


if __name__ == "__main__":
  absltest.main()
