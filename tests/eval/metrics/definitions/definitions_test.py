"""Definitions: whatever a task writes has words, a unit and a sense."""

from absl.testing import absltest
from etils import epath

from eval import readers, tasks
from eval.metrics import answers, definitions
from eval.readers import base as readers_base
from tests.eval.compare import task_runs

_RUNS = (
  ("video", task_runs.video),
  ("video", task_runs.natural),
  ("sequences", task_runs.sequences),
  ("frames", task_runs.frames),
  ("detection", task_runs.detection),
  ("detection", task_runs.numbers),
  ("segmentation", task_runs.segmentation),
)


class DefinitionsTest(absltest.TestCase):
  def test_every_number_that_a_task_shows_has_a_sense(self):
    for task in tasks.names():
      facts = tasks.get(task).facts
      for metric in (*facts.headlines, *facts.details, *facts.others):
        self.assertIn(metric.sense, ("lower", "higher"), (task, metric.name))
        self.assertNotEmpty(metric.words, metric.name)

  def test_every_number_that_a_task_writes_has_a_sense(self):
    options = readers_base.Options()
    for task, run in _RUNS:
      folder = epath.Path(self.create_tempdir().full_path) / "run"
      run(folder, 0.9)
      reader = readers.choose([folder], readers.AUTO, options)
      predictions = reader.read([folder], options)
      _, scored = predictions.score(*predictions.datasets)
      self.assertNotEmpty(scored.rows)
      for row in scored.rows:
        metric = definitions.metric(task, row.metric)
        self.assertNotEqual(metric.sense, "unknown", (task, row.metric))
    # Of sets that are published, and of three models or more.
    for name in ("trend", "published_trend", "paper_trend"):
      for part in ("slope", "intercept"):
        metric = definitions.metric("frames", f"{name}_{part}")
        self.assertEqual(metric.sense, "neither")

  def test_every_task_has_a_topic(self):
    for task in tasks.names():
      topic = definitions.topic_of(task)
      self.assertIsNotNone(topic, task)
      self.assertEqual(definitions.title_of(task), topic.title)
    self.assertEqual(definitions.title_of("new_task"), "New task")

  def test_every_file_is_a_topic_of_the_page(self):
    files = [*definitions.FOLDER.glob("*.json"), *answers.names()]
    self.assertLen(definitions.topics(), len(files))
    for topic in definitions.topics():
      for metric in topic.metrics:
        self.assertNotEmpty(metric.words, metric.name)
        # What is estimated, in one sentence or two.
        self.assertRegex(metric.population, r"^[A-Z0-9].{20,}\.$", metric.name)
        self.assertNotEqual(metric.sense, "unknown", metric.name)

  def test_anchors_differ(self):
    anchors = [
      definitions.anchor(topic, metric)
      for topic in definitions.topics()
      for metric in topic.metrics
    ]
    self.assertLen(set(anchors), len(anchors))

  def test_headings_and_senses_of_members_and_means(self):
    for task, name, heading, sense in (
      ("frames", "acc_pmk/k=3", "pm-10, k=3", "higher"),
      ("detection", "segm/AP50", "Mask AP50", "higher"),
      ("detection", "segm/mpc", "Mask mPC", "higher"),
      ("detection", "bbox/AP", "AP", "higher"),
      ("video", "gamma_r/noise", "gamma_r, noise", "higher"),
      ("video", "gamma_r/blur", "blur", "higher"),
      ("video", "accuracy/category/Age", "Accuracy, category, Age", "higher"),
      ("classification", "mean_nll", "Mean NLL", "lower"),
      ("sequences", "brier", "Brier", "lower"),
      ("classification", "mean_oddness_of_it", "mean oddness of it", "unknown"),
      # An accuracy by its name alone is none.
      ("classification", "accuracy_of_it", "accuracy of it", "unknown"),
    ):
      metric = definitions.metric(task, name)
      got = (metric.name, metric.heading, metric.sense)
      self.assertEqual(got, (name, heading, sense))
    self.assertFalse(definitions.metric("classification", "mean_nll").percent)

  def test_one_metric_of_two_tasks(self):
    of_frames = definitions.find("frames", "error")
    of_pictures = definitions.find("classification", "error")
    self.assertNotEqual(of_frames, of_pictures)

  def test_average_precision_of_voc_is_over_11_recalls(self):
    words = definitions.metric("detection", "AP50").words
    self.assertRegex(words, "11 recalls")
    self.assertNotRegex(words, "area")
