"""ImageNet's validation images and the published ImageNet-C: where they may lie."""

import io
import pathlib
import tarfile

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized
from PIL import Image

from robust_tfds import datasets
from robust_tfds.datasets.sources import imagenet


def _jpeg(size=(60, 40), seed=0) -> bytes:
  out = io.BytesIO()
  rng = np.random.default_rng(seed)
  Image.fromarray(rng.integers(0, 256, (*size[::-1], 3), np.uint8)).save(
    out, "JPEG"
  )
  return out.getvalue()


class SourcesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _labels(self):
    return [(f.name, f.label) for f in imagenet.clean(self.root)]

  def test_files_named_by_wnid(self):
    (self.root / "n01443537_goldfish.JPEG").write_bytes(_jpeg())
    self.assertEqual(self._labels(), [("n01443537_goldfish.JPEG", 1)])

  def test_official_names_with_the_devkits_truth(self):
    from scipy import io as scipy_io

    folder = self.root / "val"
    folder.mkdir()
    for i in (1, 2):
      (folder / f"ILSVRC2012_val_{i:08d}.JPEG").write_bytes(_jpeg())
    (self.root / "ILSVRC2012_validation_ground_truth.txt").write_text("7\n5\n")
    rows = np.array(
      [(5, "n01440764"), (7, "n01443537")],
      dtype=[("ILSVRC2012_ID", "O"), ("WNID", "O")],
    )
    scipy_io.savemat(self.root / "meta.mat", {"synsets": rows})
    self.assertEqual([label for _, label in self._labels()], [1, 0])

  def test_official_names_with_the_list_of_tfds(self):
    (self.root / "ILSVRC2012_val_00000001.JPEG").write_bytes(_jpeg())
    # The first validation image is a sea snake, n01751748.
    self.assertEqual(self._labels(), [("ILSVRC2012_val_00000001.JPEG", 65)])

  def test_tar_is_read_in_place(self):
    data = _jpeg(seed=3)
    with tarfile.open(self.root / imagenet.VALIDATION_TAR, "w") as tar:
      member = tarfile.TarInfo("../../ILSVRC2012_val_00000001.JPEG")
      member.size = len(data)
      tar.addfile(member, io.BytesIO(data))
    (found,) = imagenet.clean(self.root)
    self.assertEqual(found.name, "ILSVRC2012_val_00000001.JPEG")
    self.assertEqual(found.data(), data)
    self.assertLen(list(self.root.parent.rglob("*.JPEG")), 0)

  def test_missing_data_says_what_was_looked_for(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "Looked for: ILSVRC2012_img"
    ):
      imagenet.clean(self.root)

  def test_image_without_label_is_named(self):
    (self.root / "cat.JPEG").write_bytes(_jpeg())
    with self.assertRaisesRegex(ValueError, "cat.JPEG has no label"):
      imagenet.clean(self.root)

  @parameterized.parameters((_jpeg()[:300],), (b"no image at all",))
  def test_broken_image_is_named(self, data):
    (self.root / "n01443537_x.JPEG").write_bytes(data)
    with self.assertRaisesRegex(ValueError, "n01443537_x.JPEG cannot be read"):
      datasets.prepare(
        "imagenet_c",
        "clean",
        data_dir=self.create_tempdir().full_path,
        manual_dir=self.root,
      )

  def test_manual_dir_that_is_not_there(self):
    with self.assertRaisesRegex(FileNotFoundError, "does not exist"):
      datasets.prepare("imagenet_c", "clean", manual_dir="/nowhere")


if __name__ == "__main__":
  absltest.main()
