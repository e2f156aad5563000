"""Heat maps: numbers that are read on their colours, names, a dividing line."""

import numpy as np
from absl.testing import absltest
from matplotlib.text import Text

from eval.charts import heat_map


class HeatMapTest(absltest.TestCase):
  def test_numbers_are_light_on_dark_cells(self):
    values = np.array([[10, 90], [np.nan, 50]], float)
    one = heat_map.Map(values, "errors", ["a", "b"], ["fog", "snow"], divide=1)
    fig = heat_map.draw([[one]], (4, 3), "%", most=100, digits=0)
    ax = fig.axes[0]
    colours = {t.get_text(): t.get_color() for t in ax.texts}
    self.assertEqual(colours, {"10": "white", "90": "black", "50": "white"})
    names = [t.get_text() for t in ax.get_xticklabels()]
    self.assertEqual(names, ["fog", "snow"])
    self.assertLen(ax.lines, 1)

  def test_a_title_is_whole_on_a_narrow_map(self):
    title = "Mean top-1 error over severities (%); extra ones on the right"
    for columns in (1, 2, 19):
      values = np.full((2, columns), 0.5)
      names = ["gaussian noise"] * columns
      one = heat_map.Map(values, title, ["model_one", "b"], names)
      size = 2.5 + 0.5 * columns, 3
      fig = heat_map.draw([[one]], size, "%", most=1, aspect="auto")
      fig.draw_without_rendering()
      (text,) = [t for t in fig.findobj(Text) if "Mean" in t.get_text()]
      self.assertLess(text.get_window_extent().x1, fig.bbox.x1)
      self.assertEqual(" ".join(text.get_text().split()), title)

  def test_places_without_a_map_are_empty(self):
    one = heat_map.Map(np.eye(2), "a", y="true", x="predicted")
    fig = heat_map.draw([[one, one], [one]], (4, 3), "share", most=1)
    seen = [ax.get_visible() for ax in fig.axes]
    self.assertEqual(seen, [True, True, True, False, True])
    self.assertEmpty(fig.axes[0].texts)
