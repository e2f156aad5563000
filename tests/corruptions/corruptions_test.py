"""The package's front: names in the paper's order, and what it offers."""

from absl.testing import absltest

from robust_tfds import conditions, corruptions


class CorruptionsTest(absltest.TestCase):
  def test_names(self):
    common, extra = (corruptions.names(b) for b in ("common", "extra"))
    self.assertEqual([len(common), len(extra)], [15, 4])
    self.assertEqual(corruptions.names(), common)
    own = corruptions.names("own")  # of whoever added them
    self.assertCountEqual(corruptions.names("all"), common + extra + own)
    self.assertEqual(corruptions.names("all"), conditions.PICTURES.names("all"))
    self.assertEqual(common[0], "gaussian_noise")
    with self.assertRaisesRegex(ValueError, "Did you mean 'common'"):
      corruptions.names("comon")

  def test_it_offers_what_it_lists(self):
    for name in corruptions.__all__:
      self.assertTrue(callable(vars(corruptions)[name]), name)
