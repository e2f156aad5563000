"""What is said of the data that a network is trained on."""

from absl.testing import parameterized

from robust_tfds import errors
from tests.models.training import tiny_trainings


class ConfigTest(parameterized.TestCase):
  @parameterized.parameters(
    ({"validation": 1.5}, "a fraction from 0 to below 1"),
    ({"validation": "test"}, "what the model is judged on"),
    ({"validation": float("nan")}, "what the model is judged on"),
    ({"geometry": "random_resized8"}, "belongs in `crop`"),
    ({"crop": "random8"}, "Unknown geometry"),
    ({"split": "test[:10%]"}, "Train on another split"),
    (
      {"source": "tfds:imagenet_resized/64x64", "split": "validation"},
      "what models are judged on",
    ),
    ({"canvas": (640,)}, "a height and a width"),
    ({"canvases": (640, 640)}, "Did you mean 'canvas'"),
  )
  def test_refused(self, options, words):
    *_, key = options
    begins = f"^config.data.{key}: .*"
    with self.assertRaisesRegex(errors.UserError, begins + words):
      tiny_trainings.config(data={"source": "digits"} | options)

  @parameterized.parameters(
    ({"judged_on": "coco_c, pascal_c"}, "judged_on", ("coco_c", "pascal_c")),
    ({"canvas": (640, 480), "boxes": 7}, "canvas", (640, 480)),
    ({"frames": 8, "rate": 2}, "rate", 2),
  )
  def test_every_field_is_a_key(self, options, key, value):
    made = tiny_trainings.config(data={"source": "digits", **options})
    self.assertEqual(getattr(made.data, key), value)
