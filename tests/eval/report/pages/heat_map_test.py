"""Heat maps: every number is a text, its ground follows it."""

from absl.testing import absltest

from eval.cells.number import Number
from eval.compare.boards.board import Entry
from eval.metrics.definitions import Metric
from eval.report.pages import heat_map

_RATE = Metric("m", "M", "lower")
_VALUES = (0.0, 0.25, 0.5, 0.999, 1.0)


def _map(metric, rows, columns=None) -> heat_map.HeatMap:
  entries = [Entry(f"e{i}", f"e{i}", f"e{i}") for i in range(len(rows))]
  columns = columns or [
    heat_map.Column(f"k{i}", str(i), f"k{i}") for i in range(len(rows[0]))
  ]
  return heat_map.HeatMap(
    "map", "A map", "What.", metric, columns, list(zip(entries, rows))
  )


class HeatMapTest(absltest.TestCase):
  def test_grounds_go_from_best_to_worst(self):
    for sense, steps, ends, words in (
      ("lower", [0, 2, 5, 9, 9], ("0.0", "100"), ("best", "worst")),
      ("higher", [9, 7, 5, 0, 0], ("100", "0.0"), ("best", "worst")),
      ("unknown", [0, 2, 5, 9, 9], ("0.0", "100"), ("least", "most")),
    ):
      shown = _map(Metric("m", "M", sense), [[Number(v) for v in _VALUES]])
      ((_, cells),) = shown.rows
      self.assertEqual([step for step, _ in cells], steps)
      texts = ["0.0", "25", "50", "100", "100"]
      self.assertEqual([text for _, text in cells], texts)
      self.assertEqual((shown.ends, shown.end_words), (ends, words))

  def test_one_ratio_far_beyond_does_not_flatten_the_others(self):
    """Of flip rates of 0.5 to 1.5, and one of 3.5."""
    values = [Number(v) for v in (0.5, 0.8, 1.0, 1.0, 1.0, 1.2, 1.5, 3.5)]
    ratio = Metric("fr", "FR", "lower", normalises="flip_probability")
    shown = _map(ratio, [values])
    ((_, cells),) = shown.rows
    self.assertEqual([step for step, _ in cells], [0, 3, 5, 5, 5, 7, 9, 9])
    self.assertEqual(cells[-1][1], "350")
    self.assertEqual(shown.ends, ("50", "150 and more, to 350,"))
    # A rate keeps its scale: it has an upper bound.
    shown = _map(_RATE, [[Number(v) for v in (0.02, 0.03, 0.04, 0.73)]])
    self.assertEqual(shown.ends, ("2.0", "73"))

  def test_missing_numbers_have_no_ground(self):
    ((_, cells),) = _map(_RATE, [[None, Number(None), Number(0.1)]]).rows
    self.assertEqual(cells, [(None, "–"), (None, "–"), (0, "10")])

  def test_equal_numbers_are_all_best(self):
    for metric in (_RATE, Metric("m", "M", "higher")):
      rows = _map(metric, [[Number(0.3)], [Number(0.3)]]).rows
      self.assertEqual([cells for _, cells in rows], 2 * [[(0, "30")]])

  def test_neighbours_of_a_corruption_share_a_heading(self):
    columns = [
      heat_map.Column("clean", "–", "", "0"),
      heat_map.Column("fog_1", "1", "fog", "1", "weather"),
      heat_map.Column("fog_2", "2", "fog", "2", "weather"),
    ]
    shown = _map(_RATE, [[Number(0.1)] * 3], columns)
    self.assertEqual(shown.groups, [("", 1), ("fog", 2)])

  def test_no_row_of_headings_without_neighbours(self):
    self.assertEmpty(_map(_RATE, [[None, None]]).groups)
