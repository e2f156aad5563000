"""Heat maps: every number is a text, its ground follows it."""

import re

from absl.testing import absltest, parameterized

from robust_tfds.eval.compare.boards.board import Entry, Number
from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.site import heat_map
from robust_tfds.eval.site.markup import Html
from tests.eval.site import html_check

_VALUES = (0.0, 0.25, 0.5, 0.999, 1.0)


def _table(metric, rows, columns=None):
  entries = [Entry(f"e{i}", f"e{i}", f"e{i}") for i in range(len(rows))]
  columns = columns or [
    heat_map.Column(f"k{i}", str(i)) for i in range(len(rows[0]))
  ]
  return heat_map.HeatMap(
    "map",
    "What.",
    metric,
    columns,
    entries,
    lambda entry, i: rows[entries.index(entry)][i],
    lambda entry: Html(f"<tr><th>{entry.label}"),
  ).table()


class HeatMapTest(parameterized.TestCase):
  @parameterized.parameters((False, [0, 2, 5, 9, 9]), (True, [9, 7, 5, 0, 0]))
  def test_grounds_go_from_best_to_worst(self, higher, steps):
    metric = Metric("m", "M", "higher" if higher else "lower")
    text = _table(metric, [[Number(v) for v in _VALUES]])
    self.assertEmpty(html_check.Page(text).faults)
    found = re.findall(r"<td class=h(\d)>", text)
    self.assertEqual([int(s) for s in found], steps)
    self.assertEqual(
      re.findall(r"<td class=h\d>(\d+\.?\d*)", text),
      ["0.0", "25", "50", "100", "100"],
    )
    first, last = (0.0, 1.0) if not higher else (1.0, 0.0)
    legend = re.findall(r'<span class="h\d">([\d.]+)', text)
    self.assertEqual([float(x) for x in legend], [100 * first, 100 * last])

  def test_missing_numbers_have_no_ground(self):
    text = _table(Metric("m", "M"), [[None, Number(None), Number(0.1)]])
    self.assertEqual(text.count("<td>–"), 2)

  def test_equal_numbers_are_all_best(self):
    text = _table(Metric("m", "M"), [[Number(0.3)], [Number(0.3)]])
    self.assertEqual(text.count("<td class=h0>30"), 2)

  def test_neighbours_of_a_corruption_share_a_heading(self):
    columns = [
      heat_map.Column("clean", "–", "", "0"),
      heat_map.Column("fog_1", "1", "fog", "1", "weather"),
      heat_map.Column("fog_2", "2", "fog", "2", "weather"),
    ]
    text = _table(Metric("m", "M"), [[Number(0.1)] * 3], columns)
    self.assertRegex(text, r'<th scope="colgroup" colspan="2" data-c="fog">fog')
    self.assertRegex(
      text, r'data-k="fog_2" data-c="fog" data-l="2" data-g="weather"'
    )

  def test_no_row_of_headings_without_neighbours(self):
    columns = [heat_map.Column("a", "a", "a"), heat_map.Column("b", "b", "b")]
    text = _table(Metric("m", "M"), [[None, None]], columns)
    self.assertNotIn("colspan", text)


if __name__ == "__main__":
  absltest.main()
