"""Definitions: all numbers of all tasks, their senses as the tasks say."""

import importlib
import pkgutil

from absl.testing import absltest, parameterized

from robust_tfds.eval import tasks
from robust_tfds.eval.cells.facts import TaskFacts
from robust_tfds.eval.site import definitions
from robust_tfds.eval.tasks.parts import reliability

_TASKS = tuple(tasks.names())
_FILES = tuple(
  module.name
  for module in pkgutil.iter_modules(definitions.__path__)
  if module.name != "base"
)
_FACTS = {name: tasks.get(name).facts for name in _TASKS}


class DefinitionsTest(parameterized.TestCase):
  @parameterized.parameters(*_TASKS)
  def test_every_number_of_a_task_is_defined_in_its_sense(self, task):
    facts = _FACTS[task]
    for metric in (*facts.headlines, *facts.details, *facts.others):
      defined = definitions.find(task, metric.name)
      self.assertIsNotNone(defined, metric.name)
      definition = defined[1]
      self.assertEqual(
        definition.sense == "higher", metric.higher_is_better, metric.name
      )
      self.assertEqual(definition.percent, metric.percent, metric.name)

  @parameterized.parameters(*_TASKS)
  def test_every_task_has_a_topic(self, task):
    topic = definitions.topic_of(task)
    self.assertIsNotNone(topic)
    self.assertEqual(definitions.title_of(task), topic.title)

  def test_a_task_without_a_topic_has_its_own_name(self):
    self.assertEqual(definitions.title_of("new_task"), "New task")

  @parameterized.parameters(*_FILES)
  def test_every_file_is_a_topic_of_the_page(self, name):
    module = importlib.import_module(f"{definitions.__name__}.{name}")
    self.assertIn(module.TOPIC, definitions.TOPICS)
    for definition in module.TOPIC.definitions:
      self.assertNotEmpty(definition.words, definition.metric)

  def test_calibration_is_shown_as_its_rows_say(self):
    facts = TaskFacts("classification", "corruption", ())
    for metric in (*reliability.METRICS, *reliability.MEANS):
      shown = definitions.shown(facts, metric.name)
      self.assertEqual(shown.percent, metric.percent, metric.name)
      self.assertFalse(shown.higher_is_better)
      self.assertEqual(
        shown.heading.startswith("Mean "), metric.name.startswith("mean_")
      )

  def test_anchors_differ(self):
    anchors = [
      definitions.anchor(topic, d)
      for topic in definitions.TOPICS
      for d in topic.definitions
    ]
    self.assertLen(set(anchors), len(anchors))

  def test_members_of_families(self):
    facts = TaskFacts("frames", "condition", ())
    heading = definitions.shown(facts, "acc_pmk/k=3").heading
    self.assertEqual(heading, "pm-10, k=3")
    facts = TaskFacts("detection", "corruption", ())
    mask = definitions.shown(facts, "segm/AP50")
    self.assertEqual(mask.heading, "Mask AP50")
    self.assertTrue(mask.higher_is_better)

  def test_one_metric_of_two_tasks(self):
    of_frames = definitions.find("frames", "error")
    of_pictures = definitions.find("classification", "error")
    self.assertNotEqual(of_frames, of_pictures)

  def test_an_unknown_metric_stands_under_its_name(self):
    facts = TaskFacts("classification", "corruption", ())
    shown = definitions.shown(facts, "mean_oddness_of_it")
    self.assertEqual(shown.heading, "mean oddness of it")
    self.assertIsNone(definitions.find("classification", "oddness"))

  def test_what_a_task_says_comes_first(self):
    facts = _FACTS["classification"]
    self.assertIs(definitions.shown(facts, "mce"), facts.metric("mce"))


if __name__ == "__main__":
  absltest.main()
