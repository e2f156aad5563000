"""What is set aside, in words."""

from absl.testing import absltest

from eval.compare.boards import aside
from robust_tfds import errors


class AsideTest(absltest.TestCase):
  def test_words(self):
    one = aside.Aside("r", "it is broken.", "digits_c", "a")
    self.assertEqual(str(one), "a on digits_c, run r: it is broken.")
    whole = aside.Aside("r", "it is broken.", "digits_c")
    self.assertEqual(str(whole), "digits_c, run r: it is broken.")
    self.assertEqual(str(aside.Aside("r", "gone.")), "r: gone.")

  def test_refusals_are_taken_and_bugs_are_not(self):
    listed = []
    with aside.catching(listed, "r", model="a"):
      raise errors.UserError("broken")
    self.assertEqual(listed, [aside.Aside("r", "broken", model="a")])
    with self.assertRaises(errors.UserError), aside.catching(None, "r"):
      raise errors.UserError("broken")
    with self.assertRaises(KeyError), aside.catching(listed, "r"):
      raise KeyError("bug")

  def test_nothing_is_left(self):
    aside.check(["x"], [])
    with self.assertRaisesRegex(errors.UserError, "^r: gone.\nq: too$"):
      aside.check([], [aside.Aside("r", "gone."), aside.Aside("q", "too")])
