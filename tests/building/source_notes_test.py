"""Sets that are there: taken as they are while their sources are the same."""

import os
import pathlib
import shutil
import zipfile
from collections.abc import Callable

from absl.testing import parameterized

from robust_tfds import datasets, errors
from robust_tfds.building import source_notes
from tests.building.sources import small_sets


class SourceNotesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._manual = self._folder / "manual"

  def _sources(self, name: str) -> None:
    self._manual.mkdir()
    made = small_sets.MAKERS[name](self._manual)
    if made != self._manual:
      shutil.copytree(made, self._manual, dirs_exist_ok=True)

  def _is_there(self, name: str, manual: pathlib.Path | None = None) -> bool:
    built = datasets.prepare(
      name,
      "clean",
      data_dir=self._folder / "data",
      manual_dir=manual or self._manual,
    )
    return built.found_on_disk

  @parameterized.parameters(
    ("cifar10_c", "cifar-10-batches-bin/test_batch.bin", "test_00002"),
    ("coco_c", "val2017/000000000139.jpg", "000000000139.jpg"),
    ("coco_c", "annotations/instances_val2017.json", "000000000139.jpg"),
    ("pascal_c", "VOCdevkit/VOC2007/Annotations/000001.xml", "000001.jpg"),
    ("tiny_imagenet_c", "tiny-imagenet-200/val/images/val_1.JPEG", "val_1"),
    ("ssv2_p", "20bn-something-something-v2/9.webm", "9.webm"),
  )
  def test_changed(self, name, below, example):
    self._sources(name)
    self.assertFalse(self._is_there(name))
    self.assertTrue(self._is_there(name))
    file = self._manual / below
    data = file.read_bytes()
    if file.suffix == ".json":
      file.write_bytes(data.replace(b'"area": ', b'"area": 1', 1))
    else:
      file.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    with self.assertRaisesRegex(
      errors.UserError, f"^{self._folder}.*made from other.*{example}"
    ):
      self._is_there(name)
    file.write_bytes(data)
    self.assertTrue(self._is_there(name))

  def test_other_examples(self):
    self._sources("tiny_imagenet_c")
    self._is_there("tiny_imagenet_c")
    path = self._manual / "tiny-imagenet-200/val/val_annotations.txt"
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    with self.assertRaisesRegex(errors.UserError, "2 examples then, 1 now"):
      self._is_there("tiny_imagenet_c")

  @parameterized.parameters(
    lambda root: shutil.rmtree(root / "tiny-imagenet-200/val/images"),
    lambda root: os.utime(root / "tiny-imagenet-200/val/images/val_0.JPEG"),
    lambda root: (root / "notes.txt").write_text("mine"),
    lambda root: zipped(root),
  )
  def test_same_or_gone(self, change: Callable[[pathlib.Path], None]):
    self._sources("tiny_imagenet_c")
    self._is_there("tiny_imagenet_c")
    change(self._manual)
    self.assertTrue(self._is_there("tiny_imagenet_c"))

  def test_elsewhere(self):
    self._sources("tiny_imagenet_c")
    self._is_there(
      "tiny_imagenet_c", pathlib.Path(os.path.relpath(self._manual))
    )
    other = self._folder / "other"
    shutil.move(self._manual, other)
    self.assertTrue(self._is_there("tiny_imagenet_c", other))

  def test_sets_without_a_note_and_broken_ones(self):
    self._sources("tiny_imagenet_c")
    self._is_there("tiny_imagenet_c")
    (path,) = (self._folder / "data").rglob(source_notes.NAME)
    path.write_text(path.read_text()[:-9])
    with self.assertRaisesRegex(errors.UserError, f"^{path}"):
      self._is_there("tiny_imagenet_c")
    path.unlink()
    (self._manual / "tiny-imagenet-200/val/images/val_0.JPEG").write_bytes(b"")
    self.assertTrue(self._is_there("tiny_imagenet_c"))


def zipped(root: pathlib.Path) -> None:
  """Packs Tiny ImageNet's folder as it was before it was unpacked."""
  folder = root / "tiny-imagenet-200"
  with zipfile.ZipFile(root / "tiny-imagenet-200.zip", "w") as archive:
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
      archive.write(path, path.relative_to(root))
  shutil.rmtree(folder)
