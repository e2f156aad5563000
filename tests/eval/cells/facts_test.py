"""What is to be said of a task's numbers."""

from absl.testing import parameterized

from eval import tasks
from eval.cells import facts
from eval.metrics import definitions
from eval.metrics.definitions import Metric


class TaskFactsTest(parameterized.TestCase):
  def test_metric_looks_everywhere(self):
    head, detail, other = (Metric(n, n.upper()) for n in "abc")
    task = facts.TaskFacts("t", "corruption", (head,), (detail,), (other,))
    self.assertIs(task.metric("a"), head)
    self.assertIs(task.metric("b"), detail)
    self.assertIs(task.metric("c"), other)

  def test_a_metric_that_the_task_does_not_show_is_as_defined(self):
    task = facts.TaskFacts("detection", "corruption", ())
    self.assertIs(task.metric("AP"), definitions.metric("detection", "AP"))
    self.assertEqual(task.metric("x").sense, "unknown")

  def test_plain_numbers_are_those_that_a_baseline_normalises(self):
    self.assertEqual(
      tasks.get("classification").facts.plain,
      {
        *("mean_corruption_error", "mean_error"),
        *("part_mean_corruption_error", "part_mean_error"),
        "held_out_mean_corruption_error",
      },
    )
    self.assertEmpty(tasks.get("video").facts.plain)

  @parameterized.parameters(*tasks.names())
  def test_facts_of_every_task_are_whole(self, name):
    task = tasks.get(name).facts
    self.assertEqual(task.task, name)
    self.assertIn(task.noun, ("corruption", "perturbation", "condition"))
    listed = (*task.headlines, *task.details)
    known = {m.name for m in (*listed, *task.others)}
    for group in (task.headlines, task.details, task.others):
      names = [m.name for m in group]
      self.assertLen(set(names), len(names))
    for metric in listed:
      self.assertNotEmpty(metric.heading)
      if metric.normalises:
        self.assertIn(metric.normalises, known)
        self.assertNotEmpty(task.normalised)
