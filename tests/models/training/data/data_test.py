"""`data.open` of every embedded set."""

import numpy as np
import pytest
from absl.testing import parameterized

from models.training import data
from tests import quick


def _first(source: str, folder: str, **options) -> dict:
  config = data.Config(source=source, data_dir=folder, **options)
  lines: list[str] = []
  opened = data.open(config, lines.append)
  assert lines  # of the set that is prepared
  return next(opened.batches(batch_size=8, seed=0, epoch=0))


class OpenTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  @quick.cases([("digits", 32)], [("signs", 64)])
  def test_pictures(self, source, side):
    batch = _first(source, self.folder)
    self.assertEqual(batch["image"].shape, (8, side, side, 3))

  @pytest.mark.slow
  def test_clips(self):
    batch = _first("digits_video", self.folder, frames=4, rate=2)
    self.assertEqual(batch["video"].shape, (8, 4, 48, 48, 3))

  @pytest.mark.slow
  def test_scenes(self):
    batch = _first("digits_detection", self.folder, masks=True)
    self.assertEqual(batch["image"].shape, (8, 128, 128, 3))
    there = batch["labels"] >= 0
    self.assertTrue(there.any(axis=1).all())
    x0, y0, x1, y1 = np.moveaxis(batch["boxes"], -1, 0)
    self.assertTrue((x1[there] > x0[there]).all())
    self.assertTrue((y1[there] <= batch["size"].max()).all())
    self.assertFalse(batch["boxes"][~there].any())
    self.assertEqual(batch["masks"].shape, (*there.shape, 128, 128))
    down, across = batch["masks"][there][0].nonzero()
    x0, y0, x1, y1 = batch["boxes"][there][0]
    np.testing.assert_allclose(
      (across.min(), down.min(), across.max() + 1, down.max() + 1),
      (x0, y0, x1, y1),
      atol=1,
    )
