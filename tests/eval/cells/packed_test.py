"""Columns are stored in few bytes and read back as they were written."""

import io
import zipfile

import numpy as np
from absl.testing import parameterized

from eval.cells.files import packed
from robust_tfds import errors

_STRINGS = np.dtypes.StringDType()


def _detections(lengths, most=4) -> dict[str, np.ndarray]:
  """Detections as the task's reduction leaves them."""
  rng = np.random.default_rng(0)
  rows = len(lengths)
  there = np.arange(most) < np.array(lengths)[:, None]
  boxes = rng.uniform(0, 9, (rows, most, 4)).astype(np.float32)
  scores = rng.uniform(0, 1, (rows, most)).astype(np.float32)
  classes = rng.integers(0, 80, (rows, most)).astype(np.int16)
  return {
    "boxes": np.where(there[..., None], boxes, np.float32(0)),
    "scores": np.where(there, scores, np.float32(0)),
    "classes": np.where(there, classes, np.int16(-1)),
  }


class PackedTest(parameterized.TestCase):
  def _read_back(self, columns: dict[str, np.ndarray]) -> bytes:
    """Holds that columns come back equal; gives what was written."""
    data = packed.dumps(columns)
    again = packed.loads(data, "x.npz")
    self.assertCountEqual(again, columns)
    for name, values in columns.items():
      self.assertEqual(again[name].dtype.kind, values.dtype.kind)
      if values.dtype.kind not in "US":
        self.assertEqual(again[name].dtype, values.dtype)
      self.assertEqual(again[name].shape, values.shape)
      if values.dtype.kind == "f":
        self.assertEqual(again[name].tobytes(), values.tobytes())
      else:
        np.testing.assert_array_equal(again[name], values)
    return data

  @parameterized.parameters(
    (np.array(["a", "", "ü/€", "x" * 300], np.str_),),
    (np.array(["1 2", "", "é", "x" * 300], _STRINGS),),
    (np.array([b"\xff\x00a", b"", b"x"], np.bytes_),),
    (np.array(["\udcff.png", "b"], np.str_),),  # a file's name that is no text
    (np.array([], np.str_),),
    (np.array([], _STRINGS),),
    (np.array([], np.int32),),
    (np.zeros((0, 5), np.int64),),
    (np.array([True, False]),),
    (np.array([0.1, np.nan, -0.0], np.float32),),
    (np.array([[1.5], [2.5]], np.float64),),
    (np.array([0, 255], np.uint8),),
  )
  def test_reads_back(self, values):
    self._read_back({"column": values})

  @parameterized.parameters(
    (127, np.int8),
    (-128, np.int8),
    (999, np.int16),
    (-129, np.int16),
    (1 << 15, np.int32),
    (1 << 31, np.int64),
    ((1 << 63) - 1, np.int64),
  )
  def test_whole_numbers_in_the_fewest_bytes(self, value, dtype):
    columns = {"n": np.array([0, value], np.int64)}
    self.assertEqual(packed.pack(columns)["n.int64"].dtype, dtype)
    self._read_back(columns)

  def test_thirty_bytes_of_a_thousand_classes(self):
    rng = np.random.default_rng(0)
    data = self._read_back(
      {
        "top5": rng.integers(0, 1000, (5000, 5)).astype(np.int32),
        "score": rng.uniform(size=(5000, 5)).astype(np.float32),
      }
    )
    self.assertLess(len(data) / 5000, 30.2)

  @parameterized.parameters(([3, 0, 4, 1],), ([0, 0],), ([],), ([4, 4],))
  def test_detections_that_are_not_there_take_no_bytes(self, lengths):
    data = self._read_back(_detections(lengths))
    alone = len(packed.dumps(_detections([])))
    self.assertLessEqual(len(data) - alone, sum(lengths) * 21 + len(lengths))

  def test_whatever_is_there_stays(self):
    """A hole, a score without a class: nothing is lost."""
    columns = _detections([2, 0, 1])
    columns["classes"][0, 0] = -1
    columns["scores"][1, 3] = 0.5
    columns["boxes"][2, 2, 1] = np.nan
    self._read_back(columns)

  def test_texts_take_their_own_bytes(self):
    """One long text among many does not make the others long."""
    texts = np.array(["1"] * 1000 + ["2" * 100_000], _STRINGS)
    self.assertLess(len(self._read_back({"masks": texts})), 106_000)

  def test_the_memory_of_long_texts_counts(self):
    texts = np.array(["", "2" * 100_000], _STRINGS)
    columns = {"masks": texts, "n": np.zeros(5, np.int32)}
    self.assertBetween(packed.nbytes(columns), 100_020, 100_100)

  def test_equal_columns_are_equal_bytes(self):
    columns = {
      "b": np.arange(3),
      "a": np.array(["x", "yy", "z"]),
      "c": np.arange(6.0).reshape(3, 2),
    }
    other = {
      "a": columns["a"].astype("<U90"),
      "c": np.asfortranarray(columns["c"]),
      "b": columns["b"],
    }
    self.assertEqual(packed.dumps(columns), packed.dumps(other))
    with zipfile.ZipFile(io.BytesIO(packed.dumps(columns))) as archive:
      self.assertEqual({m.date_time[0] for m in archive.infolist()}, {1980})

  @parameterized.parameters(
    ({"a.str": np.zeros(3, np.uint8)},),
    ({"a.str": np.zeros(3, np.uint8), "a.lengths": np.array([1, 1])},),
    ({"a.str": np.zeros(3, np.uint8), "a.lengths": np.array([4, -1])},),
    ({"a.str": np.full(1, 255, np.uint8), "a.lengths": np.array([1])},),
    ({"boxes.ragged": np.zeros((3, 4))},),
    (
      {
        "boxes.ragged": np.zeros((3, 4)),
        "detections.lengths": np.array([4, 1, 1]),
      },
    ),
    ({"boxes.ragged": np.zeros(1), "detections.lengths": np.array([1.5])},),
  )
  def test_arrays_that_do_not_belong_together(self, arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    with self.assertRaisesRegex(errors.UserError, "^x.npz: these arrays are"):
      packed.loads(file.getvalue(), "x.npz")

  def test_no_npz(self):
    with self.assertRaisesRegex(errors.UserError, "^x.npz: not a whole"):
      packed.loads(b"hello", "x.npz")
