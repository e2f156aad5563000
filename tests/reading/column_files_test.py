"""Tables by columns: text once, whole numbers, refusals with their row."""

import functools
import pathlib

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.reading import column_files


class ColumnFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / "a.csv"

  def _read(self, text) -> column_files.ColumnFile:
    self.path.write_text(text)
    return column_files.column_file(
      self.path, required=("id", "n"), texts=("id", "m"), integers=("n", "k")
    )

  def test_columns(self):
    file = self._read('id,n,other\nb, 7 ,x\n"a,1",007,y\nb,-1,z\n')
    self.assertLen(file, 3)
    self.assertEqual(list(file.header), ["id", "n", "other"])
    self.assertEqual(file.numbers("n").tolist(), [7, 7, -1])
    ids = file.texts("id")
    self.assertEqual(ids.tolist(), ["b", "a,1", "b"])
    self.assertLen(ids.values, 2)
    self.assertEqual(ids.array(np.array([2, 1])).tolist(), ["b", "a,1"])
    self.assertNotIn("m", file.columns)

  def test_whole_numbers_may_be_written_with_a_point(self):
    file = self._read("id,n\na,1.0\nb,2e3\n")
    self.assertEqual(file.numbers("n").tolist(), [1, 2000])

  def test_columns_without_a_name_are_not_read(self):
    file = self._read(",id,n,\n0,a,7,\n1,b,8,\n")
    self.assertEqual(list(file.header), ["", "id", "n", ""])
    self.assertEqual(file.numbers("n").tolist(), [7, 8])

  def test_text_keeps_what_looks_like_nothing(self):
    file = self._read('id,n\nNA,1\n"",2\nnull,3\n 1 ,4\n')
    self.assertEqual(file.texts("id").tolist(), ["NA", "", "null", " 1 "])

  @parameterized.parameters(
    ("id,n\na,1.5\n", "a.csv: column 'n', row 1: expected a whole number"),
    ("id,n\na,1\nb,x\n", "a.csv: column 'n', row 2: 'x' is not a number"),
    ("id,n\na,9007199254740994.5\n", "row 1: expected a whole number"),
    ("id,n\na,1\nb,0x1\n", "row 2: .0x1. is not written in decimal digits"),
    ("id,n\na\n", "a.csv: line 2: 1 values, the header has 2"),
    ("id,n\n", "a.csv holds no rows"),
    ("id\na\n", "a.csv lacks the columns n; it has id"),
    ("id,n,\na,1,\nb,2\n", "line 3: 2 values, the header has 3"),
  )
  def test_refusals(self, text, message):
    with self.assertRaisesRegex(errors.UserError, message):
      self._read(text)

  @parameterized.parameters(
    ("id;n\na;7,0\nb;8,0\n", ";"),
    ("id\tn\na\t7\nb\t8\n", "\t"),
    ("id|n\na|7\nb|8\n", "|"),
    ('\ufeff"id"; n\r\n"a"; 7 \r\nb ; 8 \r\n', ";"),
    ("id, n\na, 7\n b , 8.0\n", ","),
  )
  def test_separators_and_blanks_are_seen_in_the_header(self, text, separator):
    file = self._read(text)
    self.assertEqual(file.separator, separator)
    self.assertEqual(file.texts("id").tolist(), ["a", "b"])
    self.assertEqual(file.numbers("n").tolist(), [7, 8])

  def test_names_of_the_file(self):
    self.path.write_text("id;n;who\na;1;b\n")
    layout = column_files.Layout(";", {"id": "who"})
    read = functools.partial(
      column_files.column_file, self.path, required=("id",), integers=("n",)
    )
    file = read(texts=("id",), layout=layout)
    self.assertEqual(file.texts("id").tolist(), ["b"])
    for layout, message in (
      (column_files.Layout(names={"id": "whom"}), "'whom'. Did you mean 'who'"),
      (column_files.Layout(","), "lacks the columns id; .* by --columns=id="),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        read(texts=("id",), layout=layout)

  def test_rows_that_are_left_keep_their_numbers(self):
    file = self._read("id,n\na,1\nb,2\nc,3\n").only(np.array([0, 1, 1], bool))
    self.assertEqual(file.texts("id").tolist(), ["b", "c"])
    self.assertEqual((file.row(0), file.numbers("n").tolist()), (2, [2, 3]))

  def test_other_kinds(self):
    with self.assertRaisesRegex(errors.UserError, "a.txt.*Known: .csv"):
      column_files.column_file("a.txt", required=(), texts=(), integers=())

  def test_texts_of(self):
    texts = column_files.Texts.of(["b", "a", "b"])
    self.assertEqual(texts.tolist(), ["b", "a", "b"])
