"""What every figure says of itself and of the runs it takes."""

from absl.testing import absltest
from etils import epath

from robust_tfds import errors
from robust_tfds.eval.report.figures import base
from tests.eval.report.figures import boards


class _Figure(base.PaperFigure):
  title = "Bars"
  source = "printed bars"
  tasks = ("video",)

  def draw(self, request, folder):
    return []


class _Pictures(_Figure):
  needs_runs = True


class _Folders(_Figure):
  tasks = ()
  needs_folders = ("clean", "stylized")


class PaperFigureTest(absltest.TestCase):
  def test_names_come_from_the_place(self):
    one = _Figure()
    self.assertEqual((one.paper, one.stem), ("figures", "base_test"))
    self.assertEqual(one.name, "figures_base_test")

  def test_status_in_words(self):
    self.assertEqual(_Figure().status, "printed; RUNs of video added")
    self.assertEqual(_Pictures().status, "needs a RUN of video")
    self.assertEqual(_Folders().status, "needs --clean and --stylized")

  def test_boards_of_its_tasks_are_taken_and_others_named(self):
    video, other = boards.board("video"), boards.board("frames")
    request = base.Request(boards=[other, video])
    self.assertEqual(_Figure().boards(request), [video])
    self.assertEqual(_Figure().unused(request), [other])

  def test_a_figure_of_runs_alone_asks_for_one(self):
    self.assertEmpty(_Figure().boards(base.Request()))
    request = base.Request(boards=[boards.board("frames")])
    with self.assertRaisesRegex(errors.UserError, "task video, and none was"):
      _Pictures().boards(request)

  def test_a_figure_of_folders_asks_for_them(self):
    place = epath.Path(self.create_tempdir().full_path)
    request = base.Request(clean=place, stylized=place)
    self.assertEqual(_Folders().folders(request), [place, place])
    with self.assertRaisesRegex(errors.UserError, "missing: --stylized"):
      _Folders().folders(base.Request(clean=place))
    request = base.Request(clean=place / "no", stylized=place)
    with self.assertRaisesRegex(errors.UserError, "--clean=.*no: no such"):
      _Folders().folders(request)


if __name__ == "__main__":
  absltest.main()
