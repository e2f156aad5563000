"""docs/evidence/FIDELITY.md is what its tool writes, of what was measured."""

import contextlib
import io
import pathlib
import shutil
import sys
from unittest import mock

import pytest
from absl.testing import absltest

from robust_tfds import conditions
from tests.corruptions import replays
from tools import fidelity, fidelity_page

_ROWS = fidelity.stored()


def _of(*kinds: str) -> dict[str, fidelity.Row]:
  return {row.name: row for row in _ROWS if row.kind in kinds}


class FidelityPageTest(absltest.TestCase):
  def test_the_page_is_of_these_measurements(self):
    self.assertEqual(
      fidelity_page.FILE.read_text("utf-8"),
      fidelity_page.text(_ROWS),
      "run python -m tools.fidelity_page --stored",
    )

  def test_every_corruption_of_pictures_was_compared(self):
    names = conditions.PICTURES.names("all")
    self.assertCountEqual(_of("image", "drawn"), names)
    for name in names:
      self.assertIn(f"\n| `{name}` | ", fidelity_page.text(_ROWS))

  def test_the_claims_of_the_first_table(self):
    for row in _ROWS:
      self.assertLessEqual(row.worst, 1, row)
      self.assertLess(float(row.mean), 0.15, row)
    for row in _of("drawn").values():
      self.assertLess(float(row.statistic), 1, row)
    self.assertIn("| 44 of 48 printed numbers", fidelity_page.text(_ROWS))

  def test_the_page_in_words_has_this_rate(self):
    """Of docs/FIDELITY.md, which is written by hand."""
    page = fidelity_page.FILE.parents[1] / "FIDELITY.md"
    text = " ".join(page.read_text("utf-8").split())
    self.assertIn(f"{fidelity_page._rate()} printed detection numbers", text)

  def test_without_the_photographs_it_says_what_is_missing(self):
    before = fidelity.FILE.read_bytes()
    with (
      mock.patch.dict("os.environ", {"ROBUST_TFDS_SHARED": "/nowhere"}),
      mock.patch.object(sys, "argv", ["fidelity_page"]),
      self.assertRaisesRegex(
        SystemExit, "^Error: .*ROBUST_TFDS_SHARED.*-stored"
      ),
    ):
      fidelity_page.main()
    self.assertEqual(fidelity.FILE.read_bytes(), before)


class MeasuredTest(absltest.TestCase):
  def test_a_corruption(self):
    """What takes seconds: small pictures alone are no worse than all."""
    replays.use_frost()
    cells = [cell for cell in replays.CELLS if cell[0] == "cifar32"]
    row = fidelity.drawn("gaussian_noise", cells[:2], ["cifar32"])
    whole = _of("drawn")["gaussian_noise"]
    self.assertEqual(row.outputs, 2)
    self.assertLessEqual(row.worst, whole.worst)
    self.assertLessEqual(float(row.statistic), float(whole.statistic))

  @pytest.mark.slow
  def test_all(self):
    """Random draws and compilers may move a last digit, no level."""
    for row, stored in zip(fidelity.measured(), _ROWS, strict=True):
      what = (row.kind, row.name, row.outputs, row.worst)
      self.assertEqual(
        what, (stored.kind, stored.name, stored.outputs, stored.worst)
      )
      for key in ("mean", "differing", "statistic"):
        ours, theirs = getattr(row, key) or 0, getattr(stored, key) or 0
        self.assertAlmostEqual(float(ours), float(theirs), delta=0.02, msg=what)


class StoredTest(absltest.TestCase):
  def test_the_stored_page_writes_what_is_there(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    page, table = folder / "FIDELITY.md", folder / "fidelity.tsv"
    with mock.patch.object(fidelity, "FILE", table):
      fidelity.store(_ROWS)
      self.assertEqual(fidelity.stored(), _ROWS)
    self.assertEqual(table.read_bytes(), fidelity.FILE.read_bytes())
    shutil.copy(fidelity_page.FILE.with_name("DETECTION_TABLES.md"), folder)
    with (
      mock.patch.object(fidelity_page, "FILE", page),
      mock.patch.object(sys, "argv", ["fidelity_page", "--stored"]),
      contextlib.redirect_stdout(io.StringIO()) as printed,
    ):
      fidelity_page.main()
    self.assertEqual(page.read_bytes(), fidelity_page.FILE.read_bytes())
    self.assertEqual(printed.getvalue(), f"wrote {page}\n")
