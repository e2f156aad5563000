"""ImageNet's validation images and the published ImageNet-C: where they may lie."""

import io
import tarfile

import numpy as np
from absl.testing import parameterized

from robust_tfds import datasets, errors
from robust_tfds.building.sources import imagenet
from tests import in_folder, tiny_files


def _jpeg(seed=0) -> bytes:
  return tiny_files.encoded(tiny_files.noise(40, 60, seed), "JPEG")


class SourcesTest(in_folder.TestCase):
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

  def _tar(self, name, data, kind=tarfile.REGTYPE):
    with tarfile.open(self.root / imagenet.VALIDATION_TAR, "a") as tar:
      member = tarfile.TarInfo(name)
      member.size, member.type = len(data), kind
      tar.addfile(member, io.BytesIO(data))

  @parameterized.parameters(
    ("../../ILSVRC2012_val_00000002.JPEG", tarfile.REGTYPE, "leaves the arch"),
    ("ILSVRC2012_val_00000002.JPEG", tarfile.SYMTYPE, "is a symbolic link"),
    ("ILSVRC2012_val_00000002.JPEG", tarfile.LNKTYPE, "is a hard link"),
    ("ILSVRC2012_val_00000001.JPEG", tarfile.REGTYPE, "is there twice"),
  )
  def test_members_of_a_tar_that_are_refused(self, name, kind, message):
    self._tar("ILSVRC2012_val_00000001.JPEG", _jpeg())
    self._tar(name, b"", kind)
    with self.assertRaisesRegex(
      errors.UserError, f"{imagenet.VALIDATION_TAR}: {name}: .*{message}"
    ):
      imagenet.clean(self.root)

  def test_what_systems_leave_in_a_folder(self):
    for name in ("n01443537_goldfish.JPEG", "._n01443537_goldfish.JPEG"):
      (self.root / name).write_bytes(_jpeg())
    for name in (".DS_Store", "Thumbs.db"):
      (self.root / name).write_bytes(b"x")
    (self.root / "n01443537_ünder water.PNG").write_bytes(_jpeg())
    self.assertLen(self._labels(), 2)

  def test_devkit_in_its_archive(self):
    from scipy import io as scipy_io

    (self.root / "ILSVRC2012_val_00000001.JPEG").write_bytes(_jpeg())
    meta = io.BytesIO()
    kinds = [("ILSVRC2012_ID", "O"), ("WNID", "O")]
    rows = np.array([(5, "n01440764"), (7, "n01443537")], dtype=kinds)
    scipy_io.savemat(meta, {"synsets": rows})
    for truth, meta_data, message in (
      (b"7\n", meta.getvalue(), ""),
      (b"9\n", meta.getvalue(), "ground_truth.txt, line 1: synset 9 is not in"),
      (b"7\nx\n", meta.getvalue(), "line 2: the number of a synset expected"),
      (b"7\n", b"no matlab", "meta.mat beside it cannot be read"),
      (b"7\n", None, "devkit_t12.tar.gz: holds no meta.mat"),
    ):
      folder = "ILSVRC2012_devkit_t12/data"
      files = {f"{folder}/ILSVRC2012_validation_ground_truth.txt": truth}
      if meta_data is not None:
        files[f"{folder}/meta.mat"] = meta_data
      archive = self.root / "ILSVRC2012_devkit_t12.tar.gz"
      archive.write_bytes(tiny_files.tar(files, mode="w:gz"))
      if message:
        with self.assertRaisesRegex(errors.UserError, message):
          self._labels()
      else:
        self.assertEqual(self._labels()[0][1], 1)

  def test_tar_is_read_in_place(self):
    data = _jpeg(seed=3)
    self._tar("ILSVRC2012_val_00000001.JPEG", data)
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
    with self.assertRaisesRegex(FileNotFoundError, "there is no such folder"):
      datasets.prepare("imagenet_c", "clean", manual_dir="/nowhere")
