"""A whole site: files, links between pages, size."""

import pathlib
import posixpath

import pytest
from absl.testing import absltest

from eval.metrics import definitions
from eval.report.pages import site
from robust_tfds import errors
from tests.eval.report.pages import boards, html_check

_MOST_BYTES = 5_000_000


class SiteTest(absltest.TestCase):
  def _write(self, listed) -> pathlib.Path:
    folder = pathlib.Path(self.create_tempdir().full_path) / "new" / "site"
    paths = site.write(listed, folder)
    self.assertEqual(paths[0].name, "index.html")
    files = {p for p in folder.rglob("*") if p.is_file()}
    self.assertEqual({pathlib.Path(p) for p in paths}, files)
    self.assertLen(paths, len(files))
    return folder

  def test_no_link_leads_nowhere_and_every_page_is_reached(self):
    folder = self._write(boards.several())
    ids, links = {}, {}
    for path in folder.rglob("*.html"):
      page = html_check.Page(path.read_text("utf-8"))
      self.assertEmpty(page.faults, path)
      name = path.relative_to(folder).as_posix()
      ids[name], links[name] = page.ids, page.links
    seen = {"index.html"}
    for start, of_page in links.items():
      for link in of_page:
        target, _, mark = link.partition("#")
        place = posixpath.normpath(
          posixpath.join(posixpath.dirname(start), target)
        )
        if not target:
          continue
        self.assertTrue((folder / place).is_file(), f"{start}: {link}")
        if mark:
          self.assertIn(mark, ids[place], f"{start}: {link}")
        seen.add(place)
    self.assertEqual(
      seen, {p.relative_to(folder).as_posix() for p in folder.rglob("*.*")}
    )

  @pytest.mark.slow
  def test_a_hundred_models_of_96_conditions_are_small(self):
    board = boards.classification(100)
    self.assertGreaterEqual(len(board.conditions), 96)
    folder = self._write([board])
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    self.assertLess(size, _MOST_BYTES)

  def test_equal_boards_write_equal_bytes(self):
    one, other = (
      self._write([boards.classification(2), boards.frames()]) for _ in range(2)
    )
    for path in one.rglob("*.*"):
      twin = other / path.relative_to(one)
      self.assertEqual(path.read_bytes(), twin.read_bytes(), path)

  def test_all_definitions_are_there(self):
    page = html_check.Page(site.definitions_page())
    self.assertEmpty(page.faults)
    for topic in definitions.topics():
      for metric in topic.metrics:
        self.assertIn(definitions.anchor(topic, metric), page.ids)
        for text in (metric.words, metric.formula, metric.source):
          self.assertIn(text, page.text)

  def test_no_boards(self):
    self._write([])

  def test_a_folder_that_cannot_be_written(self):
    file = self.create_tempfile().full_path
    with self.assertRaisesRegex(errors.UserError, "folder belongs"):
      site.write([boards.frames()], file)
