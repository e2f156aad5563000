"""Scores of probabilities."""

import dataclasses

import jax
import ml_collections
import numpy as np
from absl.testing import absltest, parameterized

from eval.cells import table
from eval.cells.cell import Cell
from eval.metrics import calibration, resampling
from eval.tasks import base, classification, frames
from eval.tasks.parts import proper_scores, reliability
from robust_tfds import conditions
from robust_tfds.conditions import Condition


def _float64(logits, label):
  """NLL and Brier score of a row by a loop."""
  z = np.asarray(logits, np.float64)
  chance = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
  others = np.delete(np.exp(z - z.max()), z.argmax())
  nll = z.max() - z[label] + np.log1p(others.sum())
  brier = sum((p - (k == label)) ** 2 for k, p in enumerate(chance))
  return nll, brier


def _of_logits(logits, labels):
  got = jax.jit(proper_scores.from_logits)(
    np.asarray(logits, np.float32), np.asarray(labels, np.int32)
  )
  return np.asarray(got["nll"]), np.asarray(got["brier"])


def _of_views(logits, labels):
  got = jax.jit(proper_scores.from_views)(
    np.asarray(logits, np.float32), np.asarray(labels, np.int32)
  )
  return np.asarray(got["nll"]), np.asarray(got["brier"])


class OfLogitsTest(parameterized.TestCase):
  """NLL and Brier score: closed forms, float64, certainty, views, no output."""

  @parameterized.parameters(3, 10, 1000)
  def test_equals_float64(self, classes):
    rng = np.random.default_rng(classes)
    scale = np.array([0.1, 1, 10, 50, 300])[:, None]
    logits = np.repeat(scale, 8, axis=0) * rng.normal(size=(40, classes))
    logits = logits.astype(np.float32)
    labels = rng.integers(0, classes, 40)
    labels[:5] = logits[:5].argmax(axis=1)
    nll, brier = _of_logits(logits, labels)
    want = np.array([_float64(z, y) for z, y in zip(logits, labels)])
    np.testing.assert_allclose(nll, want[:, 0], rtol=2e-6, atol=1e-30)
    np.testing.assert_allclose(brier, want[:, 1], rtol=4e-6, atol=1e-12)

  def test_nearly_certain(self):
    """Far below the rounding of 1: -log of a float32 p is 0 here."""
    nll, brier = _of_logits([[20, 0], [0, 20], [1e6, 0]], [0, 0, 1])
    np.testing.assert_allclose(nll[:2], [np.exp(-20), 20], rtol=1e-6)
    np.testing.assert_allclose(brier[0], 2 * np.exp(-40), rtol=1e-5)
    self.assertEqual((nll[2], brier[2]), (1e6, 2))

  def test_a_class_without_an_output(self):
    logits = [[0, 0, -np.inf]] * 2
    nll, brier = _of_logits(logits, [0, 2])
    np.testing.assert_allclose(nll, [np.log(2), np.inf], rtol=1e-6)
    np.testing.assert_allclose(brier, [0.5, 1.5], rtol=1e-6)

  def test_rows_alone_and_together(self):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(64, 10)).astype(np.float32)
    labels = rng.integers(0, 10, 64)
    whole = np.stack(_of_logits(logits, labels))
    for size in (1, 7, 16):
      parts = [
        np.stack(_of_logits(logits[i : i + size], labels[i : i + size]))
        for i in range(0, 64, size)
      ]
      np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)


class OfViewsTest(parameterized.TestCase):
  def test_of_the_mean_of_softmaxes(self):
    rng = np.random.default_rng(1)
    logits = 5 * rng.normal(size=(20, 3, 12)).astype(np.float32)
    labels = rng.integers(0, 12, 20)
    z = logits.astype(np.float64)
    chance = np.exp(z) / np.exp(z).sum(axis=2, keepdims=True)
    chance = chance.mean(axis=1)
    nll, brier = _of_views(logits, labels)
    want = -np.log(chance[np.arange(20), labels])
    np.testing.assert_allclose(nll, want, rtol=3e-6, atol=1e-9)
    true = np.eye(12)[labels]
    want = np.square(chance - true).sum(axis=1)
    np.testing.assert_allclose(brier, want, rtol=3e-6)

  def test_one_view_is_its_softmax(self):
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(20, 1, 12)).astype(np.float32)
    labels = rng.integers(0, 12, 20)
    nll, brier = _of_views(logits, labels)
    want = _of_logits(logits[:, 0], labels)
    np.testing.assert_array_equal(nll, want[0])
    np.testing.assert_allclose(brier, want[1], rtol=1e-6)

  @parameterized.parameters(
    ([[200, 0], [0, 0]], np.log(4)),  # no chance, then half: 1/4
    ([[200, 0], [200, 0]], 200.0),  # beyond float32's least number
    ([[0, -np.inf], [0, -np.inf]], np.inf),
    ([[0, 30], [0, 30]], np.exp(-30)),
  )
  def test_far_apart(self, logits, nll):
    got = _of_views([logits], [1])[0]
    np.testing.assert_allclose(got, [nll], rtol=1e-6)


_N = 40
_NAMES = ("ece", "ece_adaptive", "rms_calibration_error", "nll", "brier")
_OF_SCORES = _NAMES[:3]
_CELL = Cell("m", "imagenet_c", Condition("fog", 2))


def _columns(seed=0, n=_N) -> dict[str, np.ndarray]:
  rng = np.random.default_rng(seed)
  ids = np.array([f"e{i:03d}" for i in range(n)])
  label = rng.integers(0, 8, n).astype(np.int32)
  top5 = (
    label[:, None] + rng.permuted(np.tile(np.arange(5), (n, 1)), axis=1)
  ) % 8
  score = -np.sort(-rng.dirichlet(np.ones(5), n), axis=1)
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(n, np.int32),
    "label": label,
    "top5": top5.astype(np.int32),
    "score": score.astype(np.float32),
    "nll": rng.exponential(size=n).astype(np.float32),
    "brier": rng.uniform(0, 2, n).astype(np.float32),
  }


def _frames() -> dict[str, np.ndarray]:
  """Ten sets of four frames; a frame of each was not accepted."""
  columns = _columns()
  labels = np.full((_N, 8), -1, np.int32)
  labels[:, 0] = columns["label"]
  labels[:, 1] = (columns["label"] + 1) % 8
  columns["group_id"] = np.array([f"s{i // 4}" for i in range(_N)])
  return {
    **columns,
    "frame": np.array([-1, 0, 1, 2] * 10, np.int32),
    "labels": labels,
    "reviewed": np.array([True, True, True, False] * 10),
    "frame_type": np.array([""] * _N),
    "fps": np.zeros(_N, np.float32),
    "linf": np.full(_N, np.nan, np.float32),
  }


def _mean(values, groups) -> tuple[float, float, float]:
  """A mean, and its interval's ends."""
  mean = resampling.Draws.from_groups(groups).left_out(values, groups)
  return float(mean.value), *mean.interval()


def _without(columns, *names):
  return {k: v for k, v in columns.items() if k not in names}


def _task(kind, dataset, family) -> base.Task:
  data = {}
  if family is not None:
    level = "difficulties" if family.noun == "perturbation" else "severities"
    data = {f"{family.noun}s": "all", level: (1, 2, 3, 4, 5)}
  return kind(base.Setting(dataset, data=ml_collections.ConfigDict(data)))


def _calibration(columns, cell=_CELL) -> dict[str, table.Row]:
  """The rows of a cell's calibration by metric, in their order."""
  rows = reliability.rows(cell, columns, "classification")
  return {row.metric: row for row in rows if row.metric in _NAMES}


class RowsTest(parameterized.TestCase):
  """Calibration in the table: which rows, of what, and that no others change."""

  def test_what_the_columns_do_not_hold(self):
    """Cells of earlier versions, and predictions of other programs."""
    self.assertEqual(
      list(_calibration(_without(_columns(), "nll", "brier"))), list(_OF_SCORES)
    )
    self.assertEmpty(_calibration(_without(_columns(), "score")))
    self.assertIsNone(reliability.bins(_without(_columns(), "score")))

  def test_a_class_without_an_output(self):
    columns = _columns()
    columns["nll"][[3, 5]] = np.inf
    *_, nll, brier = _calibration(columns).values()
    self.assertFalse(nll.has_value)
    self.assertEqual(
      nll.note,
      "undefined: the model gives no chance to the true class of 2 examples",
    )
    self.assertTrue(brier.has_value)
    table.dumps([nll, brier])

  def test_no_interval_where_all_examples_have_one_score(self):
    columns = _columns()
    columns["nll"][:], columns["brier"][:] = 0.0, 0.9
    *_, nll, brier = _calibration(columns).values()
    for row in (nll, brier):
      self.assertEqual((row.lo, row.hi, row.n), (None, None, _N))
      self.assertEqual(row.note, "no interval: every draw gives this value")

  def test_clean_sequences_have_one_frame(self):
    columns = _columns()
    one = {
      **columns,
      "top5": columns["top5"][:, None],
      "score": columns["score"][:, None],
    }
    clean = dataclasses.replace(_CELL, condition=Condition())
    self.assertEqual(_calibration(one, clean), _calibration(columns, clean))
    many = {
      **columns,
      "top5": np.repeat(one["top5"], 3, 1),
      "score": np.repeat(one["score"], 3, 1),
    }
    self.assertEmpty(_calibration(many, clean))

  def test_of_frames(self):
    columns = _frames()
    cell = Cell("m", "digits_vid_robust", Condition())
    rows = _task(frames.Frames, "digits_vid_robust", None).cell_rows(
      cell, columns
    )
    of = {r.metric: r for r in rows}
    kept = columns["reviewed"]
    first = columns["top5"][:, :1]
    right = (first == columns["labels"][:, :2]).any(axis=1)
    score = columns["score"][:, 0]
    self.assertEqual(of["ece"].value, calibration.ece(score[kept], right[kept]))
    anchor = columns["frame"] == 0
    self.assertEqual(
      of["ece/anchors"].value, calibration.ece(score[anchor], right[anchor])
    )
    self.assertEqual((of["nll"].n, of["nll/anchors"].n), (30, 10))
    want = _mean(columns["nll"][kept], columns["group_id"][kept])
    self.assertEqual((of["nll"].value, of["nll"].lo), want[:2])


class BinsTest(absltest.TestCase):
  def test_examples_of_one_group_are_no_trials_of_their_own(self):
    bins = reliability.bins(_frames())
    self.assertEqual(sum(bins.count), 30)
    self.assertEqual((bins.lo, bins.hi), ((), ()))


class SummaryTest(parameterized.TestCase):
  def _scored(self, left_out=(), undefined=()):
    task = _task(classification.Classification, "mine_c", conditions.PICTURES)
    cells = []
    for i, c in enumerate(task.conditions()):
      columns = _columns(i)
      if c.config in undefined:
        columns["nll"][0] = np.inf
      if c.config not in left_out:
        cells.append((Cell("m", "mine_c", c), columns))
    return task.score(cells).rows

  def test_means_of_the_cells(self):
    rows = self._scored()
    common = conditions.PICTURES.names("common")
    for name in _NAMES:
      of_cells = {
        (r.corruption, r.severity): r.value
        for r in table.select(rows, metric=name)
      }
      self.assertLen(of_cells, 96)
      means = table.select(rows, metric=f"mean_{name}")
      self.assertLen(means, 20)
      for row in means:
        over = [row.corruption] if row.corruption else common
        want = np.mean([of_cells[n, s] for n in over for s in range(1, 6)])
        self.assertAlmostEqual(row.value, want)
        self.assertEqual(row.n, _N)
        self.assertEqual(row.lo is None, name in _OF_SCORES)
        if row.lo is not None:
          self.assertLess(row.lo, row.value)
          self.assertLess(row.value, row.hi)

  def test_cells_that_are_missing(self):
    rows = self._scored(left_out=("fog_3",))
    for name in _NAMES:
      (fog,) = table.select(rows, metric=f"mean_{name}", corruption="fog")
      self.assertEqual(fog.note, "missing: fog 3 (1 of 5)")
      (mean,) = table.select(rows, metric=f"mean_{name}", corruption="")
      self.assertEqual(mean.note, "missing: fog 3 (1 of 75)")
      self.assertFalse(mean.has_value)
      (snow,) = table.select(rows, metric=f"mean_{name}", corruption="snow")
      self.assertTrue(snow.has_value)

  def test_cells_that_are_undefined(self):
    rows = self._scored(undefined=("fog_3",))
    (fog,) = table.select(rows, metric="mean_nll", corruption="fog")
    self.assertEqual(fog.note, "undefined in one of the cells")
    self.assertFalse(fog.has_value)
    (brier,) = table.select(rows, metric="mean_brier", corruption="fog")
    self.assertTrue(brier.has_value)
