"""Which picture belongs to which, and what is refused."""

import numpy as np
from absl.testing import parameterized
from etils import epath
from PIL import Image

from eval.report.figures.parts import picture_pairs
from robust_tfds import errors
from tests import in_folder


class PairsTest(in_folder.TestCase):
  def folder(self, name: str, *files: str) -> epath.Path:
    for file in files:
      path = self.root / name / file
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_bytes(b"")
    return epath.Path(self.root / name)

  @parameterized.parameters(
    ("a.jpg", "a.jpg"),
    ("a.jpg", "a.png"),
    ("a.jpg", "a-stylized-monet.jpg"),
    ("train/a.jpg", "train/a-stylized-monet.jpg"),
    ("a.b.jpg", "a.b-stylized-1.2.jpg"),
    ("a-stylized-x.jpg", "a-stylized-x-stylized-y.jpg"),
  )
  def test_a_version_has_the_name(self, clean, stylized):
    ours, theirs = self.folder("in", clean), self.folder("out", stylized)
    pairs = picture_pairs.find_pairs(ours, theirs)
    pair = picture_pairs.Pair(clean, ours / clean, theirs / stylized)
    self.assertEqual(pairs, picture_pairs.Pairs([pair], 1))

  def test_those_without_a_version_are_counted(self):
    ours = self.folder("in", "a.jpg", "b.jpg", "c.jpg", "notes.txt")
    theirs = self.folder("out", "c.jpg", "a-stylized-1.jpg", "a-stylized-0.jpg")
    pairs = picture_pairs.find_pairs(ours, theirs)
    self.assertEqual(
      [(p.name, p.stylized.name) for p in pairs.listed],
      [("a.jpg", "a-stylized-0.jpg"), ("c.jpg", "c.jpg")],
    )
    self.assertEqual(pairs.clean, 3)

  def test_refusals(self):
    ours = self.folder("in", "a.jpg")
    for theirs, words in (
      (self.folder("out", "b.jpg", "x/a.jpg"), "None of the 1 pictures"),
      (self.root / "out" / ".." / "in", "name one folder"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        picture_pairs.find_pairs(ours, epath.Path(theirs))

  def test_large_pictures_are_drawn_small(self):
    file = epath.Path(self.root / "a.png")
    Image.fromarray(np.zeros((600, 1200, 3), np.uint8)).save(file)
    drawn, size = picture_pairs.pixels(file)
    self.assertEqual((drawn.shape, size), ((240, 480, 3), (600, 1200)))
