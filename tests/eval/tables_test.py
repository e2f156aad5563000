"""Tables of a run's rows: numbers as texts, columns, formats, the verdict."""

import dataclasses
import math

import numpy as np
from absl.testing import absltest, parameterized

from eval import tasks
from eval.cells import cell as cells_lib
from eval.cells import table
from eval.cells.number import Number
from eval.metrics.definitions import Metric
from eval.tables import (
  csv_text,
  detection_tables,
  markdown,
  numbers,
  pivot,
  verdict,
  writers,
)
from eval.tables.pivot import Column, Table
from robust_tfds import conditions
from tests.eval.report.reports import contexts


class CsvTextTest(absltest.TestCase):
  def test_cells(self):
    for value, text in (
      (None, ""),
      (math.nan, ""),
      (0.1 + 0.2, "0.30000000000000004"),
      (-0.5, "-0.5"),
      (np.float64(0.1), "0.1"),
      (7, "7"),
      ("=1+1", "'=1+1"),
      ([1, 2], '"[1, 2]"'),
      ({"b": 1, "a": None}, '"{""a"": null, ""b"": 1}"'),
    ):
      self.assertEqual(csv_text.text(["x"], [["a", value]]), f"x\na,{text}\n")


def _detection_tables_row(
  metric, value, config="", model="faster_rcnn_r50_fpn_1x_coco"
):
  severity = 0 if config else None
  return table.Row(model, "coco", config, "", severity, metric, value)


class DetectionTablesTest(absltest.TestCase):
  def test_printed_rows_of_the_models_at_hand(self):
    rows = [
      _detection_tables_row("bbox/AP", 0.363, "clean"),
      _detection_tables_row("p", 0.363),
      _detection_tables_row("mpc", 0.182),
      _detection_tables_row("rpc", 0.5),
    ]
    (compared,) = detection_tables.compare(rows)
    self.assertEqual(compared.row.where, "Table 2")
    self.assertEqual(compared.agrees, (True, True, False))
    text = detection_tables.markdown(rows)
    self.assertIn("| bbox/AP | 36.30 | 18.20 | 50.00 |", text)
    self.assertIn("50.00, 50.2, -0.20 (!)", text)
    self.assertIn("2 of 3 printed numbers agree", text)


class MarkdownTest(absltest.TestCase):
  def test_escape(self):
    self.assertEqual(markdown.escape("a_b*|<&>"), "a\\_b\\*\\|&lt;&amp;&gt;")

  def test_links_code_and_lines(self):
    self.assertEqual(
      markdown.escape("[a](b) `c` \\d\n$e$"), "\\[a\\](b) \\`c\\` \\\\d \\$e\\$"
    )

  def test_table(self):
    for align, rule in (
      ("l", "|---|---|---|"),
      ("lr", "|---|---:|---:|"),
      ("lrl", "|---|---:|---|"),
    ):
      text = markdown.table("abc", ["123"], align)
      self.assertEqual(text, f"| a | b | c |\n{rule}\n| 1 | 2 | 3 |")


_numbers_RATE = Metric("error", "Error")
_PLAIN = Metric("nll", "NLL", percent=False)


class NumbersTest(parameterized.TestCase):
  @parameterized.parameters(
    (0.2391, "23.9"),
    (1.0, "100.0"),
    (0.00351, "0.35"),
    (0.0, "0.0"),
    (-0.031, "−3.1"),
    (-0.0000001, "0.00"),
    (None, "–"),
    (math.nan, "–"),
    (math.inf, "–"),
  )
  def test_rates_are_in_percent(self, value, text):
    self.assertEqual(numbers.text(_numbers_RATE, Number(value)), text)

  @parameterized.parameters(
    (4.774, "4.77"), (0.01234, "0.0123"), (123.4, "123"), (12345.0, "12345")
  )
  def test_others_have_three_digits(self, value, text):
    self.assertEqual(numbers.text(_PLAIN, Number(value)), text)

  def test_ends_have_the_digits_of_the_value(self):
    number = Number(0.106, 0.0951, 0.117)
    self.assertEqual(numbers.interval(_numbers_RATE, number), "9.5–11.7")
    self.assertEqual(numbers.interval(_numbers_RATE, Number(0.1)), "")
    self.assertEqual(numbers.interval(_numbers_RATE, Number(0.1, 0.0)), "")
    self.assertEqual(
      numbers.full_text(_numbers_RATE, number), "10.6 % (9.5–11.7)"
    )

  def test_with_ends(self):
    for form, text in (
      (numbers.DASH, "50.0 (40.0–60.0)"),
      (numbers.BRACKETS, "50.0 [40.0, 60.0]"),
      (numbers.WORDS, "50.0 (40.0 to 60.0)"),
    ):
      shown = numbers.interval_text(numbers.percent, 0.5, 0.4, 0.6, form)
      self.assertEqual(shown, text)
    for ends in ((None, None), (0.4, None), (math.nan, 0.6)):
      self.assertEqual(
        numbers.interval_text(numbers.percent, 0.5, *ends), "50.0"
      )
    self.assertEqual(
      numbers.interval_text(numbers.percent, math.nan, 0, 1), "-"
    )

  @parameterized.parameters(
    (0.0333, "3.3"), (0.0996, "10"), (0.239, "24"), (1.131, "113"), (None, "–")
  )
  def test_short(self, value, text):
    self.assertEqual(numbers.short(_numbers_RATE, Number(value)), text)

  def test_headings_have_the_unit(self):
    self.assertEqual(numbers.heading(Metric("e", "error")), "Error, %")
    self.assertEqual(numbers.heading(Metric("a", "pm-0")), "pm-0, %")
    self.assertEqual(numbers.heading(_PLAIN), "NLL")


_pivot_RATE = Metric("error", "error", "lower")
_AP = Metric("p", "P", sense="higher")
_DISTANCE = Metric("unnormalised_t5d", "uT5D", percent=False)


class PivotTest(parameterized.TestCase):
  @parameterized.parameters(
    (_pivot_RATE, [0.3, 0.1, math.nan], 1),
    (_AP, [0.3, 0.1, math.nan], 0),
    (_pivot_RATE, [0.3], None),
    (_pivot_RATE, [0.1, 0.3, 0.1], None),
    (Metric("part_mean_error", "", "lower"), [0.3, 0.1], None),
    (_DISTANCE, [0.3, 0.1], None),  # of an unknown sense
    (_pivot_RATE, [math.nan, math.nan], None),
  )
  def test_best(self, metric, numbers, best):
    self.assertEqual(pivot.Column("", metric, numbers).best, best)

  def test_note_names_missing_corruptions_and_the_baseline(self):
    names = ("fog", "snow", "spatter")
    note = pivot.note(contexts.of_task("classification", names=names))
    self.assertIn("normalised by AlexNet (its source)", note)
    self.assertIn("No mCE: the run lacks gaussian_noise", note)
    self.assertNotIn("fog", note)

  def test_note_says_what_the_table_notes_of_headlines(self):
    context = contexts.of_task("classification", names=("fog",))
    row = cells_lib.Summary.from_rows(context.rows)
    notes = [
      row.row("", "mce", None, note="missing: fog 3 (1 of 75)"),
      row.row("fog", "ce", None, note="missing: fog 3 (1 of 5)"),
    ]
    note = pivot.note(dataclasses.replace(context, notes=notes))
    self.assertIn("mCE of ours: missing: fog 3 (1 of 75).", note)
    self.assertNotIn("of 5)", note)
    self.assertNotIn("the run lacks", note)


def _verdict_row(metric, value, name="", level=None, config=""):
  return table.Row("m", "d", config, name, level, metric, value)


def _cell(metric, value, condition):
  return _verdict_row(
    metric, value, condition.name, condition.level, condition.config
  )


def _sentence(task, *rows) -> str:
  of = tasks.get(task)
  (sentence,) = verdict.sentences(of.facts, of.family, rows)
  return sentence


def _errors(*conditions_and_values):
  return [
    _cell("error", value, conditions.Condition(*condition))
    for condition, value in conditions_and_values
  ]


class VerdictTest(parameterized.TestCase):
  def test_the_whole_benchmark(self):
    cells = [
      _cell("error", 0.738 if c.config == "contrast_5" else 0.1, c)
      for c in conditions.PICTURES.conditions()
    ]
    means = (
      _verdict_row("clean_error", 0.025),
      _verdict_row("mean_corruption_error", 0.0637),
    )
    self.assertEqual(
      _sentence("classification", *cells, *means),
      "m: 2.5 % wrong clean, 6.4 % under 15 corruptions; worst: contrast 5"
      " (73.8 %)",
    )

  def test_a_part_says_of_what(self):
    cells = _errors(((), 0.1), (("fog", 3), 0.2), (("shot_noise", 1), 0.4))
    rows = (
      _verdict_row("clean_error", 0.1),
      _verdict_row("part_mean_corruption_error", 0.3),
    )
    self.assertEqual(
      _sentence("classification", *cells, *rows),
      "m: 10.0 % wrong clean, 30.0 % under shot noise 1, fog 3; worst: shot"
      " noise 1 (40.0 %)",
    )

  def test_levels_of_each(self):
    names = conditions.PICTURES.names("common")
    cells = _errors(
      *(((name, level), 0.5) for name in names for level in (1, 3))
    )
    rows = [_verdict_row("part_mean_corruption_error", 0.5)]
    said = _sentence("classification", *cells, *rows)
    self.assertIn("50.0 % under 15 corruptions at levels 1, 3;", said)

  def test_clean_alone_is_not_called_clean(self):
    rows = *_errors(((), 0.25)), _verdict_row("clean_error", 0.25)
    self.assertEqual(_sentence("classification", *rows), "m: 25.0 % wrong")

  def test_sequences_are_of_the_first_difficulty(self):
    rows = [
      _verdict_row("mfr", value, level=i) for i, value in ((1, 0.7), (2, 0.9))
    ]
    self.assertEqual(_sentence("sequences", *rows), "m: mFR 70.0 %")

  def test_where_more_is_better_the_least_is_the_worst(self):
    cells = [
      _cell("accuracy", v, conditions.VIDEOS.condition("jumbling", i))
      for i, v in ((1, 0.6), (2, 0.3))
    ]
    rows = (
      *cells,
      _verdict_row("gamma_r", 0.8),
      _verdict_row("clean_accuracy", 0.9),
    )
    said = _sentence("video", *rows)
    self.assertStartsWith(said, "m: 90.0 % right clean, gamma_r 80.0 % under ")
    self.assertEndsWith(said, "; worst: jumbling 2 (30.0 %)")

  @parameterized.parameters(*contexts.FACTS)
  def test_a_sentence_a_model(self, task):
    context = contexts.of_task(task)
    self.assertLen(context.verdict, len(context.models))
    for model, sentence in zip(context.models, context.verdict):
      self.assertRegex(sentence, rf"^{model}: .*\d %")


_ERROR = Metric("error", "error", "lower")
_TABLE = Table(
  "Model",
  ["a_b", "c"],
  [Column("x&y", _ERROR, [0.5, 0.25]), Column("z", _ERROR, [math.nan, 0.1])],
  bold=True,
)


class WritersTest(absltest.TestCase):
  def test_markdown(self):
    self.assertEqual(
      writers.markdown(_TABLE).splitlines(),
      [
        "| Model | x&amp;y | z |",
        "|---|---:|---:|",
        r"| a\_b | 50.0 | - |",
        "| c | **25.0** | **10.0** |",
      ],
    )

  def test_latex(self):
    text = writers.latex(_TABLE)
    self.assertIn(r"\begin{tabular}{lrr}", text)
    self.assertIn(r"Model & \rotatebox{90}{x\&y} & \rotatebox{90}{z} \\", text)
    self.assertIn("a\\_b & 50.0 & -- \\\\\n", text)
    self.assertIn(r"c & \textbf{25.0} & \textbf{10.0} \\", text)

  def test_aligned(self):
    self.assertEqual(
      writers.aligned(_TABLE),
      [
        "Model   x&y     z",
        "-----------------",
        "a_b    50.0     -",
        "c      25.0  10.0",
      ],
    )
