"""Class lists: whole, in the benchmark's order, or refused."""

from absl.testing import parameterized

from robust_tfds.building.sources import class_lists


class ClassListsTest(parameterized.TestCase):
  @parameterized.parameters(
    (class_lists.KINETICS400, 400, "abseiling", "zumba"),
    (class_lists.HMDB51, 51, "brush_hair", "wave"),
  )
  def test_packaged(self, name, count, first, last):
    label_of = class_lists.packaged(name)
    self.assertLen(label_of, count)
    self.assertEqual(list(label_of), sorted(label_of))
    self.assertEqual((label_of[first], label_of[last]), (0, count - 1))

  def test_labels_count_from_zero(self):
    entries = [
      class_lists.Entry("line 1", "b", 2),
      class_lists.Entry("line 2", "a", 1),
    ]
    self.assertEqual(
      class_lists.labels(entries, "x.txt", 2, first=1), {"a": 0, "b": 1}
    )
    with self.assertRaisesRegex(ValueError, "line 1: 'b' has number 2; the 2"):
      class_lists.labels(entries, "x.txt", 2)
    with self.assertRaisesRegex(ValueError, "x.txt: all 3 classes .* got 2"):
      class_lists.labels(entries, "x.txt", 3)
