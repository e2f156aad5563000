"""Features of a finished run against the model called by hand."""

import numpy as np
import pytest
from etils import epath

from configs import quickstart_video
from eval.run.results import features
from robust_tfds import errors
from tests import in_folder
from tests.eval import tiny_runs


class FeaturesTest(in_folder.TestCase):
  def test_of_pictures(self):
    run = epath.Path(tiny_runs.folder("classification"))
    layers, chosen = ("conv2", "features"), ("clean", "brightness_3")
    clean, bright = features.compute(run, layers, chosen, 0)
    self.assertEqual(bright.condition, "brightness_3")
    self.assertLen(set(clean.example_id.tolist()), 64)
    self.assertEqual(list(clean.layers), list(layers))
    np.testing.assert_array_equal(clean.label, bright.label)
    away = np.abs(clean.layers["features"] - bright.layers["features"])
    self.assertGreater(away.max(), 1e-3)

  def test_the_last_layer_on_them_gives_the_predictions(self):
    run = tiny_runs.folder("classification")
    columns = tiny_runs.cell(run, "digits_cnn", "digits_c", "brightness_3")
    (one,) = features.compute(
      epath.Path(run), ("features", "head"), ("brightness_3",), 0
    )
    place = {name: i for i, name in enumerate(one.example_id.tolist())}
    rows = [place[name] for name in columns["example_id"].tolist()]
    best = one.layers["head"][rows].argmax(axis=1)
    np.testing.assert_array_equal(best, columns["top5"][:, 0])

  def test_refusals(self):
    run = epath.Path(tiny_runs.folder("classification"))
    for layers, chosen, words in (
      (("conv9",), (), "Did you mean 'conv"),
      (("conv1",), ("fog_1",), "Unknown condition of the run 'fog_1'"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        list(features.compute(run, layers, chosen, 0))
    with self.assertRaises(errors.UserError):
      list(features.compute(epath.Path(self.root), ("conv1",), (), 0))

  @pytest.mark.slow
  def test_of_clips(self):
    config, run = tiny_runs.config("video").unlock(), epath.Path(self.root)
    train = {**quickstart_video.get_config().model.train, "steps": 2}
    config.model = {"name": "tiny_r3d", "num_classes": 8, "train": train}
    tiny_runs.start(config.lock(), run)
    (one,) = features.compute(run, ("block1", "block3"), ("clean",), 4)
    self.assertLen(one.label, 4)
    self.assertEqual(one.layers["block3"].shape[0], 4)
