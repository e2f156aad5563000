"""COCO AP against pycocotools' stored numbers, with both backends."""

import copy
import itertools
import os
import signal

import numpy as np
from absl.testing import parameterized

from eval.metrics import detection
from eval.metrics.detection import coco
from tests import quick, shared_data

CASES = (
  "all_ties",
  "boundaries",
  "crowd_heavy",
  "gt_id_zero",
  "many_dets",
  "no_gt",
  "one_false_positive",
  "perfect",
  "ties_200x10",
  "typical_200x10",
)


# Large ones are scored by the quicker backend alone.
_SLOW = [(case, coco.BACKENDS[0]) for case in CASES[-2:]]
_QUICK = [
  row for row in itertools.product(CASES, coco.BACKENDS) if row not in _SLOW
]


def stored(case, name):
  """A file of a case that pycocotools scored."""
  return shared_data.golden_json("detection", "coco", case, name)


class GoldenTest(parameterized.TestCase):
  @quick.cases(_QUICK, _SLOW)
  def test_stored_numbers(self, case, backend):
    gt = stored(case, "gt.json.gz")
    for iou_type, want in stored(case, "expected.json")["expected"].items():
      dt = stored(case, f"dt_{iou_type}.json.gz")
      if case == "gt_id_zero":
        # Stored with pycocotools' trap; renumbered the object counts.
        self._id_zero(gt, dt, iou_type, want, backend)
        continue
      self._near(want, gt, dt, iou_type, backend)

  def _near(self, want, gt, dt, iou_type, backend):
    def check(got, stored):
      for name, value in stored.items():
        self.assertAlmostEqual(got[name], value, delta=1e-9)

    got = detection.coco_ap(gt, dt, iou_type, backend=backend)
    check(got, want["stats"])
    self.assertEqual(
      sorted(got["per_class"]), sorted(map(int, want["per_class"]))
    )
    for i, stored in want["per_class"].items():
      check(got["per_class"][int(i)], stored)
    got = detection.coco_ap(
      gt, dt, iou_type, use_categories=False, backend=backend
    )
    check(got, want["class_agnostic_stats"])
    self.assertEmpty(got["per_class"])
    half = sorted(i["id"] for i in gt["images"])[::2]
    got = detection.coco_ap(gt, dt, iou_type, image_ids=half, backend=backend)
    check(got, want["subset_imgIds_sorted_even_positions"])
    got = detection.coco_ap(
      gt, dt, iou_type, iou_thresholds=[0.5], backend=backend
    )
    self.assertAlmostEqual(got["AP"], want["iouThrs_0.5_only_AP"], delta=1e-9)
    self.assertEqual(got["AP75"], -1)

  def _id_zero(self, gt, dt, iou_type, want, backend):
    self.assertIn(0, {a["id"] for a in gt["annotations"]})
    shifted = copy.deepcopy(gt)
    for a in shifted["annotations"]:
      a["id"] += 1
    one, two = (
      detection.coco_ap(g, dt, iou_type, backend=backend) for g in (gt, shifted)
    )
    self.assertEqual(one, two)
    self.assertGreaterEqual(one["AP"], want["stats"]["AP"])

  def test_backends_agree_where_an_annotation_has_id_0(self):
    gt = stored("gt_id_zero", "gt.json.gz")
    for iou_type in ("bbox", "segm"):
      dt = stored("gt_id_zero", f"dt_{iou_type}.json.gz")
      one, two = (
        detection.coco_ap(gt, dt, iou_type, backend=b) for b in coco.BACKENDS
      )
      for name in coco.STATS:
        self.assertAlmostEqual(one[name], two[name], delta=1e-9)

  @parameterized.parameters(*coco.BACKENDS)
  def test_arrays_equal_lists(self, backend):
    gt = stored("typical_200x10", "gt.json.gz")
    dt = stored("typical_200x10", "dt_bbox.json.gz")
    array = np.array(
      [[d["image_id"], *d["bbox"], d["score"], d["category_id"]] for d in dt]
    )
    self.assertEqual(
      detection.coco_ap(gt, dt, backend=backend),
      detection.coco_ap(gt, array, backend=backend),
    )


def _tiny():
  gt = {
    "images": [{"id": 1, "width": 40, "height": 30}],
    "categories": [{"id": 7, "name": "cat"}],
    "annotations": [
      {"id": 0, "image_id": 1, "category_id": 7, "bbox": [2, 2, 10, 10]}
    ],
  }
  dt = [{"image_id": 1, "category_id": 7, "bbox": [2, 2, 10, 10], "score": 0.5}]
  return gt, dt


def _exit_code(run) -> int:
  """Of a forked child: C code that crashes takes nobody with it."""
  child = os.fork()
  if not child:
    signal.alarm(30)
    try:
      run()
    except BaseException:
      os._exit(1)
    os._exit(0)
  return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class InputTest(parameterized.TestCase):
  @parameterized.parameters(*coco.BACKENDS)
  def test_empty_and_perfect(self, backend):
    gt, dt = _tiny()
    perfect = detection.coco_ap(gt, dt, backend=backend)
    self.assertAlmostEqual(perfect["AP"], 1.0)
    for nothing in ([], np.zeros((0, 7))):
      got = detection.coco_ap(gt, nothing, backend=backend)
      self.assertEqual(got["AP"], 0.0)
      self.assertEqual(got["APl"], -1.0)
    gt["annotations"] = []
    self.assertEqual(detection.coco_ap(gt, dt, backend=backend)["AP"], -1.0)

  @parameterized.parameters(*coco.BACKENDS)
  def test_an_object_of_zero_area_stays_an_object(self, backend):
    gt, dt = _tiny()
    gt["annotations"].append(
      {"id": 5, "image_id": 1, "category_id": 7, "bbox": [5, 5, 0, 3]}
    )
    got = detection.coco_ap(gt, dt, backend=backend)
    self.assertEqual(got["AR100"], 0.5)

  def test_nothing_given_is_changed(self):
    gt, dt = _tiny()
    before = copy.deepcopy((gt, dt))
    detection.coco_ap(gt, dt)
    self.assertEqual((gt, dt), before)

  @parameterized.parameters(
    ("annotations", "image_id", 9, "Annotation 0 is of image 9"),
    ("annotations", "category_id", 1, "Annotation 0 is of category 1"),
    ("annotations", "bbox", [0, 0, -1, 2], "sides >= 0"),
    ("annotations", "bbox", [0, 0, float("nan"), 2], "finite"),
    ("annotations", "bbox", [0, 0, 1], r"bbox \[x, y, w, h\] expected"),
    ("annotations", "bbox", [50, 2, 9, 9], "lies outside its image of 40 x 30"),
    ("annotations", "iscrowd", "yes", "Annotation 0: iscrowd is 0 or 1"),
    ("annotations", "area", float("nan"), "Annotation 0 has the area nan"),
    ("annotations", "area", -1, "Annotation 0 has the area"),
    ("annotations", "id", 1.5, "id is a whole number"),
    ("annotations", "image_id", 1.5, "image_id is a whole number"),
    ("annotations", "category_id", True, "category_id is a whole number"),
    ("images", "width", "40", "Image 0: height and width"),
    ("dt", "image_id", 9, "Detection 0 is of image 9"),
    ("dt", "category_id", 1, "Detection 0 is of category 1, .* Its ids: 7"),
    ("dt", "score", float("nan"), "score nan"),
    ("dt", "score", float("inf"), "score inf; scores must be finite"),
    ("dt", "score", True, "Detection 0 has the score True"),
    ("dt", "score", "0.5", "Detection 0 has the score '0.5'"),
    ("dt", "bbox", [1, 2, 3], "expected, got"),
    ("dt", "bbox", [1, 1, -2, 3], "sides >= 0"),
    ("dt", "bbox", None, "expected, got None"),
    ("dt", "bbox", [0, 0, 1e30, 1], "Detection 0: bbox"),
  )
  def test_refusals(self, where, key, value, message):
    gt, dt = _tiny()
    (dt if where == "dt" else gt[where])[0][key] = value
    with self.assertRaisesRegex(ValueError, message):
      detection.coco_ap(gt, dt)

  def test_masks_of_another_size(self):
    gt, dt = _tiny()
    gt["annotations"][0]["segmentation"] = [[2, 2, 12, 2, 12, 12, 2, 12]]
    with self.assertRaisesRegex(ValueError, "has no segmentation"):
      detection.coco_ap(gt, dt, "segm")
    turned = {"size": [40, 30], "counts": "04000"}
    for row, name in (
      (dt[0], "Detection 0"),
      (gt["annotations"][0], "Ann.* 1"),
    ):
      row["segmentation"] = turned
      with self.assertRaisesRegex(
        ValueError, rf"{name}: seg.* is \(40, 30\), the image's \(30, 40\)"
      ):
        detection.coco_ap(gt, dt, "segm")

  @parameterized.product(
    segmentation=(
      [[0, 0, 1e9, 0, 1e9, 1e9]],
      [[0, 0, float("nan"), 0, 9, 9]],
      [[1, 2, 3, 4, 5, 6, 7]],
      {"size": [30, 40], "counts": "2P"},
      {"size": [30, 40], "counts": "garbage \x7f"},
      {"size": [30, 40], "counts": [5, 50_000_000]},
      {"size": [30, 40], "counts": [-5, 1205]},
      {"size": [30, 40], "counts": ""},
      "abc",
    ),
    where=("annotations", "dt"),
    backend=coco.BACKENDS,
  )
  def test_masks_that_no_tool_may_be_given(self, segmentation, where, backend):
    gt, dt = _tiny()
    gt["annotations"][0]["segmentation"] = [[2, 2, 12, 2, 12, 12, 2, 12]]
    dt[0]["segmentation"] = {"size": [30, 40], "counts": [0, 1200]}
    detection.coco_ap(gt, dt, "segm", backend=backend)
    (dt if where == "dt" else gt[where])[0]["segmentation"] = segmentation
    name = "Detection 0" if where == "dt" else "Annotation 1"

    def score():
      with self.assertRaisesRegex(ValueError, f"{name}: segmentation: "):
        detection.coco_ap(gt, dt, "segm", backend=backend)

    self.assertEqual(_exit_code(score), 0)

  @parameterized.parameters(*coco.BACKENDS)
  def test_what_is_legitimate(self, backend):
    gt, dt = _tiny()
    perfect = detection.coco_ap(gt, dt, backend=backend)
    gt["images"].append({"id": 2, "width": 5, "height": 5})  # without objects
    gt["images"][0]["id"] = np.int64(1)
    gt["annotations"][0] |= {"image_id": 1.0, "iscrowd": False, "area": 100}
    dt[0] |= {"score": np.float32(7), "bbox": np.array([2.0, 2, 10, 10])}
    dt.append({**dt[0], "score": -3, "bbox": [-500, 2, 2e4, 0]})
    got = detection.coco_ap(gt, dt, backend=backend)
    self.assertEqual(got["AP"], perfect["AP"])

  def test_ids_given_twice(self):
    for part in ("annotations", "images", "categories"):
      gt, dt = _tiny()
      gt[part] = gt[part] * 2
      with self.assertRaisesRegex(ValueError, "entries have the id"):
        detection.coco_ap(gt, dt)

  def test_other_refusals(self):
    gt, dt = _tiny()
    thresholds = [], [0], [0.9, 0.5], ["a"], [float("nan")], 0.5, [[1], 2]
    for option, values, message in (
      ("iou_type", ["box"], "'bbox' or 'segm'"),
      ("backend", ["fast"], "backend is one of"),
      ("image_ids", [[1, 5]], "no image 5"),
      ("image_ids", ["1", 1, [True], [[1]], [1.5], [1, None]], "image_ids"),
      ("iou_thresholds", thresholds, "iou_thresholds: increasing"),
    ):
      for value in values:
        with self.assertRaisesRegex(ValueError, message):
          detection.coco_ap(gt, dt, **{option: value})
    unknown = np.array([[1, 0, 0, 5, 5, 0.5, 8.0]])
    for truth, detections, message in (
      *((t, dt, "ground truth has no") for t in (None, "gt.json", [])),
      ({**gt, "images": None}, dt, "images: a list"),
      *((t, dt, "it is no COCO dict") for t in ({}, {"images": []})),
      *((gt, d, "Detection") for d in (None, "dt.json", {}, [[1]], 5)),
      (gt, np.zeros((3, 6)), r"\[N, 7\]"),
      (gt, unknown, "known to the ground truth"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        detection.coco_ap(truth, detections)
