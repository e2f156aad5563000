"""Values that a spec can express, and refusals that name the field."""

from absl.testing import parameterized

from models.convert.sidecar import values
from robust_tfds import errors


class ValuesTest(parameterized.TestCase):
  def test_taken(self):
    self.assertEqual(values.number(1, "a", "f", least=0, most=1), 1.0)
    self.assertEqual(values.whole_number(3, "a", "f"), 3)
    self.assertEqual(values.triple([1, 2.5, 3], "a", "f"), (1.0, 2.5, 3.0))
    self.assertEqual(values.interpolation("bicubic", "f"), "bicubic")

  @parameterized.parameters(True, "1", None, 2, float("nan"))
  def test_no_number(self, value):
    with self.assertRaisesRegex(errors.UserError, "^f: a: got .* from 0 to 1"):
      values.number(value, "a", "f", least=0, most=1)

  @parameterized.parameters(True, 0, 1.0, "1", None)
  def test_no_whole_number(self, value):
    with self.assertRaisesRegex(errors.UserError, "^f: a: got .* whole number"):
      values.whole_number(value, "a", "f")

  @parameterized.parameters(
    1, "abc", ([1, 2],), ([1, 2, "3"],), ([1, 2, None],)
  )
  def test_no_triple(self, value):
    with self.assertRaisesRegex(errors.UserError, "number per channel"):
      values.triple(value, "a", "f")
