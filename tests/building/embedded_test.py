"""Embedded pictures: what is known of the test split without reading it."""

from absl.testing import absltest, parameterized

from robust_tfds import datasets


class KnownTest(parameterized.TestCase):
  @parameterized.parameters(
    ("digits_c", 359, "digit_0004", 4),
    ("digits_p", 359, "digit_0004", 4),
    ("signs_c", 240, "test_0013", 1),
    ("signs_p", 240, "test_0013", 1),
  )
  def test_ids_and_labels(self, name, count, example_id, label):
    cls = datasets.builder_class(name)
    self.assertLen(cls.known_ids(), count)
    self.assertEqual(cls.known_label(example_id), label)
    self.assertIsNone(cls.known_label("train_0000"))


if __name__ == "__main__":
  absltest.main()
