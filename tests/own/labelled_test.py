"""Labelled pictures of one's own: prepared is on the fly, wherever they lie."""

import pathlib

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized

from tests.own import made


class LabelledTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.root = made.folder(self.folder / "pets")

  @parameterized.parameters(
    ({}, 2, "folder_c/gaussian_noise_3_short37_crop32_cifar10", "image"),
    (
      {"perturbations": "gaussian_noise"},
      2,
      "folder_p/gaussian_noise_short32_crop32",
      "frames",
    ),
  )
  def test_prepared_is_on_the_fly(self, more, count, name, feature):
    workdirs = [self.folder / "fly", self.folder / "prepared"]
    model = made.Seen()
    for workdir, source in zip(workdirs, ("fly", "prepared")):
      made.evaluate(
        model, f"folder:{self.root}", workdir=workdir, source=source, **more
      )
    fly, prepared = map(made.cells, workdirs)
    self.assertLen(fly, count)
    self.assertEqual(fly, prepared)
    rows = tfds.load(name, data_dir=workdirs[1] / "data", split="test")
    loaded = {r["example_id"].decode(): r for r in tfds.as_numpy(rows)}
    self.assertLen(loaded, 12)
    self.assertIn("Füchse/deep/3.jpeg", loaded)
    pixels = [np.reshape(r[feature], (-1, 32, 32, 3)) for r in loaded.values()]
    self.assertContainsSubset(
      {made.sha256(image) for each in pixels for image in each}, model.pictures
    )
