"""Tables 4 to 7: a line a perturbation and group."""

import pathlib

from absl.testing import absltest

from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures import base
from tests.eval.report.figures import boards


class PerturbationTableTest(absltest.TestCase):
  def text(self, name, **asked) -> str:
    folder = pathlib.Path(self.create_tempdir().full_path)
    (figure,) = figures.select(name)
    figure.draw(base.Request(**asked), folder)
    return (folder / f"{name}.md").read_text("utf-8")

  def test_lines_and_columns(self):
    text = self.text("schiappa_t5")
    lines = [x for x in text.splitlines() if x.startswith("| ")]
    self.assertLen(lines, 1 + 18 + 5)
    self.assertIn(
      "| gaussian noise | 0.64 | 0.42 | 0.45 | 0.12 | 0.74 | 0.57 |", text
    )
    self.assertIn("| all blur |", text)
    self.assertIn("Doubtful: I3D", text)

  def test_own_columns_are_said_to_be_of_other_data(self):
    text = self.text("schiappa_t5", boards=[boards.board("video")])
    self.assertIn("| ours gamma\\_a | ours gamma\\_r |", text)
    self.assertIn("not comparable with the printed numbers", text)


if __name__ == "__main__":
  absltest.main()
