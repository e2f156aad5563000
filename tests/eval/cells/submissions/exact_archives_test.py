"""Archives of nothing but arrays, and of more."""

import io
import pathlib
import zipfile

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.eval.cells import packed
from robust_tfds.eval.cells.submissions import exact_archives

_WHOLE = packed.dumps(
  {"score": np.ones(3), "example_id": np.array(["a", "é", "c"])}
)
_DIRECTORY = _WHOLE.index(b"PK\x01\x02")


def _zipped(comment=b"", of_entry=b"", extra=b"", gap=b"", kind=0):
  """An archive of two members."""
  file = io.BytesIO()
  with zipfile.ZipFile(file, "w", kind) as archive:
    for name in ("a.npy", "b.npy"):
      entry = zipfile.ZipInfo(name)
      entry.comment, entry.extra = of_entry, extra
      entry.compress_type = kind
      archive.writestr(entry, b"content")
      file.write(gap)
      archive.start_dir = file.tell()
    archive.comment = comment
  return file.getvalue()


class ArchivesTest(parameterized.TestCase):
  def _check(self, data):
    path = pathlib.Path(self.create_tempdir().full_path) / "x.npz"
    path.write_bytes(data)
    exact_archives.check(path)

  @parameterized.parameters(_WHOLE, packed.dumps({}), _zipped())
  def test_what_is_written(self, data):
    self._check(data)

  @parameterized.parameters(
    (b"MZ" + _WHOLE, "foreign bytes before 'example_id"),
    (_WHOLE + b"more", "behind the end"),
    (_WHOLE + _WHOLE, "foreign bytes before 'example_id"),
    (_WHOLE[:_DIRECTORY] + b"x" + _WHOLE[_DIRECTORY:], "foreign bytes"),
    (_WHOLE[:-22] + b"x" + _WHOLE[-22:], "foreign bytes|not a whole"),
    (_zipped(comment=b"hello"), "behind the end"),
    (_zipped(of_entry=b"hello"), "beside the name 'a.npy'"),
    (_zipped(extra=b"\xff\xff\x40\0" + 64 * b"x"), "beside the name 'a.npy'"),
    (_zipped(gap=b"hello"), "foreign bytes before 'b.npy'"),
    (_zipped(kind=zipfile.ZIP_DEFLATED), "'a.npy' is compressed"),
    (_WHOLE[:-1], "not a whole .npz file"),
    (b"", "not a whole .npz file"),
    (b"text", "not a whole .npz file"),
  )
  def test_what_holds_more(self, data, message):
    with self.assertRaisesRegex(errors.UserError, f"x.npz: .*({message})"):
      self._check(data)
