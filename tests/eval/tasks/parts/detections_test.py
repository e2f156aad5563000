"""Values that detectors are scored by."""

from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics import detection, resampling
from eval.metrics.detection import checks
from eval.tasks import base
from eval.tasks import detection as tasks_detection
from eval.tasks.detections import (
  average_precision,
  detected_values,
  drawn_boxes,
  mask_outlines,
  masks,
)
from robust_tfds import errors
from robust_tfds.coco import rle
from tests import shared_data
from tests.eval.tasks import painted_mask


def _stored(name):
  return shared_data.golden_json("detection", "coco", "typical_200x10", name)


class AveragePrecisionTest(absltest.TestCase):
  """Replicates of a cell's AP: the value is COCO's, blocks are of pictures."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.results = _stored("dt_bbox.json.gz")
    cls.truth = checks.ground_truth(_stored("gt.json.gz"))
    cls.detected = checks.detections(cls.truth, cls.results, "bbox")
    cls.ids = np.array([i["id"] for i in cls.truth["images"]])[::-1]
    cls.groups = np.array([f"city{i % 40}" for i in cls.ids])
    cls.draws = resampling.Draws.from_groups(cls.groups, blocks=7)
    cls.pictures = average_precision.Pictures.from_ids(
      cls.ids, cls.groups, cls.draws
    )

  def test_a_group_is_left_out_whole(self):
    got = average_precision.coco(
      "bbox", self.detected, self.truth, self.pictures
    )
    blocks = self.draws.blocks_of(self.groups)
    one = got["bbox/AP"]
    self.assertIsNone(one.draws)
    self.assertEqual((one.blocks, one.effective_groups), (7, 40))
    self.assertAlmostEqual(
      float(one.value), detection.coco_ap(self.truth, self.results)["AP"]
    )
    rest = self.ids[blocks != 3].tolist()
    expected = detection.coco_ap(self.truth, self.results, image_ids=rest)
    self.assertAlmostEqual(one.jackknife[3], expected["AP"])
    self.assertAlmostEqual(
      got["bbox/ARs"].jackknife[3], expected["ARs"], delta=1e-12
    )

  def test_numbers_without_objects_are_not_there(self):
    truth = {**_stored("gt.json.gz"), "annotations": []}
    got = average_precision.coco(
      "bbox", self.detected, checks.ground_truth(truth), self.pictures
    )
    self.assertEqual(got, {})


def _truth():
  """Two images; ids of categories are no labels."""
  return {
    "images": [{"id": i, "height": 40, "width": 50} for i in (7, 9)],
    "categories": [{"id": 3, "name": "cat"}, {"id": 30, "name": "dog"}],
    "annotations": [
      _annotation(1, 7, 3, [2, 3, 20, 10]),
      _annotation(2, 9, 30, [5, 5, 30, 30]),
    ],
  }


def _annotation(number, image, category, box):
  x, y, width, height = box
  mask = np.zeros((40, 50), bool)
  mask[y : y + height, x : x + width] = True
  return {
    "id": number,
    "image_id": image,
    "category_id": category,
    "bbox": box,
    "area": width * height,
    "iscrowd": 0,
    "segmentation": {"size": [40, 50], "counts": rle.encode(mask).counts},
  }


def _columns(labels=(0, 1), **changes):
  """Detections that hit both objects exactly; borders, and padding."""
  annotations = _truth()["annotations"]
  boxes = np.zeros((2, 2, 4), np.float32)
  boxes[:, 0] = [[2, 3, 22, 13], [5, 5, 35, 35]]
  columns = {
    "image_id": np.array([7, 9]),
    "group_id": np.array(["7", "9"]),
    "boxes": boxes,
    "classes": np.array([[labels[0], -1], [labels[1], -1]]),
    "scores": np.array([[0.9, 0.0], [0.8, 0.0]], np.float32),
    "masks": np.array([a["segmentation"]["counts"] for a in annotations]),
  }
  return {**columns, **changes}


def _numbers(columns, dataset="coco_c"):
  task = tasks_detection.Detection(base.Setting(dataset))
  draws = resampling.Draws.from_groups(np.array(["7", "9"]))
  return {
    metric: float(number.value)
    for metric, number in task.replicates(columns, draws, _truth()).items()
  }


class CocoTest(absltest.TestCase):
  """A cell's columns as detections of COCO's rules and VOC's."""

  def test_exact_hits(self):
    got = _numbers(_columns())
    self.assertLen(got, 2 * 8)  # all objects are small
    for kind in ("bbox", "segm"):
      self.assertAlmostEqual(got[f"{kind}/AP"], 1.0)

  def test_refusals(self):
    boxes, nowhere = _columns()["boxes"], _columns()["boxes"]
    boxes[1, 0, 2] = np.nan
    nowhere[0, 0, 0] = -np.inf
    for dataset in ("coco_c", "pascal_c"):
      for columns, message in (
        (_columns((0, 2)), "label 2; .* 2 classes"),
        (_columns(boxes=boxes), "every number must be finite"),
        (_columns(boxes=nowhere), "every number must be finite"),
        (
          _columns(image_id=np.array([7, 8])),
          "the ground truth has no image 8",
        ),
      ):
        with self.assertRaisesRegex(errors.UserError, message):
          _numbers(columns, dataset)


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


_TRUTH = {
  "images": [{"id": 4, "width": 50, "height": 40}],
  "categories": [{"id": 1, "name": "cat"}, {"id": 7, "name": "dog"}],
  "annotations": [
    {"id": 1, "image_id": 4, "category_id": 7, "bbox": [5.0, 5, 20, 20]},
    {"id": 2, "image_id": 4, "category_id": 1, "bbox": [30.0, 5, 9, 9]},
    {
      "id": 3,
      "image_id": 4,
      "category_id": 1,
      "bbox": [0, 0, 50, 40],
      "iscrowd": 1,
    },
  ],
}


def _drawn_boxes_columns(**more):
  boxes = [[5, 5, 25, 25], [5, 5, 25, 24], [0, 30, 9, 39], [0, 0, 0, 0]]
  return {
    "example_id": np.array(["a.png"]),
    "image_id": np.array([4]),
    "boxes": np.array([boxes], np.float32),
    "scores": np.array([[0.9, 0.8, 0.2, 0]], np.float32),
    "classes": np.array([[1, 1, 0, -1]], np.int16),
    **more,
  }


def _drawn(least=0.0, **more):
  return drawn_boxes.picture_overlays(
    "a.png", _drawn_boxes_columns(**more), _TRUTH, least
  )


class DrawnBoxesTest(absltest.TestCase):
  def test_an_object_is_hit_once(self):
    got = [(o.kind, o.text) for o in _drawn()]
    self.assertEqual(
      got,
      [
        ("hit", "dog 0.90"),
        ("wrong", "dog 0.80"),
        ("wrong", "cat 0.20"),
        ("missed", "cat"),
      ],
    )
    self.assertEqual(_drawn()[-1].box, (30, 5, 39, 14))

  def test_detections_below_the_limit_are_not_shown(self):
    kinds = [o.kind for o in _drawn(0.85)]
    self.assertEqual(kinds, ["hit", "missed"])

  def test_masks_are_cut_to_their_pixels(self):
    pixels = np.zeros((40, 50), bool)
    pixels[7:10, 6:20] = True
    text = rle.encode(pixels).counts
    masks = np.array([" ".join([text] * 3)])
    one = _drawn(masks=masks)[0]
    self.assertEqual(one.corner, (6, 7))
    self.assertEqual(one.mask.shape, (3, 14))
    self.assertTrue(one.mask.all())

  def test_the_score_of_the_best_f1(self):
    truth = checks.ground_truth(_TRUTH)
    least, f1 = drawn_boxes.best_score(_drawn_boxes_columns(), truth)
    self.assertAlmostEqual(least, 0.9)
    self.assertAlmostEqual(f1, 2 / 3)


_VALUES = {
  "noise": lambda rng, shape: rng.random(shape),
  "binary": lambda rng, shape: rng.random(shape) < 0.5,
  "a half": lambda rng, shape: np.full(shape, 0.5),
  "quarters": lambda rng, shape: rng.integers(0, 5, shape) / 4,
  "nearly a half": lambda rng, shape: 0.5 + rng.normal(0, 1e-7, shape),
  "large": lambda rng, shape: rng.normal(0, 1e5, shape),
  "full": lambda rng, shape: np.ones(shape),
}


def _boxes(rng, number, height, width):
  """Boxes of all sizes, many beyond the picture; some on whole pixels."""
  corners = rng.uniform(-1, 1.5, (number, 2)) * (width, height)
  sides = np.exp(rng.uniform(-8, 8, corners.shape))
  boxes = np.concatenate([corners, corners + sides], axis=1)
  boxes[::3] = np.rint(boxes[::3])
  return boxes.astype(np.float32)


def _pictures(masks, boxes, size):
  """The masks as bool `[D, height, width]`, from the places of changes."""
  owner, place = mask_outlines.changes(masks, boxes, size)
  changes = np.zeros((len(masks), size[0] * size[1] + 1), np.int64)
  np.add.at(changes, (owner, place), 1)
  inside = np.cumsum(changes, axis=1)[:, :-1] % 2 == 1
  return inside.reshape(-1, size[1], size[0]).swapaxes(1, 2)


class ChangesTest(parameterized.TestCase):
  """Where masks begin and end, against masks painted pixel by pixel."""

  def _check(self, masks, boxes, size):
    got = _pictures(masks, boxes, size)
    for picture, mask, box in zip(got, masks, boxes, strict=True):
      want = painted_mask.painted(mask, box, *size)
      np.testing.assert_array_equal(picture, want, str((box, size)))

  @parameterized.parameters(*_VALUES)
  def test_equal_to_painted_masks(self, values):
    rng = np.random.default_rng(0)
    for side in (1, 2, 3, 14, 28):
      for size in ((1, 1), (1, 90), (90, 1), (33, 57), (120, 90)):
        masks = _VALUES[values](rng, (9, side, side)).astype(np.float32)
        self._check(masks, _boxes(rng, 9, *size), size)

  @parameterized.parameters(
    ([2, 1, 6, 5], 16), ([-4, -4, 4, 4], 16), ([4, -2, 12, 6], 24),
    ([9, 0, 12, 8], 0), ([-9, 0, -1, 8], 0), ([3, 3, 3, 3], 0),
    ([0, 0, 8, 8], 64), ([-1e9, -1e9, 1e9, 1e9], 64), ([3.4, 0, 3.6, 8], 8),
    ([3.6, 0, 3.8, 8], 0), ([0, 2, 8, 3], 8),
  )  # fmt: skip
  def test_a_full_mask_fills_its_box(self, box, pixels):
    masks, boxes = np.ones((1, 4, 4)), np.array([box], np.float32)
    self.assertEqual(_pictures(masks, boxes, (8, 8)).sum(), pixels)
    self._check(masks, boxes, (8, 8))

  def test_columns_computed_or_scanned_are_the_same(self):
    rng = np.random.default_rng(1)
    masks = rng.random((20, 28, 28), np.float32)
    boxes, size = _boxes(rng, 20, 200, 150), (200, 150)
    want = _pictures(masks, boxes, size)
    with mock.patch.object(mask_outlines, "_LARGEST_VALUE", 0.0):
      np.testing.assert_array_equal(_pictures(masks, boxes, size), want)
    with mock.patch.object(mask_outlines, "_COLUMNS_AT_ONCE", 7):
      np.testing.assert_array_equal(_pictures(masks, boxes, size), want)


def _masks_outputs(rng, pictures, detections):
  """Random masks and boxes; each picture has one detection less."""
  corners = rng.uniform(-20, 60, (pictures, detections, 2))
  sides = rng.uniform(0, 60, corners.shape)
  place = np.arange(detections) + np.arange(pictures)[:, None]
  return {
    "boxes": np.concatenate([corners, corners + sides], -1).astype(np.float32),
    "classes": np.where(place < detections, 3, -1),
    "masks": rng.random((pictures, detections, 7, 7), np.float32),
  }


class MasksTest(absltest.TestCase):
  """Detected masks as run lengths: the texts of pictures, of many at once."""

  def test_one_word_a_detection(self):
    rng = np.random.default_rng(0)
    outputs, sizes = _masks_outputs(rng, 6, 5), rng.integers(1, 60, (6, 2))
    rows = [0, 2, 3, 5]
    texts = masks.texts(outputs, rows, sizes)
    self.assertLen(texts, 4)
    for i, text in zip(rows, texts):
      self.assertEqual(text, masks.run_lengths(outputs, i, sizes[i]))
      height, width = sizes[i].tolist()
      want = [
        rle.encode(painted_mask.painted(mask, box, height, width)).counts
        for mask, box in zip(outputs["masks"][i], outputs["boxes"][i])
      ]
      self.assertEqual(text.split(" ") if text else [], want[: 5 - i])

  def test_detections_end_at_the_first_that_is_none(self):
    outputs = _masks_outputs(np.random.default_rng(0), 1, 3)
    outputs["classes"] = np.array([[1, -1, 1]])
    text = masks.run_lengths(outputs, 0, np.array([9, 9]))
    self.assertLen(text.split(" "), 1)

  def test_texts_of_detectors_on_the_host(self):
    outputs = {
      "classes": np.array([[3, 1, -1], [-1, -1, -1]]),
      "masks": np.array([["22", "04", ""], ["", "", ""]], np.object_),
    }
    sizes = np.array([[2, 2], [2, 2]])
    self.assertEqual(masks.texts(outputs, [0, 1], sizes), ["22 04", ""])
