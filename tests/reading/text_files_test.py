"""Text, CSV, JSON, XML: what is no such text is refused with its path and line."""

import math
import os
import pathlib

import pydantic
from absl.testing import parameterized

from robust_tfds import errors, reading

_BOMB = b'<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>'
_FILE = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'


class TextTest(parameterized.TestCase):
  def _file(self, data: bytes) -> pathlib.Path:
    path = pathlib.Path(self.create_tempdir().full_path, "list.txt")
    path.write_bytes(data)
    return path

  @parameterized.parameters(b"a\nb\n", b"\xef\xbb\xbfa\nb\n", b"a\r\nb")
  def test_utf8_with_and_without_a_mark(self, data):
    self.assertEqual(reading.line_list(self._file(data)), ["a", "b"])

  @parameterized.parameters(
    ("a\n".encode("utf-16"), "UTF-16"),
    ("a\n".encode("utf-32"), "UTF-32"),
    (b"caf\xe9", "byte 3 .0xe9. is not UTF-8"),
    (b"a\0b", "NUL"),
    (b"\x1f\x8b\x08\x00", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\xff\xd8\xff\xe0", "JPEG"),
  )
  def test_others_are_refused(self, data, words):
    path = self._file(data)
    with self.assertRaisesRegex(errors.UserError, f"^{path}: .*{words}"):
      reading.text_file(path)

  def test_no_file_a_folder_and_a_pipe(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    os.mkfifo(folder / "pipe")
    cases = {
      "absent": "there is no such file",
      ".": "not a file",
      "pipe": "not a",
    }
    for name, words in cases.items():
      with self.subTest(name), self.assertRaisesRegex(errors.UserError, words):
        reading.text_file(folder / name)

  def test_too_large(self):
    path = self._file(b"0123456789")
    with self.assertRaisesRegex(errors.UserError, f"^{path}: 10 bytes, .* 9"):
      reading.text_file(path, limit=9)


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


class Box(pydantic.BaseModel):
  id: int
  bbox: list[float] = pydantic.Field(min_length=4, max_length=4)


class File(pydantic.BaseModel):
  boxes: list[Box]


class JsonFilesTest(parameterized.TestCase):
  def test_reads(self):
    path = pathlib.Path(self.create_tempdir().full_path, "a.json")
    path.write_text('{"a": [1, NaN, "é"]}', "utf-8")
    content = reading.json_file(path)["a"]
    self.assertTrue(content[0] == 1 and math.isnan(content[1]))
    self.assertEqual(content[2], "é")

  @parameterized.parameters(
    ("", "empty"),
    ("{", "line 1, column 2: not JSON"),
    ("[" * 100_000 + "]" * 100_000, "nested too deep"),
    ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deep"),
    ('{"id": 1, "id": 2}', "'id' stands twice"),
    ("<html></html>", "not JSON"),
    ("9" * 5000, "not JSON"),
  )
  def test_refuses(self, text, words):
    with self.assertRaisesRegex(errors.UserError, f"^a.json: .*{words}"):
      reading.json_text(text, "a.json")

  def test_a_record_that_fits(self):
    value = {"boxes": [{"id": 3, "bbox": [0, 0.5, 1, 2]}]}
    self.assertEqual(reading.records(value, File, "a.json").boxes[0].id, 3)

  @parameterized.parameters(
    (
      {"boxes": [{"id": 1.5, "bbox": [0] * 4}]},
      "boxes.0.id: got 1.5, expected",
    ),
    ({"boxes": [{"id": True, "bbox": [0] * 4}]}, "boxes.0.id: got True"),
    ({"boxes": [{"id": "1", "bbox": [0] * 4}]}, "boxes.0.id: got '1'"),
    ({"boxes": [{"id": 1, "bbox": [0] * 3}]}, "boxes.0.bbox: got"),
    ({"boxes": [{"id": 1}]}, "boxes.0.bbox: missing"),
    ({"boxes": None}, "boxes: got None"),
    ([], "got \\[\\]"),
  )
  def test_a_record_that_does_not(self, value, words):
    with self.assertRaisesRegex(errors.UserError, f"^a.json: {words}"):
      reading.records(value, File, "a.json")


class XmlFilesTest(parameterized.TestCase):
  def test_reads(self):
    root = reading.xml_text(b"<a><b>1</b></a>", "a.xml")
    self.assertEqual(root.findtext("b"), "1")

  @parameterized.parameters(
    (b"", "not XML"),
    (b"<a><b></a>", "not XML"),
    (b"<!DOCTYPE html><html></html>", "document type"),
    (_BOMB, "document type"),
    (_FILE, "document type"),
    (b"<a>" * 65 + b"</a>" * 65, "deep"),
    (b"<a>" * 100_000 + b"</a>" * 100_000, "deep"),
    (b'<?xml version="1.0" encoding="klingon"?><a/>', "not XML"),
    (b"<a>\0</a>", "not XML"),
  )
  def test_refuses(self, data, words):
    with self.assertRaisesRegex(errors.UserError, f"^a.xml: .*{words}"):
      reading.xml_text(data, "a.xml")
