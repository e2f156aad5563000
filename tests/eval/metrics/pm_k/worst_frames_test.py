"""Detection pm-k against pycocotools' goldens, and its rules by hand."""

import math

from absl.testing import parameterized

from eval.metrics import pm_k
from robust_tfds import errors
from tests import shared_data


def _object(image, category=1, box=(0, 0, 10, 10), **more):
  return {"image_id": image, "category_id": category, "bbox": box, **more}


def _alone(anchor):
  return {"anchor": anchor, "candidates": []}


class GoldenTest(parameterized.TestCase):
  @parameterized.product(
    case=("small_k3", "typical"), class_agnostic=(False, True)
  )
  def test_own_cases(self, case, class_agnostic):
    folder = "detection", "pmk", case
    data = shared_data.golden_json(*folder, "data.json.gz")
    expected = shared_data.golden_json(*folder, "expected.json")
    kind = "localisation_class_agnostic" if class_agnostic else "detection"
    options = {"iou": expected["iou_threshold"]}
    options["class_agnostic"] = class_agnostic
    got = pm_k.detection(
      data["gt"], data["dt"], data["anchors"], data["frame_index"], **options
    )
    want = expected[kind]
    self.assertAlmostEqual(got["map_orig"], want["mAP_original"], delta=1e-9)
    self.assertAlmostEqual(got["map_pmk"], want["mAP_pmk"], delta=1e-9)
    self.assertEqual(
      {str(k): v for k, v in got["selected"].items()}, want["selected"]
    )
    aps = pm_k.frame_ap(data["gt"], data["dt"], **options)
    for image, ap in want["per_frame_AP"].items():
      self.assertAlmostEqual(aps[int(image)], ap, delta=1e-9)

  @parameterized.product(case=(0, 1, 2), kind=("detection", "localization"))
  def test_pycocotools(self, case, kind):
    stored = shared_data.golden_json("video", "detection_pmk_golden.json")
    data = stored["cases"][case]
    gt = [
      _object(int(image), row[0], row[1:])
      for image, rows in data["gt"].items()
      for row in rows
    ]
    dt = [
      _object(int(image), row[0], row[1:5], score=row[5])
      for image, rows in data["detections"].items()
      for row in rows
    ]
    anchors = [
      {"anchor": int(a), "candidates": c} for a, c in data["sets"].items()
    ]
    got = pm_k.detection(
      gt,
      dt,
      anchors,
      {int(i): int(i) for i in data["gt"]},
      iou=data["iou"],
      class_agnostic=kind == "localization",
    )
    want = data["expected"][kind]
    self.assertAlmostEqual(got["map_orig"], want["mAP_original"], delta=1e-9)
    self.assertAlmostEqual(got["map_pmk"], want["mAP_pmk"], delta=1e-9)
    self.assertEqual(
      {str(k): v for k, v in got["selected"].items()}, want["worst"]
    )


class RulesTest(parameterized.TestCase):
  def test_worst_frame_is_chosen(self):
    gt = [_object(i) for i in (1, 2, 3)]
    dt = [_object(1, score=0.9), _object(3, score=0.9)]
    got = pm_k.detection(
      gt, dt, [{"anchor": 1, "candidates": [2, 3]}], {1: 5, 2: 6, 3: 4}
    )
    self.assertEqual(got["selected"], {1: 2})
    self.assertAlmostEqual(got["map_orig"], 1.0)
    self.assertEqual(got["map_pmk"], 0.0)

  @parameterized.parameters(
    ({1: 5, 2: 4, 3: 6}, 2), ({1: 5, 2: 7, 3: 6}, 3), ({1: 5, 2: 6, 3: 4}, 3)
  )
  def test_ties_go_to_the_nearest_then_the_earlier(self, index, chosen):
    gt = [_object(i) for i in (1, 2, 3)]
    dt = [_object(1, score=0.9)]
    got = pm_k.detection(gt, dt, [{"anchor": 1, "candidates": [3, 2]}], index)
    self.assertEqual(got["selected"], {1: chosen})

  def test_frames_without_objects_are_no_candidates(self):
    crowd = _object(3, iscrowd=1)
    got = pm_k.detection(
      [_object(1), crowd],
      [_object(1, score=1.0), _object(2, score=1.0)],
      [{"anchor": 1, "candidates": [2, 3]}],
      {1: 1, 2: 2, 3: 3},
    )
    self.assertEqual(got["selected"], {1: 1})

  def test_no_objects_at_all(self):
    got = pm_k.detection([], [], [_alone(1)], {1: 1})
    self.assertEqual(got["selected"], {1: 1})
    self.assertTrue(math.isnan(got["map_orig"]))

  def test_classes_merge(self):
    gt, dt = [_object(1, 1)], [_object(1, 2, score=1.0)]
    anchors = [_alone(1)]
    self.assertEqual(pm_k.detection(gt, dt, anchors, {1: 1})["map_orig"], 0)
    merged = pm_k.detection(gt, dt, anchors, {1: 1}, class_agnostic=True)
    self.assertAlmostEqual(merged["map_orig"], 1.0)

  def test_a_crowd_absorbs(self):
    gt = [_object(1, box=(100, 100, 50, 50), iscrowd=1), _object(1)]
    inside = [_object(1, box=(110, 110, 5, 5), score=0.9)] * 3
    ap = pm_k.frame_ap(gt, [*inside, _object(1, score=0.1)])
    self.assertAlmostEqual(ap[1], 1.0)

  @parameterized.parameters(
    ({"anchors": []}, "at least one anchor"),
    ({"anchors": [_alone(1), _alone(1)]}, "given twice"),
    ({"anchors": [{"anchor": 1}]}, "anchors, entry 0"),
    (
      {"anchors": [{"anchor": 1, "candidates": "12"}]},
      "must be a list of image",
    ),
    ({"frame_index": {}}, "no frame index"),
    ({"frame_index": {1: math.nan}}, "index of image 1 must be a whole number"),
    ({"frame_index": [1]}, "frame_index must be a dict"),
    ({"iou": 50}, r"iou must lie in \(0, 1\], got 50"),
    ({"iou": math.nan}, "iou must be a finite number"),
    ({"class_agnostic": "no"}, "class_agnostic must be True or False"),
    ({"gt": [{"image_id": 1}]}, "gt, row 0: 'bbox' is missing"),
    ({"gt": {"annotations": []}}, "take its 'annotations'"),
    ({"gt": [{"iscrowd": "yes"}]}, "gt, row 0"),
    (
      {"gt": [_object(1, box=(0, 0, math.inf, 1))]},
      "box of image 1 is not finite",
    ),
    ({"dt": [{"category_id": 1.5}]}, "dt, row 0"),
    ({"dt": [_object(7, score=1.0)]}, "image 7, which has no frame"),
  )
  def test_refuses_arguments(self, change, message):
    self._refused(change, message)

  @parameterized.parameters(
    ({"bbox": [0, 0, 5]}, r"is not \[x, y, w, h\]"),
    ({"bbox": [0, 0, -5, 5]}, "width or height is below 0"),
    ({"bbox": [0, 0, 1e300, 1]}, "is not finite"),
    ({"image_id": 1.0}, "image_id must be a whole number or a text, got 1.0"),
    ({"category_id": None}, "category_id must be"),
    ({"category_id": "1"}, "category_id: all ids must be"),
    ({"score": math.nan}, "score of image 1 is no finite"),
    ({"score": "high"}, "is no finite number"),
    ({"score": None}, "is no finite number"),
    ({"iscrowd": 2}, "iscrowd must be 0 or 1, got 2"),
  )
  def test_refuses_fields(self, change, message):
    self._refused({"dt": [{**_object(1, score=0.5), **change}]}, message)

  def _refused(self, change, message):
    arguments = {"gt": [_object(1)], "dt": [], "anchors": [_alone(1)]}
    arguments |= {"frame_index": {1: 0}, **change}
    with self.assertRaisesRegex(errors.UserError, message):
      pm_k.detection(**arguments)
