"""Detections that no score can be made of are refused, the example is named."""

import numpy as np
from absl.testing import parameterized

from eval.tasks.detections import detected_values


def _outputs() -> dict[str, np.ndarray]:
  return {
    "boxes": np.array([[[0, 0, 5, 5], [1, 1, 1, 1]]] * 2, np.float32),
    "scores": np.array([[0.9, 0.0]] * 2, np.float32),
    "classes": np.array([[3, detected_values.NONE]] * 2, np.int32),
    "masks": np.zeros((2, 2, 4, 4), np.float32),
  }


class DetectedValuesTest(parameterized.TestCase):
  def test_sound_ones_and_empty_places_pass(self):
    outputs = _outputs()
    outputs["boxes"][0, 1] = np.nan  # no detection there
    outputs["boxes"][1, 0] = 7  # an empty box is just wrong
    detected_values.check(["a", "b"], outputs)

  @parameterized.parameters(
    ("boxes", np.nan, "NaN or infinite: detection 0"),
    ("scores", np.inf, "NaN or infinite: detection 0"),
    ("boxes", [5, 0, 0, 5], "ends are swapped"),
    ("classes", detected_values.NO_CLASS, "a class outside of 0..32767"),
    ("classes", 40_000, "class 40000"),
    ("masks", np.nan, "a mask with NaN"),
  )
  def test_refusals(self, key, value, message):
    outputs = _outputs()
    outputs[key][1, 0] = value
    with self.assertRaisesRegex(ValueError, f"Example 'b': .*{message}"):
      detected_values.check(["a", "b"], outputs)
