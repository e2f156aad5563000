"""A set's content, and its name."""

import pathlib
import shutil

from absl.testing import parameterized

from robust_tfds import datasets, errors, own
from tests.own import made


class OwnSetTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = made.folder(pathlib.Path(self.create_tempdir().full_path) / "p")

  def _own(self, root=None, name=""):
    return datasets.builder_class(
      f"folder:{root or self.root}", own.Options(name)
    ).OWN

  def test_content_is_of_ids_classes_and_bytes(self):
    first = self._own()
    moved = shutil.copytree(self.root, self.root.with_name("elsewhere"))
    self.assertEqual(self._own(moved).content, first.content)
    self.assertEqual(self._own(moved, "p").name, first.name)
    shutil.move(moved / "cat/0.png", moved / "cat/x.png")
    renamed = self._own(moved).content
    made.folder(moved, seed=1)
    (moved / "cat/x.png").unlink()
    self.assertLen({first.content, renamed, self._own(moved).content}, 3)

  def test_one_picture_in_two_classes(self):
    shutil.copy(self.root / "cat/0.png", self.root / "dog/9.png")
    words = r"dog/9.png \(class dog\) and .*cat/0.png \(class cat\) are one"
    with self.assertRaisesRegex(errors.UserError, words):
      made.evaluate(made.Seen(), f"folder:{self.root}")

  @parameterized.parameters("ImageNet-C", "digits", "a,b", "a/b", "a\nb", " ")
  def test_names(self, name):
    words = "is the name of a benchmark|cannot name a set"
    with self.assertRaisesRegex(errors.UserError, words):
      self._own(name=name)

  def test_a_broken_picture_is_named(self):
    (self.root / "cat/1.jpeg").write_bytes(b"no picture")
    words = "cat/1.jpeg cannot be read as an image"
    with self.assertRaisesRegex(errors.UserError, words):
      made.evaluate(made.Seen(), f"folder:{self.root}")
