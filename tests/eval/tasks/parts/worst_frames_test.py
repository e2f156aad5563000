"""Frames by the numbers of their ground truth, and the sets that lose most."""

import numpy as np
from absl.testing import absltest

from eval.metrics import resampling
from eval.metrics.detection import checks
from eval.tasks.detections import average_precision, worst_frames
from robust_tfds import errors
from robust_tfds.building import frame_boxes


def _truth():
  """Two sets of an anchor and the frame after it, an object each."""
  images = [
    {
      "id": 1 + 2 * s + f,
      "file_name": f"{s}/{f}",
      "group_id": f"{s}/0",
      "frame": f,
      "reviewed": True,
    }
    for s in (0, 1)
    for f in (0, 1)
  ]
  rows = [
    {"id": i, "image_id": i, "category_id": 1, "bbox": [0, 0, 9, 9]}
    for i in (1, 2, 3, 4)
  ]
  rows = [{**row, "area": 81, "iscrowd": 0} for row in rows]
  categories = [{"id": 1, "name": "cat"}]
  return checks.ground_truth(
    {"images": images, "annotations": rows, "categories": categories}
  )


def _columns(found):
  """A cell in another order than the truth; which frames' objects it finds."""
  names = ["1/1", "0/0", "0/1", "1/0"]
  box = np.array([[0, 0, 9, 9]], np.float32)
  return {
    "example_id": np.array(names),
    "boxes": np.stack([box] * 4),
    "scores": np.ones((4, 1), np.float32),
    "classes": np.array([[0 if n in found else -1] for n in names]),
  }


class WorstFramesTest(absltest.TestCase):
  def _scored(self, found):
    truth = _truth()
    columns = worst_frames.numbered(_columns(found), truth)
    groups = np.array([i["group_id"] for i in truth["images"]])
    pictures = average_precision.Pictures.of(
      np.arange(1, 5), groups, resampling.Draws.from_groups(groups)
    )
    sets = frame_boxes.Sets.of(truth["images"])
    return worst_frames.scored(columns, truth, sets, pictures)

  def test_worst_frames_and_what_they_cost(self):
    first, merged = self._scored({"0/0", "0/1", "1/0"})
    self.assertEqual(first.selected, {1: 1, 3: 4})
    self.assertEqual(first.offsets().tolist(), [0, 1])
    self.assertEqual(first.largest_drops(6), [(3, 4)])
    self.assertEqual(first.classes, {0: 2})
    means = {m: (float(x.value), n) for m, (x, n) in first.means().items()}
    self.assertEqual(means["map_orig"], (1.0, 2))
    self.assertAlmostEqual(means["map_pmk"][0], 51 / 101)  # half are found
    self.assertCountEqual(
      merged.numbers(), [f"localization/{m}" for m in means]
    )

  def test_frames_of_another_run(self):
    columns = {**_columns(()), "example_id": np.array(["0/0"])}
    with self.assertRaisesRegex(errors.UserError, "'0/1' is in one of them"):
      worst_frames.numbered(columns, _truth())


if __name__ == "__main__":
  absltest.main()
