"""Files of comparisons."""

import pathlib

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.eval.compare.pairs import files
from robust_tfds.storage import paths
from tests import fake_bucket
from tests.eval.compare.pairs.tables_test import comparison


class FilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def test_one_and_several(self):
    text = files.write([comparison()], paths.of(self.root / "one"))
    names = sorted(p.name for p in (self.root / "one").iterdir())
    self.assertEqual(
      names, [f"comparison.{end}" for end in ("csv", "md", "png", "svg")]
    )
    self.assertEqual((self.root / "one/comparison.md").read_text(), text)
    files.write([comparison()] * 2, paths.of(self.root / "two"))
    self.assertTrue((self.root / "two/comparison_2.png").exists())
    self.assertFalse((self.root / "two/comparison.png").exists())

  def test_in_a_bucket(self):
    bucket = fake_bucket.create(self)
    files.write([comparison()], bucket / "out")
    files.write([comparison()], paths.of(self.root / "out"))
    both = [
      {n: paths.read_bytes(p) for n, p in paths.files_below(folder)}
      for folder in (bucket / "out", paths.of(self.root / "out"))
    ]
    self.assertEqual(*both)

  def test_a_file_in_the_way(self):
    (self.root / "file").write_text("")
    with self.assertRaisesRegex(errors.UserError, "could not be written"):
      files.write([comparison()], paths.of(self.root / "file"))


if __name__ == "__main__":
  absltest.main()
