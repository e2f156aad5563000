"""Every benchmark has a config, and it is that of its file."""

from absl.testing import parameterized

from robust_tfds import datasets, errors
from robust_tfds.eval import tasks
from robust_tfds.eval.run import dataset_config

_CLEAN_ALONE = ("digits", "digits_detection", "digits_video")


class DatasetConfigTest(parameterized.TestCase):
  @parameterized.parameters(
    *(n for n in datasets.names() if n not in _CLEAN_ALONE)
  )
  def test_every_benchmark(self, name):
    config = dataset_config.of(name)
    builder = datasets.builder_class(name)
    self.assertEqual(config.data.name, name)
    self.assertEqual(tasks.get(config.task).set_kind, builder.KIND)
    self.assertIn(config.data.split, (*builder.SPLITS, builder.SPLIT))

  def test_another(self):
    with self.assertRaisesRegex(errors.UserError, "Unknown benchmark 'digits'"):
      dataset_config.of("digits")
