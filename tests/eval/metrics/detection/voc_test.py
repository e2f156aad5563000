"""VOC AP50 against two independent implementations' numbers."""

from absl.testing import parameterized

from eval.metrics import detection
from tests import shared_data


def _cases():
  return sorted(p.name for p in shared_data.golden("detection/voc").iterdir())


class GoldenTest(parameterized.TestCase):
  @parameterized.product(
    case=_cases(), rule=("plus_one", "no_plus_one"), kind=("11point", "area")
  )
  def test_stored_numbers(self, case, rule, kind):
    folder = "detection", "voc", case
    want = shared_data.golden_json(*folder, "expected.json")["expected"][rule]
    data = shared_data.golden_json(*folder, "data.json.gz")
    got = detection.voc_ap50(
      data["gt"],
      data["dt"],
      data["classes"],
      interpolation=kind,
      plus_one=rule == "plus_one",
    )
    for name, stored in want["per_class"].items():
      value = stored[f"AP50_{kind}"]
      if value is None or not stored["num_gt"]:
        self.assertNotEqual(got["per_class"][name], got["per_class"][name])
      else:
        self.assertAlmostEqual(got["per_class"][name], value, delta=1e-9)
    self.assertAlmostEqual(got["mean"], want[f"mAP50_{kind}"], delta=1e-9)


class RulesTest(parameterized.TestCase):
  def _ap(self, gt, dt, **options):
    return detection.voc_ap50(gt, dt, ["cat", "dog"], **options)

  def _row(self, box, label="cat", score=None, **more):
    row = {"image": "a", "label": label, "bbox": box, **more}
    return row if score is None else {**row, "score": score}

  def test_the_second_of_two_hits_is_wrong(self):
    gt = [self._row([0, 0, 9, 9])]
    dt = [self._row([0, 0, 9, 9], score=s) for s in (0.9, 0.8)]
    self.assertEqual(self._ap(gt, dt)["mean"], 1.0)
    gt.append(self._row([50, 50, 59, 59]))
    got = self._ap(gt, dt, interpolation="area")
    self.assertEqual(got["mean"], 0.5)

  def test_difficult_objects_are_ignored(self):
    gt = [self._row([0, 0, 9, 9], difficult=1), self._row([20, 20, 29, 29])]
    dt = [
      self._row([0, 0, 9, 9], score=0.9),
      self._row([20, 20, 29, 29], score=0.8),
    ]
    self.assertEqual(self._ap(gt, dt)["mean"], 1.0)

  def test_a_class_without_objects_does_not_count(self):
    got = self._ap([self._row([0, 0, 9, 9])], [])
    self.assertEqual(got["mean"], 0.0)
    self.assertNotEqual(got["per_class"]["dog"], got["per_class"]["dog"])

  def test_labels_may_be_positions(self):
    gt = [self._row([0, 0, 9, 9], label=1)]
    dt = [self._row([0, 0, 9, 9], label="dog", score=1.0)]
    self.assertEqual(self._ap(gt, dt)["per_class"]["dog"], 1.0)

  @parameterized.parameters(
    ({"label": "cow"}, "label 'cow'"),
    ({"label": 5}, "label 5"),
    ({"score": float("nan")}, "score nan"),
    ({"bbox": [5, 5, float("nan"), 9]}, "finite numbers"),
    ({"bbox": [5, 5, 9]}, "bbox"),
    ({"bbox": None}, r"Detection 0 \(image .*: bbox .* got None"),
    ({"bbox": [5, 5, "9", 9]}, "bbox"),
    ({"label": True}, "label True"),
    ({"label": ["dog"]}, "label .'dog'."),
    ({"score": "0.5"}, "score '0.5'"),
    ({"score": True}, "score True"),
    ({"score": None}, "score None"),
    ({"image": None}, "Detection 0: image is a name or a number"),
  )
  def test_refusals(self, change, message):
    gt = [self._row([0, 0, 9, 9])]
    dt = [{**self._row([0, 0, 9, 9], score=0.5), **change}]
    with self.assertRaisesRegex(ValueError, message):
      self._ap(gt, dt)
    with self.assertRaisesRegex(ValueError, "x1 <= x2"):
      self._ap([self._row([5, 5, 1, 9])], [])
    with self.assertRaisesRegex(ValueError, "difficult is 0 or 1, got 'may"):
      self._ap([self._row([0, 0, 9, 9], difficult="maybe")], [])
    with self.assertRaisesRegex(ValueError, "Object 0 has no 'bbox'"):
      self._ap([{"image": 1, "label": "dog"}], [])
    for classes in ("cat", [], ["cat", "cat"], None):
      with self.assertRaisesRegex(ValueError, "different class names"):
        detection.voc_ap50([], [], classes)
    with self.assertRaisesRegex(ValueError, "11point"):
      self._ap(gt, [], interpolation="12point")
