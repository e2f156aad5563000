"""The picture at the README's head."""

import io
from unittest import mock

import numpy as np
from absl.testing import absltest
from matplotlib import figure

from robust_tfds import corruptions
from tools import front

_NAMES, _LEVELS = ("brightness", "contrast"), (1, 5)


class FrontTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.object(front, "NAMES", _NAMES))
    self.enter_context(mock.patch.object(front, "SEVERITIES", _LEVELS))
    levels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    self.strip = front.strip(levels, "cifar10")
    self.image = levels

  def test_the_board_is_the_printed_table_best_first(self):
    board = front.board()
    self.assertLen(board, 7)  # Table 1
    self.assertEqual(board[0], ("ResNet-50", 76.7))
    self.assertEqual(board[-1], ("SqueezeNet", 104.4))
    values = [value for _, value in board]
    self.assertEqual(values, sorted(values))

  def test_the_strip_is_what_corrupt_gives(self):
    rows, across, down = self.strip
    self.assertEqual((across, down), (_NAMES, ["severity 1", "severity 5"]))
    for row, severity in zip(rows, _LEVELS, strict=True):
      for image, name in zip(row, _NAMES, strict=True):
        key = corruptions.example_key(0, "front", name, severity, "scene")
        want = corruptions.corrupt(
          self.image, name, severity, edition="cifar10", key=key
        )
        np.testing.assert_array_equal(image, want)

  def test_the_grid_has_all_pictures_and_words(self):
    whole = figure.Figure()
    front.grid(whole, *self.strip)
    shown = [place.images[0].get_array() for place in whole.axes]
    np.testing.assert_array_equal(
      shown, [i for row in self.strip[0] for i in row]
    )
    self.assertEqual([p.get_title() for p in whole.axes[:2]], [*_NAMES])
    self.assertEqual(whole.axes[2].get_ylabel(), "severity 5")

  def test_it_is_drawn(self):
    with mock.patch.object(front, "strip", return_value=self.strip):
      whole = front.drawn()
    words = [
      t.get_text()
      for t in whole.findobj(match=lambda a: hasattr(a, "get_text"))
    ]
    self.assertIn("brightness", words)
    self.assertIn("100.0", words)
    out = io.BytesIO()
    whole.savefig(out, format="png", dpi=20)
    self.assertGreater(out.tell(), 1000)
