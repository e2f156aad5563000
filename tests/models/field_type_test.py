"""Which values fit a field of a spec."""

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.models.field_type import FieldType


class FieldTypeTest(parameterized.TestCase):
  @parameterized.parameters(
    (str, ("rgb",), (3, None, b"x")),
    (bool, (True, np.bool_(False)), (1, "True", None)),
    (int, (3, np.int64(3)), (3.0, True, "3", None)),
    (float, (3, 0.5, np.float32(0.5)), ("0.5", True, None)),
    (int | None, (3, None), (0.5,)),
    (
      tuple[float, float, float],
      ((0.5, 1, 0), [0, 0, 0], np.ones(3)),
      ((1, 2), 3, ("a", "b", "c"), (1, 2, True), None),
    ),
  )
  def test_fits(self, hint, good, bad):
    kind = FieldType.of(hint)
    for value in good:
      self.assertTrue(kind.fits(value), value)
    for value in bad:
      self.assertFalse(kind.fits(value), value)

  def test_words(self):
    self.assertEqual(FieldType.of(int).words, "a whole number")
    self.assertEqual(FieldType.of(float | None).words, "a number or None")


if __name__ == "__main__":
  absltest.main()
