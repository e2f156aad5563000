"""Files of others: arrays, columns, text, protobuf, limits."""

import functools
import io
import math
import os
import pathlib
import zipfile
from unittest import mock

import numpy as np
import pyarrow as pa
import pydantic
from absl.testing import parameterized
from pyarrow import parquet

from robust_tfds import errors, reading
from robust_tfds.reading import column_files, limits, protobuf

_ARRAYS = {
  "numbers": np.arange(12.0).reshape(3, 4),
  "fortran": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
  "text": np.array(["fog", "é"]),
  "scalar": np.float32(3),
  "empty": np.zeros((0, 5), np.uint8),
}


def _npy(array: np.ndarray, pickle: bool = False) -> bytes:
  out = io.BytesIO()
  np.lib.format.write_array(out, np.asanyarray(array), allow_pickle=pickle)
  return out.getvalue()


class ArraysTest(parameterized.TestCase):
  """NumPy files: equal to NumPy's own reader, without its risks."""

  def _path(self, name: str, data: bytes = b"") -> pathlib.Path:
    path = pathlib.Path(self.create_tempdir().full_path, name)
    path.write_bytes(data)
    return path

  @parameterized.parameters(b"(9**9, 5", b"((((((((", b"(3, 4)}{", b"\\\n(3")
  def test_a_header_that_is_no_python(self, shape):
    data = _npy(np.zeros((123, 45)))
    data = data.replace(b"(123, 45)", shape.ljust(9)[:9], 1)
    with self.assertRaisesRegex(errors.UserError, "not a whole NumPy array"):
      reading.npy_file(self._path("a.npy", data))

  @parameterized.parameters(np.savez, np.savez_compressed)
  def test_npz_equals_numpy(self, save):
    path = self._path("a.npz")
    save(path, **_ARRAYS)
    arrays = reading.npz_file(path)
    self.assertEqual(list(arrays), list(_ARRAYS))
    for name, array in _ARRAYS.items():
      self.assertEqual(arrays[name].dtype, array.dtype)
      np.testing.assert_array_equal(arrays[name], array, strict=True)
      self.assertTrue(not array.size or arrays[name].flags.writeable)

  @parameterized.product(name=list(_ARRAYS), mmap=[False, True])
  def test_npy_equals_numpy(self, name, mmap):
    path = self._path("a.npy", _npy(_ARRAYS[name]))
    array = reading.npy_file(path, mmap=mmap)
    np.testing.assert_array_equal(array, _ARRAYS[name], strict=True)

  def _zip(self, members, **options) -> pathlib.Path:
    path = self._path("a.npz")
    with zipfile.ZipFile(path, "w", **options) as archive:
      for name, data in members:
        archive.writestr(name, data)
    return path

  def test_promises_are_held_against_the_file(self):
    header = (
      b"{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000000,)}\n"
    )
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    for path in (self._path("a.npy", data), self._zip([("x.npy", data)])):
      read = reading.npy_file if path.suffix == ".npy" else reading.npz_file
      with self.assertRaisesRegex(errors.UserError, f"^{path}: .*29.1 TiB"):
        read(path)

  def test_damage(self):
    path = self._path("a.npz")
    np.savez(path, **_ARRAYS)
    data = path.read_bytes()
    place = data.index(_ARRAYS["numbers"].tobytes())
    cases = {
      "cut": data[: len(data) // 2],
      "flipped": data[:place] + b"\xff" + data[place + 1 :],
      "empty": b"",
      "text": b"id,label\n",
    }
    for name, content in cases.items():
      path.write_bytes(content)
      with (
        self.subTest(name),
        self.assertRaisesRegex(
          errors.UserError, f"^{path}: not a whole NumPy archive"
        ),
      ):
        reading.npz_file(path)

  @parameterized.parameters(False, True)
  def test_cut_npy(self, mmap):
    data = _npy(_ARRAYS["numbers"])
    for content in (data[:-1], data.replace(b"(3, 4)", b"(-3,4)"), b""):
      path = self._path("a.npy", content)
      with self.assertRaisesRegex(errors.UserError, f"^{path}: "):
        reading.npy_file(path, mmap=mmap)

  def test_pickles_are_refused_without_advice_to_load_them(self):
    data = _npy(np.array([{}], object), pickle=True)
    for path in (self._path("a.npy", data), self._zip([("x.npy", data)])):
      read = reading.npy_file if path.suffix == ".npy" else reading.npz_file
      with self.assertRaisesRegex(errors.UserError, "never read") as caught:
        read(path)
      self.assertNotIn("allow_pickle", str(caught.exception))

  def test_odd_members(self):
    with self.assertRaisesRegex(errors.UserError, "'x.txt' is not an array"):
      reading.npz_file(self._zip([("x.txt", b"1")]))
    with self.assertRaisesRegex(errors.UserError, "'x' is not an array"):
      reading.npz_file(self._zip([("x.npy", b"1")]))


class ColumnFilesTest(parameterized.TestCase):
  """Tables by columns: text once, whole numbers, refusals with their row."""

  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / "a.csv"

  def _read(self, text) -> column_files.ColumnFile:
    self.path.write_text(text)
    return column_files.column_file(
      self.path, required=("id", "n"), optional=("m",)
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
    ("id,n\n", "a.csv has no rows"),
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

  def test_columns_of_other_names(self):
    self.path.write_text("id;n;who\na;1;b\n")
    read = functools.partial(
      column_files.column_file, self.path, required=("id",)
    )
    file = read(separator=";", renamed={"id": "who"})
    self.assertEqual(file.texts("id").tolist(), ["b"])
    with self.assertRaisesRegex(errors.UserError, "lacks .* --columns=id="):
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
    texts = column_files.Texts.from_texts(["b", "a", "b"])
    self.assertEqual(texts.tolist(), ["b", "a", "b"])


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
    (b"<a>" * 100_000 + b"</a>" * 100_000, "deep"),
    (b'<?xml version="1.0" encoding="klingon"?><a/>', "not XML"),
    (b"<a>\0</a>", "not XML"),
  )
  def test_refuses(self, data, words):
    with self.assertRaisesRegex(errors.UserError, f"^a.xml: .*{words}"):
      reading.xml_text(data, "a.xml")


class ProtobufTest(parameterized.TestCase):
  """Fields of protobuf messages are found without parsing what they hold."""

  def test_fields_of_every_kind(self):
    parts = (
      b"\x08\x96\x01",  # 1: the number 150
      b"\x11" + bytes(8),  # 2: eight bytes
      b"\x1a\x03abc",  # 3: text
      b"\x25" + bytes(4),  # 4: four bytes
      b"\xa2\x06\x00",  # 100: empty
    )
    fields = list(protobuf.fields(memoryview(b"".join(parts))))
    self.assertEqual([f.number for f in fields], [1, 2, 3, 4, 100])
    self.assertEqual([bytes(f.whole) for f in fields], list(parts))
    self.assertEqual(
      [f.value for f in fields], [b"", bytes(8), b"abc", bytes(4), b""]
    )
    self.assertEqual([f.integer for f in fields], [150] + [None] * 4)

  def test_whole_numbers_in_a_row(self):
    packed = memoryview(b"\x03\x96\x01\x00")
    self.assertEqual(list(protobuf.integers(packed)), [3, 150, 0])

  @parameterized.parameters(
    (b"\x1a\x05abc", "ends within a field"),
    (b"\x11abc", "ends within a field"),
    (b"\x0b", "byte 0 begins no field"),
    (b"\x08\xff", "no whole number"),
    (b"\xff" * 11, "no whole number"),
    (b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "ends within a field"),
  )
  def test_damaged(self, data, reason):
    with self.assertRaisesRegex(errors.UserError, reason):
      list(protobuf.fields(memoryview(data)))


class LimitsTest(parameterized.TestCase):
  """Limits are refused in words, and one variable raises all of them."""

  def test_the_limit_is_named(self):
    with self.assertRaisesRegex(
      errors.UserError, "^a.json: 11 bytes.*10.*LIMI"
    ):
      limits.check(11, 10, "a.json", "bytes")

  def test_a_factor_raises_it(self):
    with mock.patch.dict(os.environ, {limits.VARIABLE: "1.5"}):
      limits.check(11, 10, "a.json", "bytes")

  def test_no_factor_raises_the_memory(self):
    with mock.patch.dict(os.environ, {limits.VARIABLE: "1000"}):
      limits.check_arrays(1 << 20, "a.npz")
      with self.assertRaisesRegex(
        errors.UserError, "^a.npz: .*bytes of memory"
      ):
        limits.check_arrays(1 << 45, "a.npz")

  @parameterized.parameters("0", "-1", "nan", "inf", "many", "")
  def test_other_factors_are_refused(self, text):
    with mock.patch.dict(os.environ, {limits.VARIABLE: text}):
      with self.assertRaisesRegex(errors.UserError, "positive number"):
        limits.check(1, 10, "a.json", "bytes")
