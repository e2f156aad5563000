"""`folder:PATH`: what is listed, and what is refused by file."""

import os
import pathlib
import unicodedata

from absl.testing import parameterized

from robust_tfds import datasets, errors
from tests import tiny_files
from tests.own import made

_PNG = tiny_files.encoded(tiny_files.noise(9, 7))


class FolderTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = made.folder(pathlib.Path(self.create_tempdir().full_path) / "p")

  def _own(self):
    return datasets.builder_class(f"folder:{self.root}").OWN

  def test_listed(self):
    tiny_files.put(
      self.root,
      {"Thumbs.db": "", "cat/._1.png": "", "cat/a.txt": "", "x.png": _PNG},
    )
    own = self._own()
    self.assertEqual(own.classes, made.CLASSES)
    ids = [file.name for file in own.files()]
    self.assertEqual(
      ids[:4],
      [f"Füchse/{n}" for n in ("0.png", "1.jpeg", "2.png", "deep/3.jpeg")],
    )
    self.assertEqual(
      [file.label for file in own.files()], [0] * 4 + [1] * 4 + [2] * 4
    )
    self.assertContainsSubsequence(
      own.words.split("; "),
      [
        "1 hidden files left out",
        "2 files that are no pictures left out",
        "1 pictures beside the class folders left out.",
      ],
    )

  def test_ids_are_of_one_unicode_form(self):
    decomposed = unicodedata.normalize("NFD", "Füchse")
    os.rename(self.root / "Füchse", self.root / decomposed)
    self.assertEqual(self._own().files()[0].name, "Füchse/0.png")
    self.assertEqual(self._own().classes, made.CLASSES)

  def test_a_link_inside(self):
    (self.root / "cat" / "again").symlink_to(self.root / "cat" / "deep")
    ids = [file.name for file in self._own().files()]
    self.assertIn("cat/again/3.jpeg", ids)

  @parameterized.parameters(
    ({"DOG/9.png": _PNG}, "the classes 'DOG' and 'dog' differ by case"),
    (
      {"cat/0.PNG": _PNG},
      "pictures 'cat/0.PNG' and 'cat/0.png' differ by case",
    ),
    ({"owl/.keep": ""}, "owl: a class without a picture. Add"),
    ({"a\nb/1.png": _PNG}, "no name of a class"),
    ({"cat/out": ".."}, "out: a link out of"),
    ({"cat/out": "cat"}, "out"),
    ({"cat/out.png": "nothing.png"}, "out.png: cannot be read"),
  )
  def test_refused(self, files, words):
    ((name, content),) = files.items()
    if "out" in name:
      (self.root / name).symlink_to(self.root / content)
    else:
      tiny_files.put(self.root, files)
    with self.assertRaisesRegex(errors.UserError, words):
      self._own()

  def test_no_classes(self):
    with self.assertRaisesRegex(errors.UserError, "1 folders, expected two"):
      datasets.builder_class(f"folder:{self.root}/cat")
    place = made.folder(self.root / "x" / "val").parent
    with self.assertRaisesRegex(
      errors.UserError, "holds the splits val, .*/val"
    ):
      datasets.builder_class(f"folder:{place}")
