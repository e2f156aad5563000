"""Archives: read whole, or refused with the archive and the member."""

import gzip
import io
import os
import pathlib
import stat
import struct
import tarfile
import zipfile
from unittest import mock

from absl.testing import absltest, parameterized

from robust_tfds import errors
from robust_tfds.reading import archives
from tests import in_folder, tiny_files

_FILES = {"set/a.txt": b"A" * 700, "set/b.txt": b"", "set/c.txt": b"C" * 1024}


def tar_bytes(files=None, *entries: tarfile.TarInfo, **options) -> bytes:
  files = _FILES if files is None else files
  return tiny_files.tar(files, *entries, **options)


def zip_bytes(files=None, **options) -> bytes:
  return tiny_files.zipped(_FILES if files is None else files, **options)


def _entry(kind: bytes, name="set/x.txt", link="set/a.txt") -> tarfile.TarInfo:
  return tiny_files.entry(name, kind, link)


def _twice(maker) -> bytes:
  data = maker({"set/a.txt": b"1", "set/Z.txt": b"2"})
  return _renamed(data, b"set/Z.txt", b"set/a.txt")


def _renamed(data: bytes, old: bytes, new: bytes) -> bytes:
  """An archive with another name in it, its tar headers' sums made right."""
  data = bytearray(data.replace(old, new))
  if not data.startswith(b"PK"):
    for start in range(0, len(data), 512):
      block = data[start : start + 512]
      if block[257:262] == b"ustar":
        block[148:156] = b" " * 8
        data[start + 148 : start + 156] = b"%06o\0 " % sum(block)
  return bytes(data)


def _end(data: bytes) -> int:
  """Where the end mark of a tar begins."""
  return -(-len(data.rstrip(b"\0")) // 512) * 512


def _encrypted() -> bytes:
  data = bytearray(zip_bytes())
  for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
    data[data.find(signature) + place] |= 1
  return bytes(data)


def _sparse() -> bytes:
  content = b"1\n0\n4\n".ljust(512, b"\0") + b"data"
  entry = tarfile.TarInfo("set/x.txt")
  entry.size = len(content)
  entry.pax_headers = {
    "GNU.sparse.major": "1",
    "GNU.sparse.minor": "0",
    "GNU.sparse.name": "set/x.txt",
    "GNU.sparse.realsize": "4",
  }
  out = io.BytesIO()
  with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
    tar.addfile(entry, io.BytesIO(content))
  return out.getvalue()


def _claims_names(size: int) -> bytes:
  """A long name whose header claims a size."""
  entry = tarfile.TarInfo("././@LongLink")
  entry.type, entry.size = tarfile.GNUTYPE_LONGNAME, size
  return entry.tobuf(tarfile.GNU_FORMAT) + bytes(10240)


_TAR = tar_bytes()
_GNU = {"format": tarfile.GNU_FORMAT}
_FAULTS = {
  "hard_link": (
    tar_bytes(None, _entry(tarfile.LNKTYPE)),
    "set/x.txt: it is a link",
  ),
  "symbolic_link": (
    tar_bytes(None, _entry(tarfile.SYMTYPE)),
    "set/x.txt: it is a link",
  ),
  "device": (tar_bytes(None, _entry(tarfile.CHRTYPE)), "a device"),
  "pipe": (tar_bytes(None, _entry(tarfile.FIFOTYPE)), "a device"),
  "unknown_kind": (tar_bytes(None, _entry(b"Q")), "no plain file"),
  "sparse": (_sparse(), "set/x.txt: .* a sparse file"),
  "absolute": (tar_bytes({"/etc/x": b"1"}), "/etc/x: .* an absolute path"),
  "drive": (tar_bytes({"C:/x": b"1"}), "C:/x: its name is an absolute path"),
  "outside": (tar_bytes({"set/../../x": b"1"}), "set/../../x: .* leaves"),
  "twice": (_twice(tar_bytes), "set/a.txt: it is there twice"),
  "twice_with_dots": (
    tar_bytes({"set/a.txt": b"1", "./set//a.txt": b"2"}),
    "set/a.txt: it is there twice",
  ),
  "not_utf8": (
    _renamed(tar_bytes({"set/Z.txt": b"1"}, **_GNU), b"Z", b"\xff"),
    r"set/\\udcff.txt: its name is not UTF-8",
  ),
  "cut_inside": (_TAR[:900], "set/a.txt: the archive is cut off inside it"),
  "cut_between": (_TAR[:1536], "after 'set/a.txt' it has no end mark"),
  "cut_in_a_header": (_TAR[: 1536 + 100], "after 'set/a.txt'"),
  "no_end_mark": (_TAR[: _end(_TAR)], "after 'set/c.txt' it has no end mark"),
  "half_an_end_mark": (_TAR[: _end(_TAR) + 512], "it has no end mark"),
  "garbage_after": (_TAR + b"more", "neither a header nor an end mark"),
  "two_archives": (_TAR + _TAR, "neither a header nor an end mark"),
  "damaged_header": (
    _renamed(_TAR, b"set/b", b"set/b").replace(b"set/b", b"set/?"),
    "after 'set/a.txt' neither a header",
  ),
  "names_without_end": (_claims_names(1 << 40), "not a whole tar archive"),
  "html": (b"<html>404</html>", "not a whole tar archive"),
  "empty": (b"", "empty, expected a tar or zip archive"),
  "gzip_cut": (gzip.compress(_TAR)[:60], "not a whole tar archive"),
  "gzip_inside": (gzip.compress(_TAR[:900]), "set/a.txt: .* 388 of its bytes"),
  "gzip_between": (gzip.compress(_TAR[:1536]), "it has no end mark"),
  "gzip_garbage": (gzip.compress(_TAR) + b"more", "not a whole tar archive"),
  "gzip_sum": (gzip.compress(_TAR)[:-8] + bytes(8), "not a whole tar archive"),
  "gzip_bomb": (
    gzip.compress(tar_bytes({"x": bytes(1 << 27)})),
    "x: 134,.* bytes unpacked of .* ROBUST_TFDS_LIMITS",
  ),
  "zip_twice": (_twice(zip_bytes), "set/a.txt: it is there twice"),
  "zip_outside": (zip_bytes({"../x": b"1"}), r"\.\./x: its name leaves"),
  "zip_absolute": (zip_bytes({"/x": b"1"}), "/x: its name is an absolute"),
  "zip_not_utf8": (
    _renamed(zip_bytes({"set/Z.txt": b"1"}), b"Z", b"\xff"),
    "its name is not UTF-8",
  ),
  "zip_encrypted": (_encrypted(), "set/a.txt: .* encrypted"),
  "zip_cut": (zip_bytes()[:-30], "not a whole zip archive"),
  "zip_damaged": (
    zip_bytes().replace(b"CCCC", b"CCDC"),
    "set/c.txt: it cannot be unpacked .*CRC",
  ),
  "zip_bomb": (
    zip_bytes({"x": bytes(1 << 27)}, compression=zipfile.ZIP_DEFLATED),
    "134,217,728 bytes unpacked of .* ROBUST_TFDS_LIMITS",
  ),
}


class ArchivesTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.path = self.root / "archive"

  def _contents(self, data: bytes, belongs=None):
    self.path.write_bytes(data)
    return {
      member.name: content
      for member, content in archives.contents(self.path, belongs)
    }

  @parameterized.named_parameters(
    ("tar", _TAR),
    ("old_tar", tar_bytes(format=tarfile.USTAR_FORMAT)),
    ("pax", tar_bytes(format=tarfile.PAX_FORMAT, pax_headers={"comment": "x"})),
    ("smallest_end", _TAR[: _end(_TAR) + 1024]),
    ("longer_end", _TAR + bytes(20480)),
    ("tar_gz", gzip.compress(_TAR)),
    ("zip", zip_bytes()),
    ("deflated", zip_bytes(compression=zipfile.ZIP_DEFLATED)),
  )
  def test_whole_ones(self, data):
    self.assertEqual(self._contents(data), _FILES)
    if not tar_gz(data):
      members = list(archives.members(self.path))
      self.assertEqual({m.name: archives.data(m) for m in members}, _FILES)
      self.assertEqual([m.size for m in members], [700, 0, 1024])

  @parameterized.named_parameters(
    (name, *case) for name, case in _FAULTS.items()
  )
  def test_faults(self, data, message):
    with self.assertRaisesRegex(errors.UserError, message) as caught:
      self._contents(data)
    self.assertStartsWith(str(caught.exception), str(self.path))
    folder = self.root / "unpacked"
    with self.assertRaisesRegex(errors.UserError, message):
      archives.extract(self.path, folder)
    self.assertEqual(list(self.root.iterdir()), [self.path])

  def test_long_and_foreign_names(self):
    files = {"set/" + "ü" * 120 + ".txt": b"1", "a..b/a b#;[(&.txt": b"2"}
    for options in (_GNU, {"format": tarfile.PAX_FORMAT}):
      self.assertEqual(self._contents(tar_bytes(files, **options)), files)
    self.assertEqual(self._contents(zip_bytes(files)), files)
    data = _renamed(
      zip_bytes({"set/ZZ.txt": b"1"}), b"set/ZZ", "set/ü".encode()
    )
    self.assertEqual(self._contents(data), {"set/ü.txt": b"1"})

  def test_members_of_others_are_passed_over(self):
    link = _entry(tarfile.SYMTYPE)
    data = tar_bytes(None, link)
    self.assertEqual(self._contents(data, lambda name: name == "other"), {})
    for name in ("set/a.txt", "set/x.txt"):
      with self.assertRaisesRegex(errors.UserError, "it is a link"):
        self._contents(data, lambda other, name=name: other == name)
    with self.assertRaisesRegex(errors.UserError, "no end mark"):
      self._contents(_TAR[:1536], lambda name: name == "other")

  def test_headers_alone_are_read(self):
    data = bytes(1 << 26)
    self.path.write_bytes(tar_bytes({"a": data, "b": data}))
    reads = []

    class Counted(io.FileIO):
      def readinto(self, buffer):
        reads.append(len(buffer))
        return super().readinto(buffer)

    with mock.patch.object(archives.tar_files.paths, "raw", Counted):
      self.assertLen(list(archives.members(self.path)), 2)
    self.assertLess(sum(reads), 1 << 22)

  def test_zip64(self):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
      with archive.open("set/a.txt", "w", force_zip64=True) as member:
        member.write(b"large")
    self.assertEqual(self._contents(out.getvalue()), {"set/a.txt": b"large"})

  def test_a_replaced_zip_is_read_again(self):
    self.assertEqual(self._contents(zip_bytes({"x": b"old"})), {"x": b"old"})
    self.assertEqual(self._contents(zip_bytes({"x": b"new!"})), {"x": b"new!"})

  def test_a_tar_that_becomes_shorter(self):
    self.path.write_bytes(_TAR)
    member = next(archives.members(self.path))
    self.path.write_bytes(_TAR[:600])
    with self.assertRaisesRegex(errors.UserError, "a.txt: 88 of its 700 bytes"):
      archives.data(member)

  def test_a_size_below_zero(self):
    data = bytearray(_TAR)
    data[124:136] = struct.pack(">Bxxxq", 0xFF, -1024)
    with self.assertRaises(errors.UserError):
      self._contents(_renamed(bytes(data), b"set/a", b"set/a"))

  def test_extract(self):
    self.path.write_bytes(gzip.compress(_TAR))
    folder = self.root / "unpacked"
    for _ in range(2):
      self.assertEqual(archives.extract(self.path, folder), folder)
      self.assertEqual((folder / "set/a.txt").read_bytes(), _FILES["set/a.txt"])
    self.assertCountEqual(os.listdir(self.root), ["archive", "unpacked"])

  @parameterized.parameters("absent", "")
  def test_no_file(self, name):
    with self.assertRaisesRegex(errors.UserError, "no such file|not a file"):
      list(archives.members(self.root / name))

  def test_limits_can_be_raised(self):
    with mock.patch.dict(os.environ, ROBUST_TFDS_LIMITS="3"):
      for name in ("zip_bomb", "gzip_bomb"):
        self.assertLen(self._contents(_FAULTS[name][0])["x"], 1 << 27)


def tar_gz(data: bytes) -> bool:
  return data.startswith(b"\x1f\x8b")


class ZipFilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, "a.zip")

  def _listed(self, data: bytes):
    self.path.write_bytes(data)
    return list(archives.members(self.path))

  def test_symbolic_link(self):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
      entry = zipfile.ZipInfo("set/x")
      entry.external_attr = (stat.S_IFLNK | 0o777) << 16
      archive.writestr(entry, "a.txt")
    with self.assertRaisesRegex(errors.UserError, "a.zip: set/x: .* link"):
      self._listed(out.getvalue())

  def test_unknown_method(self):
    data = zip_bytes({"set/a.txt": b"1"})
    central = data.find(b"PK\x01\x02")
    data = data[: central + 10] + b"\x63\x00" + data[central + 12 :]
    (member,) = self._listed(data)
    with self.assertRaisesRegex(errors.UserError, "compression method"):
      archives.data(member)
