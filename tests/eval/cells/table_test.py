"""The table of a workdir: its columns, numbers, names and overlays."""

import csv
import math
import pathlib

import numpy as np
from absl.testing import absltest, parameterized

from eval.cells import missing_cells, names, table
from eval.cells.files import columns as columns_lib
from eval.cells.number import Number
from robust_tfds import conditions, errors
from robust_tfds.conditions import Condition

_FOG = conditions.PICTURES.parse("fog_3")


def _columns(**changes) -> dict[str, np.ndarray]:
  ids = np.array(["a", "b"])
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(2, np.int32),
    "label": np.zeros(2, np.int32),
    "top5": np.zeros((2, 5), np.int32),
    **changes,
  }


class ColumnsTest(parameterized.TestCase):
  @parameterized.parameters(
    ({"zipf": np.zeros(2)}, "'zipf' is none of the task classification"),
    ({"boxes": np.zeros((2, 1, 4))}, "'boxes' is none of the task"),
    ({"top5": np.zeros(2, int)}, "top5: got int64 of shape.*of 2 dimensions"),
    ({"frame": np.array(["a", "b"])}, "frame: got <U1"),
    ({"label": np.zeros(2)}, "label: got float64 .* expected whole numbers"),
    ({"label": None}, "the column 'label' .*is missing"),
  )
  def test_refusals(self, changes, message):
    given = {k: v for k, v in _columns(**changes).items() if v is not None}
    with self.assertRaisesRegex(errors.UserError, f"^f.npz: .*{message}"):
      columns_lib.check("f.npz", given, "classification", _FOG)

  @parameterized.parameters(
    ("nll", -1e-3), ("brier", 2.1), ("flips", 1.1), ("t5d", 15.1),
    ("zipf", -1.5), ("linf", 1.1), ("value", 1.1),
  )  # fmt: skip
  def test_values_between_which_means_lie(self, name, wrong):
    good = np.array([0.0, 1, np.nan])
    columns_lib.check_ranges("f.npz", {name: good, "top5": good - 9})
    with self.assertRaisesRegex(
      errors.UserError, rf"^f\.npz: {name}: got {wrong:g}, expected numbers in"
    ):
      columns_lib.check_ranges("f.npz", {name: np.append(good, wrong)})


class NumberTest(absltest.TestCase):
  """Numbers with intervals."""

  def test_an_interval_has_two_finite_ends(self):
    self.assertEqual(Number(0.5, 0.0, 1.0).interval, (0.0, 1.0))
    for ends in ((), (0.1,), (None, 0.2), (-math.inf, 0.2), (0.1, math.inf)):
      self.assertIsNone(Number(0.5, *ends).interval, ends)


class NamesTest(parameterized.TestCase):
  """Users' names as folders."""

  @parameterized.parameters(
    ("resnet50", "resnet50"),
    ("v1.5+aug_x-2", "v1.5+aug_x-2"),
    ("größe", "größe"),
    ("google/vit", "google%2Fvit"),
    ("google-vit", "google-vit"),
    ("a b%", "a%20b%25"),
    ("..", "%2E%2E"),
    (".hidden", "%2Ehidden"),
    ("end.", "end%2E"),
    ("../../etc", "%2E.%2F..%2Fetc"),
    ("C:\\x", "C%3A%5Cx"),
  )
  def test_folder(self, name, folder):
    self.assertEqual(names.folder_name(name), folder)


def _row(**changes) -> table.Row:
  row = dict(
    model="a,b",
    dataset="digits_c",
    config="fog_3",
    corruption="fog",
    severity=3,
    metric="error",
    value=0.1,
    lo=0.05,
    hi=1 / 3,
    n=360,
    seed=0,
    fingerprint="0123456789ab",
  )
  return table.Row(**{**row, **changes})


class TableTest(parameterized.TestCase):
  """The tidy table: equal runs write equal bytes, bad files are refused."""

  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / "table.csv"

  def test_reads_back_what_it_wrote(self):
    rows = [
      _row(),
      _row(config="", severity=None, lo=None, hi=None, n=None, metric="ce"),
      _row(model='quoted "name"\nwith a line', value=1e-17, lo=None),
      _row(value=math.nan, lo=None, hi=None, note="missing: fog 3 (1 of 75)"),
    ]
    table.write(rows, self.path)
    read = table.read(self.path)
    self.assertEqual(read[:3], rows[:3])
    # From Python 3.13 on a row with NaN is not equal to itself.
    self.assertEqual(repr(read), repr(rows))

  def test_header_is_the_documented_one(self):
    self.assertEqual(
      table.dumps([]),
      "model,dataset,config,corruption,severity,metric,value,lo,hi,n,seed,note,"
      "fingerprint\n",
    )

  def test_rows_of_each_cell_and_those_over_cells(self):
    tilt = {"config": "tilt", "corruption": "tilt", "severity": 1}
    harder, over = _row(**{**tilt, "severity": 2}), _row(config="")
    rows = [_row(**tilt), harder, over]
    cells = table.group_by_cell(rows, "sequences")
    of_tilt = conditions.SEQUENCES.condition("tilt", 1)
    self.assertEqual(cells, {of_tilt: rows[:1], None: [harder, over]})

  @parameterized.parameters(
    ("value", "inf", "expected a finite number"),
    ("value", "nan", "the note does not say why"),
    ("value", "", "the note does not say why"),
    ("lo", "nan", "expected a finite number"),
    ("lo", "0.2", "expected lo <= value <= hi"),
    ("hi", "0.05", "expected lo <= value <= hi"),
    ("n", "-1", "expected at least 0"),
    ("n", "1.5", "column 'n'"),
    ("severity", "-2", "expected at least 0"),
    ("seed", "", "expected a whole number"),
    ("metric", "", "column 'metric' is empty"),
  )
  def test_what_is_written_is_what_can_be_read(self, column, text, message):
    good = table.dumps([_row()]).splitlines()[1]
    (cells,) = csv.reader([good])
    cells[table.COLUMNS.index(column)] = text
    with self.path.open("w", newline="") as f:
      csv.writer(f).writerows([table.COLUMNS, cells])
    with self.assertRaisesRegex(
      errors.UserError, f"table.csv: line 2.*{message}"
    ):
      table.read(self.path)

  @parameterized.parameters(
    {"value": math.inf},
    {"value": math.nan},
    {"lo": 0.2},
    {"n": -1},
    {"n": True},
    {"severity": 1.5},
    {"model": None},
    {"value": "0.1"},
  )
  def test_a_bad_row_is_not_written(self, **change):
    with self.assertRaisesRegex(ValueError, "Row 2 of the table"):
      table.dumps([_row(), _row(**change)])

  @parameterized.parameters(
    "=cmd|' /C calc'!A0", "+1", "-x", "@a", "\tb", "'=x", "''=x"
  )
  def test_text_that_spreadsheets_run_is_marked(self, text):
    row = _row(model=text, note="-x")
    self.path.write_bytes(table.dumps([row]).encode())
    _, cells = csv.reader(self.path.open(newline=""))
    self.assertIn(f"'{text}", cells)
    self.assertIn("'-x", cells)
    self.assertEqual(table.read(self.path), [row])

  @parameterized.parameters("a=b", "'tis", "'", " =x", "0")
  def test_other_text_stays(self, text):
    row = _row(model=text)
    self.path.write_text(table.dumps([row]))
    _, cells = csv.reader(self.path.open(newline=""))
    self.assertIn(text, cells)
    self.assertEqual(table.read(self.path), [row])

  def test_other_files_are_refused(self):
    for data, message in (
      (b"", "expected the columns"),
      (b"\xff\xfea", "UTF-16"),
      (b"\x1f\x8b", "gzip"),
      (table.dumps([]).encode() + b'"a', "table.csv: line 2"),
    ):
      self.path.write_bytes(data)
      with self.assertRaisesRegex(errors.UserError, message):
        table.read(self.path)

  def test_short_line_is_refused(self):
    self.path.write_text(",".join(table.COLUMNS) + "\na,b\n")
    with self.assertRaisesRegex(ValueError, "line 2: 13 cells expected, got 2"):
      table.read(self.path)


_MISSING_CELLS_FOG = missing_cells.needed(conditions.PICTURES, ["fog"])
_ALL = missing_cells.needed(
  conditions.PICTURES, conditions.PICTURES.names("common")
)


class NoteTest(parameterized.TestCase):
  """Numbers over cells: empty, with a note, where one is missing."""

  @parameterized.parameters(
    (_MISSING_CELLS_FOG, _MISSING_CELLS_FOG, ""),
    (
      _MISSING_CELLS_FOG,
      _MISSING_CELLS_FOG[:2],
      "missing: fog 3, fog 4, fog 5 (3 of 5)",
    ),
    (
      [Condition(), *_MISSING_CELLS_FOG],
      _MISSING_CELLS_FOG,
      "missing: clean (1 of 6)",
    ),
    (_MISSING_CELLS_FOG, [], "missing: fog 1-5 (5 of 5)"),
    (_MISSING_CELLS_FOG[:1], [], "missing: fog 1 (1 of 1)"),
    (_ALL, _MISSING_CELLS_FOG[:2], "missing: all but fog 1, fog 2 (73 of 75)"),
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
      (_MISSING_CELLS_FOG[:2], "2 of 75 cells: fog 1, fog 2"),
      ([c for c in _ALL if c.level == 4], "15 of 75 cells: level 4 of each"),
      (
        [c for c in _ALL if c not in _MISSING_CELLS_FOG],
        "70 of 75 cells: all but fog 1-5",
      ),
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
