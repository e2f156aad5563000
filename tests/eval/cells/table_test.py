"""The tidy table: equal runs write equal bytes, bad files are refused."""

import csv
import math
import pathlib

from absl.testing import parameterized

from eval.cells import table
from robust_tfds import conditions, errors


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
    cells = table.by_cell(rows, "sequences")
    of_tilt = conditions.SEQUENCES.condition("tilt", 1)
    self.assertEqual(cells, {of_tilt: rows[:1], None: [harder, over]})

  def test_refuses_other_columns(self):
    self.path.write_text("model,value\na,1\n")
    with self.assertRaisesRegex(ValueError, "expected the columns"):
      table.read(self.path)

  def test_a_table_without_notes_is_to_be_scored_again(self):
    columns = [c for c in table.COLUMNS if c != "note"]
    self.path.write_text(",".join(columns) + "\n")
    with self.assertRaisesRegex(
      errors.UserError, "lacks the column 'note'.*score --predictions="
    ):
      table.read(self.path)

  @parameterized.parameters(("severity", "three"), ("value", "x"))
  def test_names_line_and_column_of_a_bad_cell(self, column, text):
    header = ",".join(table.COLUMNS)
    values = {c: "1" for c in table.COLUMNS} | {column: text}
    line = ",".join(values[c] for c in table.COLUMNS)
    self.path.write_text(f"{header}\n{line}\n")
    with self.assertRaisesRegex(ValueError, f"line 2, column '{column}'"):
      table.read(self.path)

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

  def test_text_that_spreadsheets_run_is_marked(self):
    row = _row(model="=cmd|' /C calc'!A0", note="-x")
    text = table.dumps([row])
    self.assertIn("'=cmd|", text)
    self.assertIn(",'-x,", text)
    self.path.write_text(text)
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

  def test_select(self):
    rows = [_row(), _row(severity=4)]
    self.assertEqual(table.select(rows, severity=4, model="a,b"), rows[1:])
