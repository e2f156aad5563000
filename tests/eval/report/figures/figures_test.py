"""Every figure of every paper: drawn from printed numbers, and with runs."""

import csv
import pathlib
from unittest import mock

import numpy as np
import pytest
from absl.testing import absltest, parameterized
from PIL import Image

from robust_tfds import errors
from robust_tfds.eval.report import figures
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from tests.eval.report.figures import boards
from tests.eval.report.reports import contexts

_NAMES = tuple(f.name for f in figures.figures())
_DRAW = style._draw
_WITH_RUNS = tuple(f.name for f in figures.figures() if f.tasks)


def _draw_svg(fig, path, **options) -> None:
  """Draws an SVG, whose text is text, and no pixels."""
  if path.suffix == ".svg":
    _DRAW(fig, path, **options)
  else:
    path.write_bytes(b"a picture")


def figure(name: str) -> base.PaperFigure:
  (one,) = figures.select(name)
  return one


class FiguresTest(parameterized.TestCase):
  def folder(self) -> pathlib.Path:
    return pathlib.Path(self.create_tempdir().full_path)

  def test_they_say_what_they_are(self):
    listing = figures.listing()
    silent = [
      one.name
      for one in figures.figures()
      if not (one.title and one.source and one.name in listing)
      or (one.needs_runs and not one.tasks)
    ]
    self.assertEmpty(silent)

  @parameterized.parameters(*_NAMES)
  def test_is_drawn_from_printed_numbers_or_says_what_it_needs(self, name):
    """As SVG; pixels are drawn by the slow test, and of some here."""
    if _NAMES.index(name) % 8:
      with mock.patch.object(style, "_draw", _draw_svg):
        self.check_drawn(figure(name))
    else:
      self.check_drawn(figure(name))

  @pytest.mark.slow
  def test_pixels_of_all(self):
    for name in _NAMES:
      with self.subTest(name):
        self.check_drawn(figure(name))

  def check_drawn(self, one: base.PaperFigure) -> None:
    folder = self.folder()
    if one.needs_runs:
      with self.assertRaisesRegex(errors.UserError, "none was given"):
        one.draw(base.Request(), folder)
      self.assertEmpty(list(folder.iterdir()))
      return
    if one.needs_folders:
      with self.assertRaisesRegex(errors.UserError, "missing: --"):
        one.draw(base.Request(), folder)
      self.assertEmpty(list(folder.iterdir()))
      return
    files = one.draw(base.Request(), folder)
    self.assertCountEqual(
      [p.name for p in files], [p.name for p in folder.iterdir()]
    )
    self.check_files(one, folder)

  @parameterized.parameters(*_WITH_RUNS)
  def test_runs_are_added(self, name):
    """Under names that are no formula, no markup and no mathematics."""
    one, folder, run = figure(name), self.folder(), self.folder()
    (run / "reports").mkdir()
    for file in ("natural_gallery.png", "action_strips.png"):
      pixels = np.zeros((4, 6, 3), np.uint8)
      Image.fromarray(pixels).save(run / "reports" / file)
    for task in one.tasks[:1]:
      asked = boards.request(task, run, models=(contexts.EVIL, "=1+1", "c"))
      with mock.patch.object(style, "_draw", _draw_svg):
        one.draw(asked, folder)
    self.check_files(one, folder)
    text = (folder / f"{one.name}.csv").read_text("utf-8")
    self.assertIn("own run made_up", text)
    self.assertNotIn("\n=1+1", text)
    for path in folder.glob("*.md"):
      self.assertNotIn("<script", path.read_text("utf-8"))

  def check_files(self, one: base.PaperFigure, folder: pathlib.Path) -> None:
    """A CSV that names sources, a picture or a table; all with its name."""
    suffixes = {p.suffix for p in folder.iterdir()}
    for path in folder.iterdir():
      self.assertStartsWith(path.name, one.name)
      self.assertGreater(path.stat().st_size, 0)
    self.assertIn(".csv", suffixes)
    self.assertTrue({".png", ".md"} & suffixes)
    with open(folder / f"{one.name}.csv", encoding="utf-8") as file:
      head, *lines = csv.reader(file)
    self.assertIn("source", head)
    self.assertNotEmpty(lines)
    for line in lines:
      self.assertLen(line, len(head))
      self.assertNotEmpty(line[head.index("source")])


class RegistryTest(parameterized.TestCase):
  def test_select(self):
    self.assertEqual(figures.select("all"), list(figures.figures()))
    names = [f.name.partition("_")[0] for f in figures.select("shankar")]
    self.assertEqual(set(names), {"shankar"})
    self.assertEqual(figure("shankar_t5").stem, "t5")

  @parameterized.parameters("shankr_t5", "", "figure 5")
  def test_an_unknown_name_lists_the_known(self, name):
    with self.assertRaisesRegex(errors.UserError, "Known: all, .* --list"):
      figures.select(name)

  def test_tables_come_first_and_numbers_in_order(self):
    names = [f.stem for f in figures.select("shankar")]
    self.assertLess(names.index("t5"), names.index("t6"))

  def test_every_paper_has_a_citation(self):
    for paper in figures.papers().values():
      self.assertRegex(paper.citation, r"et al\. 20|and .* 20")


if __name__ == "__main__":
  absltest.main()
