"""Text files: UTF-8 alone, everything else is refused with its path."""

import os
import pathlib

from absl.testing import absltest, parameterized

from robust_tfds import errors, reading


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


if __name__ == "__main__":
  absltest.main()
