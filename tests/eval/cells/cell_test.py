"""A cell's rows and its note."""

import dataclasses

import numpy as np
from absl.testing import absltest, parameterized

from eval.cells import cell as cells_lib
from eval.cells.files import note as note_lib
from robust_tfds import conditions

_FOG = cells_lib.Cell(
  "m", "digits_c", conditions.PICTURES.parse("fog_3"), 7, "0123456789ab"
)


def _note(cell: cells_lib.Cell) -> note_lib.Note:
  split = note_lib.split_of("test", np.array(["a"]))
  return note_lib.make(cell.note(), split, {}, note_lib.File.of(b""))


class CellTest(parameterized.TestCase):
  def test_row(self):
    row = _FOG.row("error", 1, (0, None), 9)
    self.assertEqual((row.model, row.dataset), ("m", "digits_c"))
    self.assertEqual((row.config, row.corruption), ("fog_3", "fog"))
    self.assertEqual((row.severity, row.seed, row.n), (3, 7, 9))
    self.assertEqual((row.value, row.lo, row.hi), (1.0, 0.0, None))
    self.assertEqual(row.fingerprint, "0123456789ab")
    self.assertEqual(_FOG.row("x", 1, level=0).severity, 0)

  def test_what_is_undefined_says_so(self):
    row = _FOG.row("x", float("nan"), (float("nan"), 1))
    self.assertEqual((row.note, row.lo), ("undefined", None))
    self.assertFalse(row.has_value)

  def test_clean(self):
    row = cells_lib.Cell("m", "d", conditions.Condition()).row("error", 0.5)
    self.assertEqual((row.config, row.corruption), ("clean", ""))
    self.assertEqual(row.severity, 0)

  @parameterized.parameters(
    *(
      (kind, c.config)
      for kind, family in conditions.FAMILIES.items()
      for c in family.conditions()[:3]
    )
  )
  def test_a_note_gives_the_cell_again(self, kind, config):
    condition = conditions.parse(config, kind)
    cell = cells_lib.Cell("m", "d", condition, 3, "f")
    self.assertEqual(cells_lib.Cell.of_note(_note(cell)), cell)

  def test_classes_without_an_output(self):
    cell = dataclasses.replace(_FOG, without_output=2, random=True)
    row = cell.row("error", 1, note="few")
    self.assertEqual(row.note, "few; random model; 2 classes without an output")
    summary = cells_lib.Summary.of([row]).row("", "mce", 0.5)
    self.assertEqual(summary.note, "random model; 2 classes without an output")
    one = dataclasses.replace(_FOG, without_output=1).row("error", 1)
    self.assertEqual(one.note, "1 class without an output")
    self.assertEqual(cells_lib.Cell.of_note(_note(cell)), cell)

  def test_a_note_says_nothing_of_outputs_where_all_classes_have_one(self):
    note = _note(_FOG)
    self.assertNotIn("without_output", note.dumps())
    lacking = _note(dataclasses.replace(_FOG, without_output=2))
    self.assertIn('"without_output": 2', lacking.dumps())
    self.assertNotEqual(note.checksum, lacking.checksum)

  def test_place(self):
    self.assertEqual(_FOG.place, ("m", "digits_c", "fog_3", "seed7"))
    self.assertEqual(_note(_FOG).place, _FOG.place)


class SummaryTest(absltest.TestCase):
  def _rows(self, *fingerprints):
    return [
      cells_lib.Cell("m", "d", conditions.Condition(), 7, f).row("error", 0.5)
      for f in fingerprints
    ]

  def test_row(self):
    summary = cells_lib.Summary.of(self._rows("a", "b"))
    row = summary.row("fog", "ce", 2)
    self.assertEqual((row.model, row.dataset, row.seed), ("m", "d", 7))
    self.assertEqual((row.config, row.corruption), ("", "fog"))
    self.assertIsNone(row.severity)
    self.assertEqual(row.value, 2.0)

  def test_fingerprint_covers_cells_and_baseline_but_no_order(self):
    marks = [
      cells_lib.Summary.of(self._rows(*f), baseline).fingerprint
      for f, baseline in (("ab", ""), ("ba", ""), ("ac", ""), ("ab", "alexnet"))
    ]
    self.assertEqual(marks[0], marks[1])
    self.assertLen(set(marks), 3)
