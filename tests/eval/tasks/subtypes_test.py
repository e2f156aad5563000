"""Subtype robustness: numbers by hand, whose draws, notes, refusals."""

import ml_collections
import numpy as np
from absl.testing import absltest, parameterized

from eval.cells.cell import Cell
from eval.metrics import rates, resampling
from eval.tasks import base, subtypes
from robust_tfds import datasets, errors
from robust_tfds.conditions import Condition


def _task(dataset="digits_subtypes", **data):
  setting = base.Setting(dataset=dataset, data=ml_collections.ConfigDict(data))
  return subtypes.Subtypes(setting)


def _columns(right: dict[str, list[int]]) -> dict[str, np.ndarray]:
  """Columns of digit -> whether each of its pictures is right."""
  loops = "0689"
  groups = [digit for digit, of in right.items() for _ in of]
  hits = np.array([hit for of in right.values() for hit in of])
  label = np.array([int(g not in loops) for g in groups])
  answer = np.where(hits, label, 1 - label)
  top5 = np.full((len(groups), 5), -1)
  top5[:, 0], top5[:, 1] = answer, 1 - answer
  return {
    "example_id": np.array([f"{g}/{i}" for i, g in enumerate(groups)]),
    "group_id": np.array(groups),
    "label": label,
    "top5": top5,
  }


_BEVERAGES = {
  name: home
  for name, home in datasets.known("imagenet22k_subtypes").SUBTYPES.items()
  if home[0] == 5
}
_RIGHT = {
  "0": [1, 1, 1, 0],
  "6": [1, 1],
  "1": [1, 1, 0],
  "2": [1],
  "9": [1, 0],
  "3": [0, 0, 0, 1],
  "4": [1, 1],
}


class SubtypesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.cell = Cell("m", "digits_subtypes", Condition())
    self.columns = _columns(_RIGHT)

  def _rows(self, columns=None):
    rows = _task().score([(self.cell, columns or self.columns)]).rows
    return {(row.config, row.metric): row for row in rows}

  def test_numbers_by_hand(self):
    rows = self._rows()
    for metric, value, n in (
      ("seen_subtype_accuracy", 8 / 10, 10),
      ("unseen_subtype_accuracy", 4 / 8, 8),
      ("seen_subtype_accuracy/class=0", 5 / 6, 6),
      ("unseen_subtype_accuracy/class=1", 3 / 6, 6),
    ):
      row = rows["clean", metric]
      self.assertAlmostEqual(row.value, value)
      self.assertEqual(row.n, n)
    self.assertAlmostEqual(rows["", "subtype_gap"].value, 0.3)
    self.assertAlmostEqual(rows["", "subtype_gap/class=1"].value, 3 / 4 - 3 / 6)
    self.assertAlmostEqual(rows["", "seen_subtype_accuracy"].value, 0.8)

  def test_intervals_are_of_draws_of_subtypes(self):
    rng = np.random.default_rng(0)
    right = {d: rng.integers(0, 2, 30).tolist() for d in "0681257934"}
    columns = _columns(right)
    rows = self._rows(columns)
    row = rows["clean", "seen_subtype_accuracy"]
    seen = np.isin(columns["group_id"], list("0681257"))
    hits = (columns["top5"][:, 0] == columns["label"])[seen]
    draws = resampling.Draws.from_groups(columns["group_id"])
    totals = resampling.Totals.from_values(hits, columns["group_id"][seen])
    (number,) = draws.total_means([totals])
    lo, hi = number.interval()
    self.assertAlmostEqual(row.lo, lo)
    self.assertAlmostEqual(row.hi, hi)
    alone = rates.interval(hits, np.arange(hits.size).astype(str))
    self.assertNotAlmostEqual(row.lo, alone[0])
    gap = rows["", "subtype_gap"]
    self.assertTrue(gap.lo < gap.value < gap.hi)

  def test_a_gap_is_held_against_its_terms(self):
    """7 seen digits and 3 others: no end beyond what the two accuracies allow."""
    rng = np.random.default_rng(1)
    few = {d: rng.random(40) < 0.97 for d in "0681257"}
    few |= {
      d: rng.random(40) < p for d, p in (("9", 0.3), ("3", 0.9), ("4", 0.5))
    }
    rows = self._rows(_columns({d: of.tolist() for d, of in few.items()}))
    for kind in ("", "/class=0", "/class=1"):
      where = "" if not kind else "clean"
      seen = rows[where, f"seen_subtype_accuracy{kind}"]
      unseen = rows[where, f"unseen_subtype_accuracy{kind}"]
      gap = rows["", f"subtype_gap{kind}"]
      if unseen.lo is None:
        note = f"no interval: {unseen.metric} has none"
        self.assertEqual((gap.lo, gap.hi, gap.note), (None, None, note))
        continue
      for low, gap_end, ends in (
        (True, gap.lo, (seen.value - seen.lo, unseen.hi - unseen.value)),
        (False, gap.hi, (seen.hi - seen.value, unseen.value - unseen.lo)),
      ):
        reach = gap.value - gap_end if low else gap_end - gap.value
        self.assertGreaterEqual(reach, max(ends) - 1e-12)
        self.assertLessEqual(reach, sum(ends) + 1e-12)
    self.assertIsNotNone(rows["", "subtype_gap"].lo)

  def test_the_degrees_of_freedom_of_a_gap_are_of_the_side_that_decides(self):
    """4 seen beverages and 327 others: t of about 3 degrees, not of 99."""
    task = _task("imagenet22k_subtypes")
    kind = {d: (k, part) for d, (k, part) in _BEVERAGES.items()}
    rng = np.random.default_rng(0)
    right = {
      d: rng.random(10) < (rng.uniform(0.6, 1) if part == "seen" else 0.6)
      for d, (_, part) in kind.items()
    }
    groups = np.repeat(list(right), 10)
    hits = np.concatenate(list(right.values()))
    label = np.full(len(groups), kind[groups[0]][0])
    top5 = np.full((len(groups), 5), -1)
    top5[:, 0] = np.where(hits, label, label + 1)
    ids = np.arange(len(groups)).astype(str)
    columns = {
      "example_id": ids,
      "group_id": groups,
      "label": label,
      "top5": top5,
    }
    scores = task.score([(self.cell, columns)])
    number = scores.headlines["m"]["subtype_gap", "", None]
    self.assertBetween(number.freedom, 3, 4)
    rows = {(r.config, r.metric): r for r in scores.rows}
    gap, seen = (
      rows[key] for key in (("", "subtype_gap"), ("", "seen_subtype_accuracy"))
    )
    self.assertGreaterEqual(gap.hi - gap.lo, seen.hi - seen.lo)

  def test_absent_subtypes_are_in_the_notes(self):
    rows = self._rows()
    note = rows["clean", "seen_subtype_accuracy"].note
    self.assertIn("3 of 7 subtypes of seen have no picture: 8, 5, 7", note)
    whole = self._rows(_columns({d: [1, 0] for d in "0681257934"}))
    self.assertNotIn("subtypes", whole["clean", "seen_subtype_accuracy"].note)
    rows = self._rows(_columns({"0": [1, 1, 0], "1": [1]}))
    self.assertNotIn(("clean", "unseen_subtype_accuracy"), rows)
    self.assertNotIn(("", "subtype_gap"), rows)

  def test_refuses(self):
    with self.assertRaisesRegex(errors.UserError, "digits_c has no subtypes"):
      _task("digits_c").conditions()
    with self.assertRaisesRegex(errors.UserError, "limit=5 would leave"):
      _task(limit=5)
    setting = base.Setting("digits_subtypes", baseline="alexnet")
    with self.assertRaisesRegex(errors.UserError, "not normalised"):
      subtypes.Subtypes(setting).check_baseline(["m"])


if __name__ == "__main__":
  absltest.main()
