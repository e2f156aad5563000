"""What every figure says of itself and of the runs it takes."""

import dataclasses

from eval.report.figures import base
from robust_tfds import errors
from tests import in_folder
from tests.eval.report.figures import boards


class _Figure(base.PaperFigure):
  def drawn(self, request):
    raise NotImplementedError


_FIGURE = _Figure("taori_f7", "Something", "somewhere", tasks=("video",))
_PICTURES = dataclasses.replace(_FIGURE, needs_runs=True)
_FOLDERS = _Figure("taori_f8", "", needs_folders=("clean", "stylized"))


class PaperFigureTest(in_folder.TestCase):
  def test_a_name_is_the_paper_and_the_number(self):
    self.assertEqual(_FIGURE.stem, "f7")

  def test_status_in_words(self):
    self.assertEqual(_FIGURE.status, "printed; RUNs of video added")
    self.assertEqual(_PICTURES.status, "needs a RUN of video")
    self.assertEqual(_FOLDERS.status, "needs --clean and --stylized")

  def test_boards_of_its_tasks_are_taken_and_others_named(self):
    video, other = boards.board("video"), boards.board("frames")
    request = base.Request(boards=[other, video])
    self.assertEqual(_FIGURE.boards(request), [video])
    self.assertEqual(_FIGURE.unused(request), [other])

  def test_a_figure_of_runs_alone_asks_for_one(self):
    self.assertEmpty(_FIGURE.boards(base.Request()))
    request = base.Request(boards=[boards.board("frames")])
    with self.assertRaisesRegex(errors.UserError, "task video, and none was"):
      _PICTURES.boards(request)

  def test_a_figure_of_folders_asks_for_them(self):
    request = base.Request(clean=self.root, stylized=self.root)
    self.assertEqual(_FOLDERS.folders(request), [self.root, self.root])
    with self.assertRaisesRegex(errors.UserError, "missing: --stylized"):
      _FOLDERS.folders(base.Request(clean=self.root))
    request = base.Request(clean=self.root / "no", stylized=self.root)
    with self.assertRaisesRegex(errors.UserError, "--clean=.*no: no such"):
      _FOLDERS.folders(request)
