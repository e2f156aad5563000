"""Tiny ImageNet in a folder, a zip archive, with larger crops; refusals."""

import io
import pathlib
import zipfile

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized
from PIL import Image

from robust_tfds import datasets, errors
from robust_tfds.building import geometry
from tests.building.sources import small_sets


def _picture(width, height, seed=0) -> Image.Image:
  rng = np.random.default_rng(seed)
  small = Image.fromarray(rng.integers(0, 256, (9, 12, 3), np.uint8))
  return small.resize((width, height), Image.Resampling.BICUBIC)


def _jpeg(width, height, seed=0) -> bytes:
  out = io.BytesIO()
  _picture(width, height, seed).save(out, "JPEG")
  return out.getvalue()


def _examples(builder, split):
  return list(tfds.as_numpy(builder.as_dataset(split=split)))


class TinyImagenetPTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    first, second = small_sets.tiny_wnids()[-1:-3:-1]
    self.annotations = (
      f"val_0.JPEG\t{second}\t0\t0\t9\t9\nval_1.JPEG\t{first}\t0\t0\t9\t9\n"
    )
    self.second = second

  def _write(self, root):
    (root / "val" / "images").mkdir(parents=True)
    (root / "wnids.txt").write_text("\n".join(small_sets.tiny_wnids()))
    (root / "val" / "val_annotations.txt").write_text(self.annotations)
    for i in range(2):
      (root / "val" / "images" / f"val_{i}.JPEG").write_bytes(_jpeg(64, 64, i))

  def _labels(self):
    built = datasets.prepare(
      "tiny_imagenet_p",
      "clean",
      data_dir=self.create_tempdir().full_path,
      manual_dir=self.manual,
    )
    found = _examples(built, "validation")
    return {e["example_id"]: (e["label"], e["frames"]) for e in found}

  def test_folder_zip_and_larger_crops(self):
    root = self.manual / "tiny-imagenet-200"
    self._write(root)
    folder = self._labels()
    self.assertEqual(
      {k: int(v[0]) for k, v in folder.items()},
      {b"val_0.JPEG": 1, b"val_1.JPEG": 0},
    )
    with zipfile.ZipFile(self.manual / "tiny-imagenet-200.zip", "w") as archive:
      for path in sorted(root.rglob("*")):
        archive.write(path, path.relative_to(self.manual))
    crop = root / "bbox_crop" / self.second
    crop.mkdir(parents=True)
    (crop / "val_0.JPEG").write_bytes(_jpeg(90, 70, 5))
    larger = self._labels()
    expected = geometry.decode(_jpeg(90, 70, 5), "short64_crop64", "crop")
    frame = larger[b"val_0.JPEG"][1][0].astype(int)
    self.assertLess(np.abs(frame - expected).mean(), 1)
    root.rename(self.manual / "elsewhere")
    zipped = self._labels()
    for name, (label, frames) in folder.items():
      self.assertEqual(zipped[name][0], label)
      np.testing.assert_array_equal(zipped[name][1], frames)

  def test_refusals(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "does not exist or is empty"
    ):
      self._labels()
    (self.manual / "other").mkdir()
    with self.assertRaisesRegex(FileNotFoundError, "Looked for tiny-imagenet"):
      self._labels()
    self.annotations = f"../../val_0.JPEG\t{self.second}\t0\n"
    self._write(self.manual / "tiny-imagenet-200")
    with self.assertRaisesRegex(ValueError, "leaves its folder"):
      self._labels()
    annotations = self.manual / "tiny-imagenet-200/val/val_annotations.txt"
    annotations.write_text("val_0.JPEG n02\n")
    with self.assertRaisesRegex(ValueError, "line 1"):
      self._labels()

  @parameterized.parameters(
    (lambda names: names[:199], "got 199 lines with 199"),
    (lambda names: [*names[:199], names[0]], "got 200 lines with 199"),
    (lambda names: [*names, "n00000999"], "got 201 lines with 201"),
  )
  def test_the_whole_list_of_classes(self, change, message):
    root = self.manual / "tiny-imagenet-200"
    self._write(root)
    names = change(small_sets.tiny_wnids())
    (root / "wnids.txt").write_text("\n".join(names))
    with self.assertRaisesRegex(errors.UserError, message):
      self._labels()


if __name__ == "__main__":
  absltest.main()
