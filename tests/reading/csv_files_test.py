"""CSV tables: rows with their lines; the header and the lengths are held."""

import pathlib

from absl.testing import absltest, parameterized

from robust_tfds import errors, reading


class CsvFilesTest(parameterized.TestCase):
  def _rows(self, text: str, columns=None):
    path = pathlib.Path(self.create_tempdir().full_path, "a.csv")
    path.write_text(text, "utf-8")
    return list(reading.csv_file(path, columns))

  def test_rows_have_their_lines(self):
    rows = self._rows('a,b\n1,"x\ny"\n\n2,\u2028z\n', ["b"])
    self.assertEqual(
      rows, [(3, {"a": "1", "b": "x\ny"}), (5, {"a": "2", "b": "\u2028z"})]
    )

  @parameterized.parameters(
    ("", "empty, expected a header"),
    ("a,a\n1,2\n", "line 1: the column 'a' stands twice"),
    ("a,,b\n1,2,3\n", "line 1: column 2 has no name"),
    ("a,c\n1,2\n", "line 1: no column 'b'. It has: a, c"),
    ("a,b\n1,2\n1\n", "line 3: 1 values, the header has 2"),
    ("a,b\n1,2,3\n", "line 2: 3 values, the header has 2"),
    ('a,b\n1,"2\n', "not CSV"),
    ("a,b\n1,\0\n", "NUL"),
  )
  def test_refuses(self, text, words):
    with self.assertRaisesRegex(errors.UserError, f"a.csv: .*{words}"):
      self._rows(text, ["b"])


if __name__ == "__main__":
  absltest.main()
