"""Tiny ImageNet in a folder, a zip archive, with larger crops; refusals."""

import zipfile

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.building import geometry
from tests import tiny_files
from tests.building.sources import action_layouts, small_sets


def _jpeg(width, height, seed=0) -> bytes:
  return tiny_files.encoded(tiny_files.smooth(width, height, seed), "JPEG")


class TinyImagenetPTest(action_layouts.Layout):
  NAME = "tiny_imagenet_p"
  SPLIT = "validation"

  def setUp(self):
    super().setUp()
    self.manual = self.root
    first, second = small_sets.tiny_wnids()[-1:-3:-1]
    self.annotations = (
      f"val_0.JPEG\t{second}\t0\t0\t9\t9\nval_1.JPEG\t{first}\t0\t0\t9\t9\n"
    )
    self.second = second

  def _write(self, root):
    pictures = {f"val/images/val_{i}.JPEG": _jpeg(64, 64, i) for i in range(2)}
    tiny_files.put(
      root,
      {
        "wnids.txt": "\n".join(small_sets.tiny_wnids()),
        "val/val_annotations.txt": self.annotations,
        **pictures,
      },
    )

  def _labels(self):
    rows = self._rows()
    return {e["example_id"]: (e["label"], e["frames"]) for e in rows}

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
    with self.assertRaisesRegex(FileNotFoundError, "No Tiny ImageNet in"):
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
    (lambda names: [], "got 0 lines with 0"),
    (lambda names: [f"x{i}" for i in range(200)], "<wnid> of wnids.txt"),
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
