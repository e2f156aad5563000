"""Tables by columns: text once, whole numbers, refusals with their row."""

import functools
import pathlib

import numpy as np
import pyarrow as pa
from absl.testing import parameterized
from pyarrow import parquet

from robust_tfds import errors
from robust_tfds.reading import column_files


class ColumnFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / "a.csv"

  def _read(self, text) -> column_files.ColumnFile:
    self.path.write_text(text)
    return column_files.column_file(
      self.path, required=("id", "n"), others=("m",)
    )

  def test_columns(self):
    file = self._read('id,n,other\nb, 7 ,x\n"a,1",007,y\nb,-1,z\n')
    self.assertLen(file, 3)
    self.assertEqual(list(file.header), ["id", "n", "other"])
    self.assertEqual(file.texts("n").tolist(), [" 7 ", "007", "-1"])
    ids = file.texts("id")
    self.assertEqual(ids.tolist(), ["b", "a,1", "b"])
    self.assertLen(ids.values, 2)
    self.assertEqual(ids.array(np.array([2, 1])).tolist(), ["b", "a,1"])
    self.assertNotIn("m", file.columns)

  def test_columns_without_a_name_are_not_read(self):
    file = self._read(",id,n,\n0,a,7,\n1,b,8,\n")
    self.assertEqual(list(file.header), ["", "id", "n", ""])
    self.assertEqual(file.texts("n").tolist(), ["7", "8"])

  def test_text_keeps_what_looks_like_nothing(self):
    file = self._read('id,n\nNA,1\n"",2\nnull,3\n 1 ,4\n')
    self.assertEqual(file.texts("id").tolist(), ["NA", "", "null", " 1 "])

  @parameterized.parameters(
    ("id,n\na\n", "a.csv: line 2: 1 values, the header has 2"),
    ("id,n\n", "a.csv holds no rows"),
    ("id\na\n", "a.csv lacks the columns n; it has id"),
    ("id,n,\na,1,\nb,2\n", "line 3: 2 values, the header has 3"),
    ("sep=;\nid;n\na;1;2\n", "line 3: 3 values, the header has 2"),
  )
  def test_refusals(self, text, message):
    with self.assertRaisesRegex(errors.UserError, message):
      self._read(text)

  @parameterized.parameters(
    ("id;n\na;7\nb;8\n", ";"),
    ("id\tn\na\t7\nb\t8\n", "tab"),
    ("id|n\na|7\nb|8\n", "|"),
    ('\ufeff"id"; n\r\n"a"; 7 \r\nb ; 8 \r\n', ";"),
    ("id, n\na, 7\n b , 8\n", ","),
    ("\ufeffsep=;\r\nid;n\r\na;7\r\nb;8\r\n", ";"),
    ("sep=|\nid|n|a,b,c\na|7|\nb|8|\n", "|"),
  )
  def test_separators_and_blanks_are_seen_in_the_header(self, text, separator):
    file = self._read(text)
    self.assertEqual(file.separator, separator)
    self.assertEqual(file.texts("id").tolist(), ["a", "b"])
    self.assertEqual(file.texts("n").tolist(), ["7", "8"])

  def test_what_is_said_of_a_file(self):
    self.path.write_text("id;n;who\na;1;b\n")
    read = functools.partial(
      column_files.column_file, self.path, required=("id",)
    )
    file = read(separator=";", said={"id": "who"})
    self.assertEqual(file.texts("id").tolist(), ["b"])
    with self.assertRaisesRegex(errors.UserError, "lacks .* by --columns=id="):
      read(separator=",")

  @parameterized.parameters(
    (pa.array([3.0, None]), ["3", ""]),
    (pa.array([None, "cat"]), ["", "cat"]),
    (pa.array(["cat", "7"]).dictionary_encode(), ["cat", "7"]),
    (pa.array([1.5, float("nan")]), ["1.5", ""]),
    (pa.array([2, 3], pa.decimal128(9, 0)), ["2", "3"]),
    (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
  )
  def test_values_of_data_frames(self, column, expected):
    path = self.path.with_suffix(".parquet")
    parquet.write_table(pa.table({"n": [1, 2], "label": column}), path)
    file = column_files.column_file(path, required=("n", "label"))
    self.assertEqual(file.texts("label").tolist(), expected)

  def test_other_kinds(self):
    with self.assertRaisesRegex(errors.UserError, "a.txt.*Known: .csv"):
      column_files.column_file("a.txt", required=())

  def test_texts_of(self):
    texts = column_files.Texts.of(["b", "a", "b"])
    self.assertEqual(texts.tolist(), ["b", "a", "b"])
