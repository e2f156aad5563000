"""What a training says at its end."""

import types

from absl.testing import parameterized
from etils import epath

from models.training.monitoring import closing
from tests.models.training import tiny_trainings


def _prepared(source="digits", model="digits_cnn"):
  return types.SimpleNamespace(
    model=types.SimpleNamespace(name=model),
    source=tiny_trainings.Source(validation=8),
    config=types.SimpleNamespace(data=types.SimpleNamespace(source=source)),
  )


class ClosingTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      [{"loss": 0.1, "validation_loss": 0.2, "validation_error": 0.25}],
      "digits_cnn: 25.0 % wrong on 8 held-out examples after 1,300 steps",
    ),
    (
      [{"loss": 0.1, "validation_loss": 0.25}],
      "digits_cnn: loss 0.25 on 8 held-out examples after 1,300 steps",
    ),
    (
      [{"loss": 0.125}],
      "digits_cnn: training loss 0.125 after 1,300 steps; no examples were held"
      " out",
    ),
  )
  def test_verdict(self, measured, expected):
    self.assertEqual(closing.verdict(_prepared(), 1300, measured), expected)

  @parameterized.parameters(
    (
      "digits",
      "digits_cnn",
      "=quickstart:digits_c --config.models.digits_cnn.ch",
    ),
    (
      "digits",
      "tiny",
      " --config.models.digits_cnn.name=tiny --config.models.",
    ),
    (
      "tfds:cifar10",
      "allconv",
      "=cifar10_c:allconv --config.model.checkpoint=/w",
    ),
    ("kinetics400_train", "r3d", "=video_p:kinetics400_p,r3d --config.model."),
    (
      "ytbb_train",
      "tiny",
      "=vid_robust:tiny --config.data.name=ytbb_robust --config.model.",
    ),
    ("imagenet_vid_det_train", "tiny", "=vid_robust_detection:tiny --config.m"),
    ("ilsvrc30_train", "tiny", "=vid_robust:tiny --config.model."),
    ("voc0712_train", "tiny", "=pascal_c:tiny --config.model."),
    ("folder:/data/pets", "tiny", "=own_data:tiny --config.data.name=folder:"),
  )
  def test_command(self, source, model, expected):
    words = closing.command(_prepared(source, model), epath.Path("/w"))
    self.assertIn(expected, words)
