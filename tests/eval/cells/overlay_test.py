"""Overlays are plain data."""

from absl.testing import absltest

from eval.cells.files import overlay


class OverlayTest(absltest.TestCase):
  def test_without_a_mask(self):
    box = overlay.Overlay("hit", (1.0, 2.0, 3.0, 4.0), "cat 0.90")
    self.assertIsNone(box.mask)
    self.assertEqual(box.corner, (0, 0))
