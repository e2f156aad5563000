"""What is drawn, what is left out, and what is said of it."""

import pathlib

from absl.testing import absltest

from eval.report import figures
from eval.report.figures import base, drawing
from robust_tfds import errors
from tests.eval.report.figures import boards


class _Pictures(base.PaperFigure):
  def drawn(self, request):
    self.boards(request)
    raise NotImplementedError


_PICTURES = _Pictures(
  "taori_f7",
  "Pictures",
  "no paper prints them",
  tasks=("video",),
  needs_runs=True,
)


class DrawingTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path) / "new"
    self.said = []

  def draw(self, figures, **asked):
    request = base.Request(**asked)
    return drawing.draw(figures, request, self.folder, self.said.append)

  def test_files_are_named(self):
    files = self.draw(figures.select("shankar_t5"))
    self.assertTrue(all(f.exists() for f in files))
    self.assertEqual(self.said, ["shankar_t5: shankar_t5.md, shankar_t5.csv"])

  def test_runs_of_other_tasks_are_named(self):
    self.draw(figures.select("shankar_t5"), boards=[boards.board("video")])
    self.assertIn(
      "takes runs of frames; not used: made_up (video)", self.said[-1]
    )

  def test_one_that_cannot_be_drawn_is_refused(self):
    with self.assertRaisesRegex(errors.UserError, "no paper prints them"):
      self.draw([_PICTURES])

  def test_of_several_the_others_are_drawn(self):
    files = self.draw([_PICTURES, *figures.select("shankar_t5")])
    self.assertLen(files, 2)
    self.assertRegex(self.said[-1], "not drawn. .*no paper prints them")

  def test_none_of_several(self):
    with self.assertRaisesRegex(errors.UserError, "None of these figures"):
      self.draw([_PICTURES, _PICTURES])
    self.assertLen(self.said, 1)

  def test_a_request_without_runs(self):
    asked = base.Request(condition="jpeg_5")
    self.assertEqual(drawing.add_runs(asked, []), asked)
