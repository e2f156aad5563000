"""Names of pages and files: safe, each once."""

import re

from absl.testing import absltest

from eval.compare import slugs


class SlugsTest(absltest.TestCase):
  def test_safe_and_distinct(self):
    texts = ["A b", "a-B", "../../etc", "<script>", "", "=1", "é", "漢字"]
    names = slugs.Slugs()
    given = [names.of(t) for t in [*texts, *texts, "x" * 500]]
    self.assertLen(set(given), len(given))
    for name in given:
      self.assertTrue(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), name)
      self.assertLess(len(name), 70)

  def test_devices_of_windows_are_no_names(self):
    names = slugs.Slugs()
    self.assertEqual(names.of("Con"), "con-2")
    self.assertEqual([names.of("lpt1"), names.of("nul")], ["lpt1-2", "nul-2"])
    self.assertEqual(names.of("console"), "console")
