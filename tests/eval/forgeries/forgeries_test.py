"""Every forgery has the outcome that its row, and docs/SUBMITTING.md, say."""

import functools
import pathlib

import pytest
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.eval.cells.submissions import checker, contents, rerun
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.compare import runs, scores
from robust_tfds.eval.compare.boards import build
from robust_tfds.eval.compare.boards.board import CONTRADICTED
from tests import in_folder, quick
from tests.eval import tiny_runs
from tests.eval.cells.submissions import door, small
from tests.eval.forgeries import changes, forged, page
from tests.eval.forgeries.rows import ROWS, Catch, Forgery

_FIRST = {row.catch: row for row in reversed(ROWS)}.values()
_SLOW = [row for row in ROWS if row not in _FIRST]


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
        rerun._compare(folder, run, {cell: (again, there)}, cell)
      except errors.UserError:
        count += 1
    return count

  def _written(self, row: Forgery, honest: pathlib.Path) -> pathlib.Path:
    forgery = forged.Forged(honest)
    if row.name in changes.CHANGES:
      changes.CHANGES[row.name](forgery)
    folder = forgery.write(self.root)
    if row.name in changes.OF_FILES:
      changes.OF_FILES[row.name](small.Tampered(folder))
    return folder

  @quick.cases([(row,) for row in _FIRST], [(row,) for row in _SLOW])
  def test_outcome(self, row: Forgery):
    if row.of == "video":
      self.enterContext(tiny_runs.few_videos())
    honest = forged.honest(row.of)
    if row.catch == Catch.CHECK:  # what reads them may refuse to write them
      with self.assertRaisesRegex(errors.UserError, row.says):
        checker.check(self._written(row, honest))
      return
    folder = self._written(row, honest)
    text = checker.check(folder).replace(str(folder), "")
    self.assertStartsWith(text, "consistent")
    if row.catch == Catch.BOARD:
      self.assertIn(row.says, _board(honest, folder))
    elif row.catch == Catch.SAID:
      self.assertIn(row.says, text)
      always = row.says in page.ALWAYS_SAID
      self.assertEqual(row.says in _said(honest), always)
    else:
      self.assertEqual(self._rerun_differs(folder, honest), row.cells)
      self.assertLen(Workdir(honest).cells(), page.CELLS[row.of])

  @parameterized.parameters(
    ("trained_on_test", 1, "reproduced, 2 of 10 cells: "),
    ("one_corrected", 1, "reproduced, 2 of 10 cells: "),  # a false one is left
    (
      "one_corrected",
      3,
      "1 of 359 rows of digits_cnn gaussian_noise_3 come out",
    ),
    ("flat_weights", 1, "of 359 rows of digits_cnn"),
    ("fewer_steps", 1, "- that training digits_cnn as config.json says gives"),
    ("better_weights_one_answer", 1, "Variables do not fit digits_linear"),
  )
  @pytest.mark.slow
  def test_the_command(self, name: str, seed: int, says: str):
    (row,) = [row for row in ROWS if row.name == name]
    folder = self._written(row, forged.honest(row.of))
    status, text = door.run(
      f"--check={folder}", "--rerun=2", f"--rerun_seed={seed}"
    )
    self.assertIn(says, text)
    self.assertEqual(status, 0 if "\nverified:\n" in text else 1)

  def test_there_are_enough(self):
    self.assertGreaterEqual(len(ROWS), 40)
    names = sorted({*changes.CHANGES, *changes.OF_FILES})
    self.assertEqual(sorted(row.name for row in ROWS), names)
    self.assertLen({(r.words, r.of) for r in ROWS}, len(ROWS))

  def test_the_page_has_them(self):
    self.assertIn(page.table(ROWS), page.PAGE.read_text("utf-8"))
