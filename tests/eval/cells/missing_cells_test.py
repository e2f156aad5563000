"""Numbers over cells: empty, with a note, where one is missing."""

from absl.testing import parameterized

from eval.cells import missing_cells
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_FOG = missing_cells.needed(conditions.PICTURES, ["fog"])
_ALL = missing_cells.needed(
  conditions.PICTURES, conditions.PICTURES.names("common")
)


class NoteTest(parameterized.TestCase):
  @parameterized.parameters(
    (_FOG, _FOG, ""),
    (_FOG, _FOG[:2], "missing: fog 3, fog 4, fog 5 (3 of 5)"),
    ([Condition(), *_FOG], _FOG, "missing: clean (1 of 6)"),
    (_FOG, [], "missing: fog 1-5 (5 of 5)"),
    (_FOG[:1], [], "missing: fog 1 (1 of 1)"),
    (_ALL, _FOG[:2], "missing: all but fog 1, fog 2 (73 of 75)"),
    (
      _ALL,
      [c for c in _ALL if c.level in (1, 4)],
      "missing: levels 2, 3, 5 of each (45 of 75)",
    ),
  )
  def test_pictures(self, cells, present, expected):
    self.assertEqual(missing_cells.note(cells, present), expected)

  def test_parts(self):
    for chosen, words in (
      (_FOG[:2], "2 of 75 cells: fog 1, fog 2"),
      ([c for c in _ALL if c.level == 4], "15 of 75 cells: level 4 of each"),
      ([c for c in _ALL if c not in _FOG], "70 of 75 cells: all but fog 1-5"),
    ):
      got = missing_cells.part_note(_ALL, chosen)
      self.assertEqual(got, f"mean over {words}")

  def test_sequences(self):
    family = conditions.SEQUENCES
    cells = missing_cells.needed(family, ["tilt", "shot_noise"])
    self.assertEqual(
      missing_cells.note(cells, [family.condition("shot_noise", 2)]),
      "missing: tilt, shot_noise, shot_noise 3 (3 of 4)",
    )
