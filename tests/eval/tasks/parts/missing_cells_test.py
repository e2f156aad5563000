"""Numbers over cells: empty, with a note, where one is missing."""

from absl.testing import absltest, parameterized

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import cell as cells_lib
from robust_tfds.eval.tasks.parts import missing_cells

_FOG = missing_cells.needed(conditions.PICTURES, ["fog"])


class NoteTest(parameterized.TestCase):
  @parameterized.parameters(
    (_FOG, _FOG, ""),
    (_FOG, _FOG[:2], "missing: fog 3, fog 4, fog 5 (3 of 5)"),
    ([Condition(), *_FOG], _FOG, "missing: clean (1 of 6)"),
    (_FOG, [], "missing: fog 1-5 (5 of 5)"),
    (_FOG[:1], [], "missing: fog 1 (1 of 1)"),
  )
  def test_pictures(self, cells, present, expected):
    self.assertEqual(missing_cells.note(cells, present), expected)

  def test_sequences(self):
    family = conditions.SEQUENCES
    cells = missing_cells.needed(family, ["tilt", "shot_noise"])
    self.assertEqual(
      missing_cells.note(cells, [family.condition("shot_noise", 2)]),
      "missing: tilt, shot_noise, shot_noise 3 (3 of 4)",
    )


class NumbersTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    row = cells_lib.Cell("m", "d", Condition()).row("error", 0.5)
    self.summary = cells_lib.Summary.of([row])

  def test_all_there(self):
    numbers = missing_cells.Numbers(self.summary, _FOG)
    (row,) = numbers.rows("fog", "ce", 0.5, _FOG, (0.4, 0.6), 9)
    self.assertEqual((row.value, row.lo, row.n, row.note), (0.5, 0.4, 9, ""))

  def test_undefined(self):
    numbers = missing_cells.Numbers(self.summary, _FOG)
    (row,) = numbers.rows("fog", "ce", 0.5, _FOG, why="undefined: so it is")
    self.assertFalse(row.has_value)
    self.assertEqual(row.note, "undefined: so it is")

  def test_one_missing_empties_the_number(self):
    numbers = missing_cells.Numbers(self.summary, _FOG[1:])
    (row,) = numbers.rows("fog", "ce", 0.5, _FOG, (0.4, 0.6), 9)
    self.assertFalse(row.has_value)
    self.assertEqual((row.lo, row.hi, row.n), (None, None, None))
    self.assertEqual(row.note, "missing: fog 1 (1 of 5)")

  def test_what_was_not_asked_for_has_no_row(self):
    numbers = missing_cells.Numbers(self.summary, [Condition()])
    self.assertEmpty(numbers.rows("fog", "ce", None, [Condition(), *_FOG]))
    numbers = missing_cells.Numbers(self.summary, _FOG)
    self.assertEmpty(numbers.rows("", "mpc_all", None, _FOG, asked=[]))


if __name__ == "__main__":
  absltest.main()
