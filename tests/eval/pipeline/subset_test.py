"""Which examples ids name: whole ids, stems, none, several, twice."""

from absl.testing import parameterized

from eval.pipeline import subset
from robust_tfds import errors

_IMAGENET = [f"ILSVRC2012_val_{i:08d}.JPEG" for i in (3, 1, 2)]


def _places(ids, example_ids) -> list[int]:
  of = subset.Subset("some", tuple(ids), "ids.txt")
  return of.places(example_ids, "imagenet_c/clean/1.0.0").tolist()


class PlacesTest(parameterized.TestCase):
  @parameterized.parameters(
    "ILSVRC2012_val_00000001.JPEG",
    "ILSVRC2012_val_00000001",
    "n01440764/ILSVRC2012_val_00000001.JPEG",
    "val/n01440764/ILSVRC2012_val_00000001.JPEG",
    "val\\n01440764\\ILSVRC2012_val_00000001.png",
  )
  def test_forms_of_an_id(self, line):
    self.assertEqual(_places([line], _IMAGENET), [1])

  def test_ascending_whatever_the_order(self):
    self.assertEqual(_places(_IMAGENET[::-1], _IMAGENET), [0, 1, 2])
    self.assertEqual(_places([_IMAGENET[2], _IMAGENET[0]], _IMAGENET), [0, 2])

  def test_whole_ids_before_stems(self):
    ids = ["a/x.png", "b/x.png", "x.png"]
    self.assertEqual(_places(["b/x.png"], ids), [1])
    self.assertEqual(_places(["x.png"], ids), [2])

  @parameterized.parameters(
    (["x.jpg"], "'x.jpg' may be 'a/x.png' or 'b/x.png'. Write the whole id"),
    (
      ["y.png", "z", "a/x.png"],
      r"ids.txt: 2 of 3 ids are not in imagenet_c/clean/1.0.0, the first"
      r" 'y.png'; its ids are like 'a/x.png'",
    ),
    (
      ["c.png", "folder/c.JPEG"],
      "'c.png' and 'folder/c.JPEG' are both the example 'c.png'",
    ),
  )
  def test_refused(self, ids, message):
    with self.assertRaisesRegex(errors.UserError, message):
      _places(ids, ["a/x.png", "b/x.png", "c.png"])

  def test_case_matters(self):
    with self.assertRaisesRegex(errors.UserError, "1 of 1 ids are not in"):
      _places(["ilsvrc2012_val_00000001.jpeg"], _IMAGENET)
