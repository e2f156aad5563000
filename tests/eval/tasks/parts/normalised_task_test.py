"""What both normalised tasks say of a baseline, and refuse."""

from absl.testing import parameterized

from eval import tasks
from eval.tasks import base
from eval.tasks.headlines import normalised_task
from robust_tfds import errors


def _task(name: str, **setting) -> base.Task:
  return tasks.get(name)(base.Setting(**setting))


class NormalisedTaskTest(parameterized.TestCase):
  @parameterized.parameters(
    ("classification", "imagenet_c"), ("sequences", "imagenet_p")
  )
  def test_baselines(self, name, dataset):
    published = _task(name, dataset=dataset, baseline="alexnet")
    self.assertIsInstance(published, normalised_task.NormalisedTask)
    published.check_baseline([])
    self.assertIn("AlexNet", published.baseline)
    of_run = _task(name, dataset=dataset, baseline="model:mine")
    of_run.check_baseline(["mine"])
    with self.assertRaisesRegex(errors.UserError, "Unknown baseline model"):
      of_run.check_baseline(["other"])
    other_set = _task(name, dataset="digits_c", baseline="alexnet")
    with self.assertRaisesRegex(errors.UserError, "not of digits_c"):
      other_set.check_baseline([])
