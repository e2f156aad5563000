"""Every forgery has the outcome that its row, and docs/SUBMITTING.md, say."""

import functools
import pathlib

from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.eval.cells.submissions import checker, contents, rerun
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.compare import runs, scores
from robust_tfds.eval.compare.boards import build
from robust_tfds.eval.compare.boards.board import CONTRADICTED
from tests import in_folder
from tests.eval import tiny_runs
from tests.eval.cells.submissions import small
from tests.eval.forgeries import forged, page
from tests.eval.forgeries.rows import ROWS, Catch, Forgery


@functools.cache
def _said(honest: pathlib.Path) -> str:
  """What `--check` says of a submission that nobody forged."""
  return checker.check(honest)


def _board(*folders: pathlib.Path) -> str:
  """What a board of some submissions says of its entries."""
  scored = [
    s
    for run in runs.read([str(f) for f in folders])
    for s in scores.of_run(run, lambda _: None)
  ]
  boards = build.boards(scored)
  entries = [e for board in boards for e in board.entries]
  assert all(e.rank is None for e in entries if e.state == CONTRADICTED)
  notes = [note for board in boards for note in board.notes]
  return " ".join([*notes, *(e.remark for e in entries)])


class ForgeriesTest(in_folder.TestCase):
  def _rerun_differs(self, folder: pathlib.Path, honest: pathlib.Path) -> int:
    """How many cells come out otherwise than the submission says."""
    run, there, count = contents.read(folder), Workdir(honest), 0
    of_honest = {(c.model, c.condition): c for c in there.cells()}
    for cell in run.cells:
      again = of_honest[cell.model, cell.condition]
      try:
        rerun._check_facts(folder, cell, again, ())
        rerun._compare(folder, {cell: (again, there)}, cell, run.columns(cell))
      except errors.UserError:
        count += 1
    return count

  def _written(self, row: Forgery, forgery: forged.Forged) -> pathlib.Path:
    folder = forgery.write(self.root)
    row.after(small.Tampered(folder))
    return folder

  @parameterized.named_parameters(
    (f"{i:02d}_{r.of}", r) for i, r in enumerate(ROWS)
  )
  def test_outcome(self, row: Forgery):
    if row.of == "video":
      self.enterContext(tiny_runs.few_videos())
    honest = forged.honest(row.of)
    forgery = forged.Forged(honest)
    row.change(forgery)
    if row.catch == Catch.CHECK:  # what reads them may refuse to write them
      with self.assertRaisesRegex(errors.UserError, row.says):
        checker.check(self._written(row, forgery))
      return
    folder = self._written(row, forgery)
    if row.catch == Catch.BOARD:
      self.assertStartsWith(checker.check(folder), "consistent")
      self.assertIn(row.says, _board(honest, folder))
      return
    text = checker.check(folder).replace(str(folder), "")
    before = _said(honest)
    self.assertStartsWith(text, "consistent")
    if row.catch == Catch.SAID:
      self.assertIn(row.says, text)
      if row.says not in page.ALWAYS_SAID:
        self.assertNotIn(row.says, before)
      return
    self.assertEqual(self._rerun_differs(folder, honest), row.cells)
    self.assertLen(Workdir(honest).cells(), page.CELLS[row.of])

  def test_there_are_enough(self):
    self.assertGreaterEqual(len(ROWS), 40)
    self.assertLen({(r.words, r.of) for r in ROWS}, len(ROWS))

  def test_the_page_has_them(self):
    self.assertIn(page.table(ROWS), page.PAGE.read_text("utf-8"))
