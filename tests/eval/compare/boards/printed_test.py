"""Printed rows beside runs: their source, and when they are ranked."""

from absl.testing import absltest

from eval.compare import slugs
from eval.compare.boards import board as board_lib
from eval.compare.boards import printed

_OURS = {
  "dataset": "imagenet_c",
  "examples": 50_000,
  "codec": "jpeg85",
  "edition": "imagenet",
  "split": "validation",
  "px": [224, 224],
  "subset": "",
}


class PrintedTest(absltest.TestCase):
  def _entries(self, baseline="alexnet", **others):
    return printed.entries({**_OURS, **others}, baseline, slugs.Slugs())

  def test_of_the_protocol(self):
    entries = {e.model: e for e in self._entries()}
    alexnet = entries["AlexNet"]
    self.assertEqual(alexnet.number("mce").value, 1.0)
    self.assertEqual(alexnet.number("ce", "fog").value, 1.0)
    self.assertEqual(alexnet.remark, "")
    self.assertEqual(alexnet.state, board_lib.PRINTED)
    self.assertIn("Hendrycks", alexnet.source)
    self.assertLen({e.key for e in entries.values()}, len(entries))

  def test_of_another_protocol(self):
    for others, words in (
      ({"codec": "raw"}, "codec jpeg85, here raw"),
      ({"examples": 242}, "examples 50000, here 242"),
      ({"subset": "robustbench5k"}, "subset none, here robustbench5k"),
      ({"codec": None}, "codec jpeg85, here unknown"),
      ({"baseline": "mine, of the same run"}, "here mine, of the same run"),
    ):
      for entry in self._entries(**others):
        self.assertStartsWith(entry.remark, "another protocol: ")
        self.assertIn(words, entry.remark)

  def test_a_doubtful_number_is_recomputed_and_says_so(self):
    entries = {e.model: e for e in self._entries(dataset="hmdb51_p")}
    number = entries["X3D, scratch"].number("gamma_r/digital")
    self.assertAlmostEqual(number.value, 0.8733, delta=5e-5)
    self.assertIn("0.873, printed 0.13 (shown recomputed)", number.note)
    self.assertEmpty(entries["X3D, scratch"].number("gamma_a/digital").note)
    (words,) = printed.doubts(entries.values())
    self.assertIn("X3D, scratch", words)
    self.assertEmpty(printed.doubts(self._entries(dataset="digits_c")))

  def test_of_no_paper(self):
    self.assertEmpty(self._entries(dataset="digits_c"))
