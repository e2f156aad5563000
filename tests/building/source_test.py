"""Parts of sources: what they say, and which files they read."""

import dataclasses
import zipfile

import numpy as np
from absl.testing import absltest

from robust_tfds.building import source
from robust_tfds.reading import archives
from tests import in_folder


@dataclasses.dataclass(frozen=True)
class _Example(source.Part):
  example_id: str
  picture: source.Picture
  rows: tuple
  nothing: str | None = None


class PartTest(absltest.TestCase):
  def test_facts_in_the_order_of_fields(self):
    file = source.File("a.png", "/x/a.png", label=3)
    part = _Example("a", source.Picture(file), ({"b": 1, "a": [2, "c"]},))
    expected = ["a", "a.png", 3, file, "a", 2, "c", "b", 1]
    self.assertEqual(list(part.facts()), expected)
    self.assertEqual(list(part.files()), [file])

  def test_what_was_asked_of_a_picture_is_a_fact(self):
    file = source.File("", "/x/a.png")
    self.assertEqual(list(source.Picture(file).facts()), [file])
    cropped = source.Picture(file, "imagenet", convert_last=True)
    expected = [file, "imagenet", "convert_last", True]
    self.assertEqual(list(cropped.facts()), expected)

  def test_pixels(self):
    pixels = source.Pixels(np.zeros((2, 3, 3), np.uint8))
    self.assertIs(pixels.read(), pixels.array)
    self.assertEqual(list(pixels.facts())[0].shape, (2, 3, 3))


class EndsTest(in_folder.TestCase):
  def test_ends(self):
    path = self.root / "a"
    path.write_bytes(b"abcdef")
    self.assertEqual(source.File("a", str(path)).ends(2), b"abef")
    self.assertEqual(source.File("a", str(self.root / "b")).ends(2), b"")
    with zipfile.ZipFile(self.root / "a.zip", "w") as archive:
      archive.write(path, "a")
    (member,) = archives.members(self.root / "a.zip")
    packed = source.File("a", member.archive, member)
    self.assertEqual((packed.ends(2), packed.data()), (b"", b"abcdef"))
