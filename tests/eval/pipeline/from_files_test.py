"""Pictures straight from their files: what a prepared set of them would give."""

import io
import pathlib
import tarfile
from unittest import mock

import numpy as np
from absl.testing import parameterized

from eval.pipeline import inputs
from robust_tfds import cores, datasets, errors, strings
from robust_tfds.building.sources import imagenet
from tests import tiny_files
from tests.user_data import made

_WNIDS = ("n01440764", "n01443537")
_SIZES = ((330, 250), (250, 421), (231, 260), (300, 224), (224, 224))


def _validation() -> dict[str, bytes]:
  """Return official name -> file; a GIF and a grey one are among them."""
  out = {}
  for i, size in enumerate(_SIZES):
    picture = tiny_files.smooth(*size, i)
    form = "GIF" if i == 3 else "JPEG"
    picture = picture.convert("L") if i == 2 else picture
    data = tiny_files.encoded(picture, form)
    out[f"{_WNIDS[i % 2]}/ILSVRC2012_val_{i + 1:08d}.JPEG"] = data
  return out


def _folder(root: pathlib.Path) -> tuple[str, pathlib.Path | None]:
  tiny_files.put(root / "val", _validation())
  return "imagenet_c", root


def _tar(root: pathlib.Path) -> tuple[str, pathlib.Path | None]:
  root.mkdir(parents=True, exist_ok=True)
  with tarfile.open(root / imagenet.VALIDATION_TAR, "w") as archive:
    for name, data in _validation().items():
      entry = tarfile.TarInfo(name.partition("/")[2])
      entry.size = len(data)
      archive.addfile(entry, io.BytesIO(data))
  return "imagenet_c", root


def _own(root: pathlib.Path) -> tuple[str, pathlib.Path | None]:
  return f"folder:{made.folder(root)}", None


class FromFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _opened(self, data, **options) -> inputs.Source:
    name, manual_dir = data
    builder = datasets.builder(
      datasets.builder_class(name),
      "clean",
      codec="raw",
      data_dir=self.root / "unwritten",
    )
    listed = builder.unprepared(manual_dir)
    options = {"batch_size": 2, **options}
    return inputs.FromFiles(builder, builder.SPLIT, listed, **options)

  @parameterized.product(write=(_folder, _tar, _own), threads=(1, 3))
  def test_every_example_is_a_prepared_sets(self, write, threads):
    name, manual_dir = data = write(self.root / "files")
    built = datasets.prepare(
      name,
      "clean",
      codec="raw",
      data_dir=self.root / "prepared",
      manual_dir=manual_dir,
    )
    prepared = inputs.Source(built, built.SPLIT, batch_size=2)
    with mock.patch.object(cores, "usable", return_value=threads):
      source = self._opened(data)
      rows, wanted = list(source.rows()), list(prepared.rows())
    self.assertEqual(
      (source.total, source.shape), (len(wanted), prepared.shape)
    )
    for got, want in zip(rows, wanted, strict=True):
      self.assertEqual(got.keys(), want.keys())
      self.assertEqual(got["image"].dtype, np.uint8)
      np.testing.assert_array_equal(got["image"], want["image"])
      for key in want.keys() - {"image"}:
        texts = strings.text(got[key]), strings.text(want[key])
        self.assertEqual(*texts, key)
    self.assertEqual(source.decoders, prepared.decoders)
    self.assertEqual(
      source.builder.data_version(), prepared.builder.data_version()
    )
    self.assertFalse((self.root / "unwritten").exists())

  def test_the_first_alone_are_read(self):
    source = self._opened(_own(self.root / "files"), limit=3)
    read = mock.patch.object(
      source.builder, "read", side_effect=source.builder.read
    )
    with read as called:
      rows = [strings.text(row["example_id"]) for row in source.rows()]
    self.assertEqual(called.call_count, 3)
    whole = self._opened(_own(self.root / "files"))
    first = [strings.text(r["example_id"]) for r in whole.metadata(("image",))]
    self.assertEqual(rows, first[:3])

  def test_content_is_of_names_labels_sizes_and_bytes(self):
    data = _folder(self.root / "files")
    before = self._opened(data).content(self.fail)
    self.assertEqual(self._opened(data).content(self.fail), before)
    (file, *_) = sorted((self.root / "files" / "val").rglob("*.JPEG"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-3] + b"abc")
    self.assertNotEqual(self._opened(data).content(self.fail), before)
    file.write_bytes(whole)
    file.rename(file.with_name("ILSVRC2012_val_00000099.JPEG"))
    self.assertNotEqual(self._opened(data).content(self.fail), before)

  def test_files_that_change_while_they_are_read(self):
    source = self._opened(_folder(self.root / "files"))
    (file, *_) = sorted((self.root / "files" / "val").rglob("*.JPEG"))
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with self.assertRaisesRegex(errors.UserError, f"^{file} cannot be read"):
      list(source.rows())
    file.unlink()
    with self.assertRaisesRegex(errors.UserError, f"^{file}: cannot be read"):
      list(source.rows())
    file.write_bytes(_validation()[f"{_WNIDS[0]}/ILSVRC2012_val_00000005.JPEG"])
    with self.assertRaisesRegex(errors.UserError, f"^{file}: it was changed"):
      list(source.rows())

  def test_lossy_corrupted_and_embedded_sets_are_prepared(self):
    _, manual_dir = _folder(self.root / "files")
    for name, config, codec in (
      ("imagenet_c", "clean", "jpeg85"),
      ("imagenet_c", "fog_1", "raw"),
      ("digits_c", "clean", "raw"),
      ("cifar10_c", "clean", "raw"),
    ):
      builder = datasets.builder(
        name, config, codec=codec, data_dir=self.root / "unwritten"
      )
      self.assertIsNone(builder.unprepared(manual_dir), (name, config))
