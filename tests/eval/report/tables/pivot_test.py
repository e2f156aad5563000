"""Pivots of made-up tables."""

import dataclasses
import math

from absl.testing import parameterized

from eval.cells import cell as cells_lib
from eval.metrics.definitions import Metric
from eval.tables import pivot
from tests.eval.report.reports import contexts

_RATE = Metric("error", "error", "lower")
_AP = Metric("p", "P", sense="higher")
_DISTANCE = Metric("unnormalised_t5d", "uT5D", percent=False)


class PivotTest(parameterized.TestCase):
  @parameterized.parameters(
    (_RATE, [0.3, 0.1, math.nan], 1),
    (_AP, [0.3, 0.1, math.nan], 0),
    (_RATE, [0.3], None),
    (_RATE, [0.1, 0.3, 0.1], None),
    (Metric("part_mean_error", "", "lower"), [0.3, 0.1], None),
    (_DISTANCE, [0.3, 0.1], None),  # of an unknown sense
    (_RATE, [math.nan, math.nan], None),
  )
  def test_best(self, metric, numbers, best):
    self.assertEqual(pivot.Column("", metric, numbers).best, best)

  def test_texts(self):
    numbers = [0.5, math.nan]
    self.assertEqual(pivot.Column("", _RATE, numbers).texts, ["50.0", "-"])
    self.assertEqual(pivot.Column("", _DISTANCE, numbers).texts, ["0.50", "-"])
    self.assertEqual(pivot.with_unit("FR", _RATE), "FR (%)")
    self.assertEqual(pivot.with_unit("uT5D", _DISTANCE), "uT5D")

  def test_normalised_numbers_stand_for_plain_ones(self):
    context = contexts.of_task("sequences")
    details = [m.name for m in pivot.details(context)]
    plain = ["flip_probability", "fr", "unnormalised_t5d", "t5d"]
    self.assertEqual(details, plain)
    main = [m.name for m in pivot.main_details(context)]
    self.assertEqual(main, ["fr", "t5d"])

  def test_a_sequence_counts_at_its_easiest_difficulty(self):
    context = contexts.of_task("sequences")
    got = pivot.by_corruption(context, "ours", "fr", "tilt")
    first = pivot.row(context, "ours", corruption="tilt", metric="fr")
    self.assertEqual(first.severity, 1)
    self.assertEqual(got, first.value)

  def test_what_is_not_there_is_nan(self):
    context = contexts.of_task("classification", names=("fog",))
    self.assertTrue(math.isnan(pivot.headline(context, "ours", "mce")))
    self.assertIsNone(
      pivot.row(context, "ours", metric="error", corruption="snow")
    )

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

  def test_a_note_names_a_number_once(self):
    context = contexts.of_task("video")
    row = cells_lib.Summary.from_rows(context.rows).row(
      "", "gamma_a", None, note="x"
    )
    note = pivot.note(dataclasses.replace(context, notes=[row]))
    self.assertIn(". gamma_a of ours: x.", note)

  def test_note_without_a_baseline(self):
    context = contexts.of_task("classification", baseline="")
    self.assertEqual(pivot.note(context), "No baseline: plain means only.")
