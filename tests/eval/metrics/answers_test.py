"""The contract of metrics of answers, over every file of their folder."""

import math

import numpy as np
from absl.testing import absltest, parameterized

from eval import tasks
from eval.cells import table
from eval.cells.cell import Cell
from eval.metrics import answers as answer_metrics
from eval.metrics import definitions
from eval.metrics.answers.base import AnswerMetric, Answers
from eval.tasks.parts import reliability
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_METRICS = answer_metrics.metrics()
_TASKS = ("classification", "sequences", "frames", "video")
_CELL = Cell("m", "imagenet_c", Condition("fog", 2))
_N = 60


def _answers(n: int = _N, classes: int = 7) -> Answers:
  rng = np.random.default_rng(0)
  label = rng.integers(0, classes, n).astype(np.int32)
  predicted = np.where(rng.random(n) < 0.6, label, (label + 1) % classes)
  return Answers(
    label,
    predicted.astype(np.int32),
    predicted == label,
    np.array([f"g{i // 2:03d}" for i in range(n)]),
    np.zeros(n, np.int32),
    rng.uniform(0.2, 1, n).astype(np.float32),
    rng.exponential(size=n).astype(np.float32),
    rng.uniform(0, 2, n).astype(np.float32),
  )


def _number(metric: AnswerMetric, answers: Answers) -> float:
  return float(np.mean(metric.compute(answers), dtype=np.float64))


class ContractTest(parameterized.TestCase):
  @parameterized.named_parameters((m.name, m) for m in _METRICS)
  def test_statement(self, metric):
    self.assertRegex(metric.name, r"^[a-z][a-z0-9_]*$")
    self.assertIn(metric.sense, ("lower", "higher"))
    self.assertNotEmpty(metric.formula or metric.source)
    for text in (metric.words, metric.population):
      self.assertRegex(text, r"^[A-Z0-9].{19,}\.$")
    self.assertIsNotNone(metric.values or metric.number)
    self.assertFalse(metric.values and metric.number, "two functions")
    # A number of all examples at once says why it has no interval.
    self.assertEqual(metric.has_interval, metric.values is not None)
    self.assertContainsSubset(metric.needs, ("score", "nll", "brier"))
    self.assertContainsSubset(metric.tasks, _TASKS)

  @parameterized.named_parameters((m.name, m) for m in _METRICS)
  def test_function(self, metric):
    answers = _answers()
    number = metric.compute(answers)
    if metric.values:
      self.assertIsInstance(number, np.ndarray)
      self.assertEqual(number.shape, (_N,))
    else:
      self.assertIsInstance(number, float)
    self.assertTrue(np.isfinite(number).all())
    self.assertBetween(_number(metric, answers), *metric.bounds)
    for count in (1, 2):  # few examples, and all of one class
      few = answers.only(np.arange(_N) < count)
      self.assertTrue(math.isfinite(_number(metric, few)))

  @parameterized.named_parameters((m.name, m) for m in _METRICS)
  def test_the_order_of_examples_does_not_matter(self, metric):
    answers = _answers()
    order = np.random.default_rng(1).permutation(_N)
    again = _number(metric, answers.only(order))
    self.assertAlmostEqual(again, _number(metric, answers), places=9)

  @parameterized.named_parameters((m.name, m) for m in _METRICS)
  def test_it_is_a_row_a_headline_and_a_definition(self, metric):
    task = (metric.tasks or _TASKS)[0]
    rows = reliability.rows_from_answers(_CELL, _answers(), task)
    (row,) = (row for row in rows if row.metric == metric.name)
    self.assertAlmostEqual(row.value, _number(metric, _answers()), places=6)
    self.assertEqual(row.n, _N)
    table.dumps([row])
    shown = tasks.get(task).facts.metric(f"mean_{metric.name}")
    self.assertEqual(shown.heading, f"Mean {metric.heading}")
    self.assertEqual(definitions.any_task_metric(metric.name), metric)
    cells = {c: [metric.name] for c in conditions.PICTURES.conditions()}
    of = reliability.headlines(cells, conditions.PICTURES)
    self.assertIn((f"mean_{metric.name}", "", None), [h.key for h in of])

  @parameterized.named_parameters((m.name, m) for m in _METRICS)
  def test_cells_without_what_it_needs_have_no_row(self, metric):
    answers = _answers()
    known = answers.label, answers.predicted, answers.correct, answers.groups
    bare = Answers(*known, answers.frame)
    rows = reliability.rows_from_answers(_CELL, bare, "")
    names = [row.metric for row in rows]
    self.assertEqual(metric.name in names, not metric.needs)
    if not metric.needs:
      self.assertTrue(math.isfinite(_number(metric, bare)))


class NamesTest(absltest.TestCase):
  def test_no_other_number_has_the_name(self):
    names = [m.name for topic in definitions.topics() for m in topic.metrics]
    for metric in _METRICS:
      self.assertEqual(names.count(metric.name), 1, metric.name)
    self.assertLen(_METRICS, len({metric.name for metric in _METRICS}))
