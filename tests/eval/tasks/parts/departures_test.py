"""Codecs and crops that are not the published ones, in the notes of rows."""

import numpy as np
from absl.testing import parameterized

from eval import tasks
from eval.cells.cell import Cell
from eval.tasks.headlines import departures
from robust_tfds import conditions
from tests.eval import tiny_config


class NoteTest(parameterized.TestCase):
  @parameterized.parameters(
    ("imagenet_c", "raw", "", "codec raw (lossless; published: jpeg85)"),
    ("imagenet_c", "jpeg85", "imagenet", ""),
    ("imagenet_c", "published", "", ""),
    ("imagenet_c", "", "", ""),  # predictions from elsewhere
    ("tiny_imagenet_c", "raw", "", "codec raw (lossless; published: jpeg85)"),
    ("imagenet_p", "png", "", "codec png (lossless; published: h264)"),
    ("imagenet_p", "h264", "inception", ""),
    ("cifar10_c", "raw", "", ""),  # published as arrays
    ("digits_c", "raw", "", ""),  # never published
    ("somebodys_c", "raw", "imagenet", ""),
    ("imagenet_c", "jpeg85", "short342_crop299", ""),
    (
      "imagenet_c",
      "jpeg85",
      "squash256_crop227",
      "crop squash256_crop227, corrupted by edition imagenet (224 px)",
    ),
    (
      "imagenet_c",
      "raw",
      "short378_crop331",
      "codec raw (lossless; published: jpeg85); crop short378_crop331, corrupted"
      " by edition inception (299 px)",
    ),
  )
  def test_note(self, dataset, codec, geometry, expected):
    self.assertEqual(departures.note(dataset, codec, geometry), expected)

  def test_every_row_of_a_task_has_it(self):
    config = tiny_config.get_config().unlock()
    config.data.name, config.data.codec = "imagenet_c", "raw"
    config.data.left_out = "none"  # as a plan says it
    task = tasks.bind(config, "imagenet")
    cell = Cell("m", "imagenet_c", conditions.Condition())
    ids = np.array([f"{i:02d}" for i in range(len(_LABELS))])
    columns = {"label": _LABELS, "top5": _TOP5, "group_id": ids}
    rows = task.score([(cell, columns)]).rows
    self.assertIn("clean_error", [r.metric for r in rows])
    for row in rows:
      self.assertStartsWith(row.note, "codec raw")


_LABELS = np.zeros(3, int)
_TOP5 = np.zeros((3, 5), int)
