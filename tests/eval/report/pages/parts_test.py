"""The parts of pages: views, facts, paths, files, maps, pictures, charts."""

import base64
import csv
import io

import numpy as np
from absl.testing import absltest, parameterized
from PIL import Image

from eval.cells import cell_facts, formulas
from eval.cells.files.overlay import Overlay
from eval.cells.number import Number
from eval.charts import pictures
from eval.compare.boards import tables
from eval.compare.boards.board import Entry
from eval.metrics.definitions import Metric
from eval.report.pages import (
  entry_charts,
  fact_text,
  gallery,
  heat_map,
)
from eval.report.pages import view as view_lib
from eval.tables import csv_text
from robust_tfds import conditions
from robust_tfds.conditions import Condition
from tests.eval.report.pages import boards


class CsvFilesTest(absltest.TestCase):
  def test_no_text_is_run_by_a_spreadsheet_and_all_come_back(self):
    board = boards.awkward()
    for header, lines in (
      tables.board_table(board),
      (tables.NUMBERS_HEADER, tables.numbers(board)),
    ):
      text = csv_text.text(header, lines)
      for row in csv.reader(io.StringIO(text)):
        for field in row:
          try:
            float(field)
          except ValueError:
            self.assertNotRegex(field, r"^[=+\-@\t\r\n]")
      rows = csv.DictReader(io.StringIO(text))
      labels = {formulas.plain(row["model"]) for row in rows}
      self.assertContainsSubset(labels, {e.label for e in board.entries})


def _severity(board, place=0):
  charts = entry_charts.SeverityCharts(view_lib.View(board))
  return charts.chart(board.entries[place])


class SeverityTest(absltest.TestCase):
  def test_every_corruption_has_a_line_with_its_numbers(self):
    board = boards.classification(4)
    (chart,) = _severity(board)
    numbers = board.entries[0].cells
    for name in conditions.PICTURES.names():
      lines = chart.svg.partition(f"<title>{name.replace('_', ' ')}\n")[2]
      shown = lines.partition("</title>")[0].split("\n")
      self.assertLen(shown, 6)
      for level, text in enumerate(shown):
        error = numbers[Condition(name if level else "", level)]["error"]
        self.assertStartsWith(text, f"{level}: {100 * error.value:.4g} (")
      self.assertIn(f"{name.replace('_', ' ')} ", chart.label)
    self.assertIn("median of all models", chart.svg)
    self.assertIn("(extra)", chart.svg)

  def test_entries_share_the_axes_and_leave_nothing_behind(self):
    board = boards.classification(3)
    charts = entry_charts.SeverityCharts(view_lib.View(board))
    first, second, again = (
      charts.chart(board.entries[i])[0].svg for i in (0, 1, 0)
    )
    self.assertEqual(first, again)
    self.assertNotEqual(first, second)
    self.assertEqual(first.count("<title>"), second.count("<title>"))


class FactTextTest(parameterized.TestCase):
  @parameterized.parameters(
    ("px", [224, 224], "224 x 224"),
    ("source", "fly", "in the run, on the fly"),
    ("codec", "raw", "raw"),
    ("subset", "", "all examples"),
    ("edition", "", "none"),
    ("px", [], "each picture's own"),
    ("random", True, "yes"),
    ("examples", 50_000, "50,000"),
    ("examples", [10, 20], "10, 20"),
    ("corruptions_seen", [], "none"),
    ("preprocessing", {"mean": [0.5, 0.25]}, "mean 0.5, 0.25"),
    ("trained_on", None, "not stated"),
    ("weights", None, "unknown"),
    ("views", 1.5, "1.5"),
  )
  def test_values(self, name, value, text):
    self.assertEqual(fact_text.value(name, value), text)

  def test_every_fact_has_words(self):
    names = [
      *cell_facts.DataFacts.model_fields,
      *cell_facts.ModelFacts.model_fields,
    ]
    for name in names:
      self.assertNotIn("_", fact_text.name(name))


_NOISE = np.random.default_rng(0).integers(0, 256, (80, 100, 3), np.uint8)


def _read(uri: str) -> tuple[str, np.ndarray]:
  head, _, data = uri.partition(",")
  image = Image.open(io.BytesIO(base64.b64decode(data)))
  return head, np.asarray(image)


class GalleryTest(parameterized.TestCase):
  def test_words_and_empty_places(self):
    line = pictures.Line(
      [
        pictures.Picture(_NOISE, "3", "6.7 %"),
        pictures.Picture(None),
        pictures.Picture(_NOISE[:9, :9], alt="A fog."),
      ],
      "fog",
      note="n",
    )
    (shown,) = gallery.embed([line])
    self.assertEqual((shown.name, shown.note), ("fog", "n"))
    first, second = shown.pictures
    self.assertEqual((first.alt, first.size), ("fog, 3, 6.7 %", (100, 80)))
    self.assertEqual((second.alt, second.small), ("A fog.", True))

  def test_boxes_masks_and_their_labels(self):
    mask = np.array([[True, False]])
    box = Overlay("hit", (10, 20, 30, 60), "cat", mask, (12, 22))
    picture = pictures.Picture(_NOISE, boxes=[box], view=(5, 0, 95, 80))
    (line,) = gallery.embed([pictures.Line([picture])])
    (shown,) = line.pictures
    self.assertEqual(shown.view, "5 0 90 80")
    self.assertEqual(list(shown.boxes), [("hit", 10, 20, 20, 40)])
    ((kind, text, x, y),) = shown.labels
    self.assertEqual((kind, text), ("hit", "H cat"))
    self.assertTrue(5 <= x <= 95 and 0 <= y <= 80)
    ((uri, *place),) = shown.masks
    self.assertEqual(place, [12, 22, 2, 1])
    _, veil = _read(uri)
    self.assertEqual(veil[..., 3].tolist(), [[96, 0]])


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
