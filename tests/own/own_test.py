"""What a text of one's own data may be."""

import pathlib

from absl.testing import parameterized

from robust_tfds import datasets, errors, evaluate, own


class OwnTest(parameterized.TestCase):
  @parameterized.parameters(
    ("foldr:/data", "Unknown kind of data 'foldr'. Did you mean 'folder'?"),
    ("/data/pets", "is no benchmark. .* folder:/data/pets"),
    ("folder:", "is no benchmark"),
    ("folder:/is/not/there", "folder:/is/not/there: there is no such folder"),
  )
  def test_refused_at_every_door(self, text, words):
    with self.assertRaisesRegex(errors.UserError, words):
      own.builder_class(text)
    with self.assertRaisesRegex(errors.UserError, words):
      datasets.builder_class(text)
    with self.assertRaisesRegex(errors.UserError, words):
      evaluate(len, text)

  def test_a_folder_has_no_splits(self):
    with self.assertRaisesRegex(
      errors.UserError, "Name the folder of the split"
    ):
      own.builder_class("folder:/data", own.Options(split="train"))

  def test_a_folder_without_its_kind(self):
    with self.assertRaisesRegex(errors.UserError, "own: folder:/data/pets"):
      evaluate(len, "pets")

  @parameterized.parameters(pathlib.Path("/data/pets"), 3, None)
  def test_what_is_no_text(self, data):
    words = f"Got a {type(data).__name__} as data, .*folder:/data/pets"
    with self.assertRaisesRegex(errors.UserError, words):
      evaluate(len, data)

  def test_benchmarks_are_none(self):
    self.assertFalse(any(map(own.is_source, datasets.names())))
