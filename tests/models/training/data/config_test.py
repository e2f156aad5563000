"""What is said of the data that a network is trained on."""

from absl.testing import absltest, parameterized

from robust_tfds import errors
from robust_tfds.models.training.data import config


class ConfigTest(parameterized.TestCase):
  @parameterized.parameters(
    ({"validation": 1.5}, "a fraction from 0 to below 1"),
    ({"validation": "test"}, "what the model is judged on"),
    ({"validation": float("nan")}, "what the model is judged on"),
    ({"geometry": "random_resized8"}, "is of `crop`"),
    ({"crop": "random8"}, "Unknown geometry"),
  )
  def test_refused(self, options, words):
    with self.assertRaisesRegex(errors.UserError, words):
      config.Config(source="digits", **options)


if __name__ == "__main__":
  absltest.main()
