"""NumPy files: equal to NumPy's own reader, without its risks."""

import io
import pathlib
import zipfile

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors, reading

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

  def test_a_directory_that_points_before_the_file(self):
    data = bytearray(self._zip([("x.npy", _npy(np.zeros(2)))]).read_bytes())
    end = data.rindex(b"PK\x05\x06")
    place = int.from_bytes(data[end + 16 : end + 20], "little")
    data[end + 16 : end + 20] = (place + 40).to_bytes(4, "little")
    with self.assertRaisesRegex(errors.UserError, "not a whole NumPy archive"):
      reading.npz_file(self._path("a.npz", bytes(data)))

  def test_odd_members(self):
    with self.assertRaisesRegex(errors.UserError, "'x.txt' is not an array"):
      reading.npz_file(self._zip([("x.txt", b"1")]))
    with self.assertRaisesRegex(errors.UserError, "'x' is not an array"):
      reading.npz_file(self._zip([("x.npy", b"1")]))
