"""Paths of small pictures."""

import re

from absl.testing import parameterized

from robust_tfds.html_pages import paths


def _points(data: str) -> list[tuple[float, float]]:
  """Where a path of `line` leads, in pixels: an own reading of the syntax."""
  numbers = [int(n) for n in re.findall(r"-?\d+", data)]
  x = y = 0
  out = []
  for dx, dy in zip(numbers[::2], numbers[1::2]):
    x, y = x + dx, y + dy
    out.append((x / 2, y / 2))
  return out


class PathsTest(parameterized.TestCase):
  def test_a_line_leads_through_its_points(self):
    points = [(1.5, 2), (3, 0.5), (3, 7), (-2, 7.5)]
    self.assertEqual(_points(paths.line(points)), points)

  def test_rounding_does_not_add_up(self):
    points = [(i * 0.3, 0.0) for i in range(100)]
    for (x, _), (a, _) in zip(_points(paths.line(points)), points):
      self.assertLessEqual(abs(x - a), 0.25 + 1e-9)

  def test_few_points(self):
    self.assertEqual(paths.line([]), "")
    self.assertEqual(paths.line([(1, 1)]), "M2 2h0")

  def test_a_band_goes_there_and_back(self):
    band = paths.band([(0, 0), (1, 0)], [(0, 2), (1, 2)])
    self.assertTrue(band.endswith("z"))
    self.assertEqual(_points(band), [(0, 0), (1, 0), (1, 2), (0, 2)])

  def test_uprights_without_height_are_left_out(self):
    self.assertEqual(paths.upright([((1, 5), -2), ((3, 5), 0.1)]), "M2 10v4")

  @parameterized.parameters(
    (0.83, 1),
    (1, 1),
    (1.01, 2),
    (99.7, 100),
    (100, 100),
    (13, 20),
    (0.021, 0.025),
  )
  def test_nice_top(self, value, top):
    self.assertAlmostEqual(paths.nice_top(value), top)
