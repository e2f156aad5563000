"""What a model was trained on: as stated, as its recipe or its checkpoint says."""

import os

from absl.testing import parameterized
from etils import epath

from eval.run import spec as spec_lib
from eval.run.model import training_data
from robust_tfds import errors
from tests.models.training import tiny_trainings

_RECIPE = {
  "dataset": "digits",
  "split": "train",
  "steps": 1,
  "batch_size": 1,
  "learning_rate": 1e-3,
  "seed": 0,
}


def _model(entry) -> spec_lib.Model:
  return spec_lib.Model(name="mine", **entry)


class TrainingDataTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, None),
    ({"trained_on": "JFT-300M"}, "JFT-300M"),
    ({"train": _RECIPE}, "digits train"),
    ({"train": _RECIPE, "trained_on": "mine"}, "mine"),
    (
      {"checkpoint": "torchvision:ResNet50_Weights.IMAGENET1K_V2"},
      "ImageNet-1k",
    ),
    ({"checkpoint": "timm:resnet50.a1_in1k"}, "ImageNet-1k"),
    (
      {"checkpoint": "timm:vit_base_patch16_224.augreg_in21k_ft_in1k"},
      "ImageNet-21k, then ImageNet-1k",
    ),
    ({"checkpoint": "timm:vit_base_patch16_clip_224.openai"}, None),
    ({"checkpoint": "/somewhere/resnet50_in1k.npz"}, None),
  )
  def test_trained_on(self, entry, expected):
    self.assertEqual(training_data.words(_model(entry)), expected)

  @parameterized.parameters(
    ({}, None),
    ({"train": _RECIPE}, []),
    ({"corruptions_seen": "none"}, []),
    ({"corruptions_seen": "fog, gaussian_noise"}, ["fog", "gaussian_noise"]),
    ({"corruptions_seen": ("jumbling",), "train": _RECIPE}, ["jumbling"]),
  )
  def test_corruptions_seen(self, entry, expected):
    self.assertEqual(training_data.corruptions_seen(_model(entry)), expected)

  def test_a_checkpoint_takes_the_place_of_a_recipe(self):
    entry = _model({"train": _RECIPE, "checkpoint": "timm:resnet50.a1_in1k"})
    self.assertIsNone(entry.train)

  def test_of_a_training(self):
    """Its disclosure is taken over, and nothing can say less than it does."""
    folder = epath.Path(self.create_tempdir().full_path)
    _disclosed(folder)
    for place in (folder, folder / "weights.npz", folder / "weights_ema.npz"):
      entry = {"checkpoint": str(place)}
      words = "tones train: corruption_mix, on fog at 1, 2, 3, 12 steps"
      self.assertEqual(training_data.words(_model(entry)), words)
      self.assertEqual(training_data.corruptions_seen(_model(entry)), ["fog"])
      self.assertEqual(training_data.severities_seen(_model(entry)), [1, 2, 3])
      more = _model({**entry, "corruptions_seen": "fog,snow"})
      self.assertIsNone(training_data.severities_seen(more))
      stated = _model({**entry, "trained_on": "mine"})
      self.assertEqual(training_data.words(stated), f"{words}; mine")
      with self.assertRaisesRegex(errors.UserError, "got none, but .* fog"):
        training_data.corruptions_seen(
          _model({**entry, "corruptions_seen": "none"})
        )
    (folder / "weights.npz").write_bytes(b"other")
    link = folder / "mine.npz"
    os.symlink(folder / "weights.npz", link)
    with self.assertRaisesRegex(errors.UserError, "not the weights that"):
      training_data.words(_model({"checkpoint": str(link)}))
    other = _model({"checkpoint": str(folder / "other.npz")})
    self.assertIsNone(training_data.corruptions_seen(other))

  def test_an_unknown_corruption(self):
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'fog'|fog"):
      training_data.corruptions_seen(_model({"corruptions_seen": "fgo"}))


def _disclosed(folder):
  """What a training on fog writes."""
  recipe = {"name": "corruption_mix", "names": ("fog",)}
  prepared = tiny_trainings.prepared(
    allow_benchmark_conditions=True, recipe=recipe
  )
  prepared.disclosure(12, "0" * 64).write(folder)
