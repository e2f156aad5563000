"""AP of VOC and of the benchmark, and what both leave out."""

import itertools

import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics import detection
from eval.metrics.detection import (
  benchmark,
  checks,
  coco,
  left_out,
  objects,
  voc,
)
from tests import quick, shared_data
from tests.eval.metrics import own_row
from tests.eval.metrics.detection import coco_test


def _cases():
  return sorted(p.name for p in shared_data.golden("detection/voc").iterdir())


class GoldenTest(parameterized.TestCase):
  """VOC AP50 against two independent implementations' numbers."""

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


def _cells():
  rng = np.random.default_rng(0)
  return {n: rng.uniform(0, 0.5, 5).tolist() for n in benchmark.names("all")}


class SummarizeTest(parameterized.TestCase):
  """P, mPC, rPC, and the distance of corrupted from clean images."""

  @parameterized.parameters(*benchmark.scopes())
  def test_definitions(self, scope):
    cells = _cells()
    shuffled = dict(reversed(cells.items()))
    got = detection.summarize(shuffled, 0.6, scope)
    names = benchmark.names(scope)
    mpc = np.mean([cells[n] for n in names])
    self.assertAlmostEqual(got["mpc"], mpc, delta=1e-12)
    self.assertAlmostEqual(got["rpc"], mpc / 0.6, delta=1e-12)
    self.assertEqual(got["p"], 0.6)
    self.assertEqual(list(got["per_corruption"]), list(names))

  def test_refusals(self):
    cells = _cells()
    del cells["fog"]
    with self.assertRaisesRegex(ValueError, "needs fog"):
      detection.summarize(cells, 0.5)
    detection.summarize(cells, 0.5, "validation")
    for value, message in (
      ([0.1] * 4, "got 4"),
      ([0.1, 0.2, None, 0.1, 0.1], "fog, severity 3"),
      ([0.1, 0.2, np.nan, 0.1, 0.1], "fog, severity 3"),
      ([0.1, 0.2, -1, 0.1, 0.1], "fog, severity 3"),
      ([10, 20, 30, 40, 50], "percent"),
      (["0.1"] * 5, "fog, severity 1: the cell holds '0.1'"),
      ([[[1], [1, 2]]] * 5, "fog, severity 1: the cell holds"),
      ([True] * 5, "fog, severity 1: the cell holds True"),
      (0.1, "fog: performance at severities 1-5 expected, got 0.1"),
      (None, "fog: performance at severities 1-5 expected, got None"),
      (np.zeros((5, 1)), "fog, severity 1: the cell holds array"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        detection.summarize({**cells, "fog": value}, 0.5)
    cells = _cells()
    for arguments, message in (
      (({**cells, "fogg": [0.1] * 5}, 0.5), "Did you mean 'fog'"),
      *(
        ((cells, clean), "clean: the cell holds")
        for clean in (None, "0.5", np.zeros(5), 50, np.nan)
      ),
      (([], 0.5), "cells: a dict .* got list"),
      ((cells, 0.5, None), "Unknown scope None"),
      ((cells, 0.5, "benchmrk"), "Did you mean 'benchmark'"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        detection.summarize(*arguments)

  def test_a_model_that_sees_nothing_has_no_rpc(self):
    got = detection.summarize(
      {n: [0.0] * 5 for n in benchmark.names("all")}, 0.0
    )
    self.assertEqual(got["mpc"], 0.0)
    self.assertTrue(np.isnan(got["rpc"]))


class OwnConditionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    own_row.add(self)

  def test_it_enters_no_published_mean(self):
    flat = {n: [0.25] * 5 for n in benchmark.names("all")}
    for scope in benchmark.scopes():
      self.assertNotIn("invert", benchmark.names(scope))
      after = detection.summarize({**flat, "invert": [0.0] * 5}, 0.5, scope)
      self.assertEqual(after, detection.summarize(flat, 0.5, scope))


def _numbers(gt, dt, iou_type, blocks):
  truth = checks.ground_truth(gt, iou_type)
  ids = np.array(sorted(truth.sizes), np.int64)
  return left_out.coco_numbers(
    objects.truth_objects(truth, ids, iou_type),
    objects.detected(checks.detections(truth, dt, iou_type), truth, ids),
    blocks,
    len(truth.category_ids),
  )


def _backend(gt, dt, iou_type, ids=None, backend=""):
  numbers = detection.coco_ap(
    gt, dt, iou_type, image_ids=ids, backend=backend or coco.fastest()
  )
  return {name: numbers[name] for name in coco.STATS}


class CocoTest(parameterized.TestCase):
  @quick.cases(coco_test.CASES[:4], coco_test.CASES[4:])
  def test_every_golden_and_every_block_of_it(self, case):
    gt = coco_test.stored(case, "gt.json.gz")
    ids = sorted(i["id"] for i in gt["images"])
    blocks = np.random.default_rng(1).permutation(len(ids)) % min(5, len(ids))
    for iou_type in coco_test.stored(case, "expected.json")["expected"]:
      dt = coco_test.stored(case, f"dt_{iou_type}.json.gz")
      got = _numbers(gt, dt, iou_type, blocks)
      self.assertEqual(set(got), set(coco.STATS))
      self._equal(got, 0, _backend(gt, dt, iou_type))
      for block in range(blocks.max() + 1):
        rest = [i for i, b in zip(ids, blocks) if b != block]
        if rest:
          self._equal(got, 1 + block, _backend(gt, dt, iou_type, rest))

  def _equal(self, got, place, expected):
    for name, value in expected.items():
      ours = got[name][place]
      ours = -1.0 if np.isnan(ours) else ours
      self.assertAlmostEqual(ours, value, delta=1e-9, msg=name)

  @quick.cases(
    itertools.product(range(4), coco.BACKENDS),
    itertools.product(range(4, 8), coco.BACKENDS),
  )
  def test_made_up_pictures_full_of_ties_and_crowds(self, seed, backend):
    gt, dt = _made_up(seed)
    blocks = np.arange(len(gt["images"])) % 3
    got = _numbers(gt, dt, "bbox", blocks)
    self._equal(got, 0, _backend(gt, dt, "bbox", backend=backend))
    rest = [i["id"] for i, b in zip(gt["images"], blocks) if b != 1]
    self._equal(got, 2, _backend(gt, dt, "bbox", rest, backend))

  def test_a_class_without_objects_left_is_left_out_of_the_mean(self):
    box, other = [10, 10, 20, 20], [100, 100, 50, 50]
    gt = _gt([(1, 1, box, 0), (2, 2, box, 0)], images=2)
    dt = _dt([(1, 1, box, 0.9), (2, 2, other, 0.9)])
    got = _numbers(gt, dt, "bbox", np.array([0, 1]))
    np.testing.assert_allclose(got["AP"][:3], [0.5, 0.0, 1.0])

  def test_no_detections(self):
    gt = _gt([(1, 1, [1, 1, 9, 9], 0)], images=2)
    got = _numbers(gt, [], "bbox", np.array([0, 1]))
    np.testing.assert_array_equal(got["AP"][:3], [0.0, np.nan, 0.0])


class VocTest(parameterized.TestCase):
  @parameterized.parameters(*range(6))
  def test_every_block(self, seed):
    rng = np.random.default_rng(seed)
    gt = [
      _voc_row(rng) | {"difficult": int(rng.random() < 0.2)} for _ in range(80)
    ]
    dt = [_voc_row(rng) | {"score": rng.integers(9) / 9} for _ in range(200)]
    dt += [
      {k: g[k] for k in ("image", "label", "bbox")} | {"score": rng.random()}
      for g in gt[::2]
    ]
    blocks = np.arange(20) % 4
    matched = voc.match(
      _boxes(gt),
      np.array([g["difficult"] for g in gt], bool),
      _boxes(dt),
      np.array([d["score"] for d in dt]),
    )
    got = left_out.voc_ap50(matched, blocks, 3)
    for place in range(5):
      rest = [i for i in range(20) if blocks[i] != place - 1]
      expected = detection.voc_ap50(
        [g for g in gt if g["image"] in rest],
        [d for d in dt if d["image"] in rest],
        ["a", "b", "c"],
      )
      self.assertAlmostEqual(got[place], expected["mean"], delta=1e-12)


class HalvesTest(parameterized.TestCase):
  def test_pairs_of_halves_share_the_blocks(self):
    for blocks in (2, 7, 100):
      halves = left_out.half_membership(blocks)
      np.testing.assert_array_equal(halves[:, ::2] + halves[:, 1::2], 1)
      sizes = halves.sum(axis=0)
      self.assertLessEqual(sizes.max() - sizes.min(), 1)
    self.assertGreater(len({tuple(c) for c in halves.T}), 2)
    self.assertEqual(left_out.half_membership(1).shape, (1, 0))

  @parameterized.parameters(*range(4))
  def test_each_is_what_the_tools_say_of_its_pictures(self, seed):
    gt, dt = _made_up(seed)
    blocks = np.arange(len(gt["images"])) % 6
    got = _numbers(gt, dt, "bbox", blocks)
    for place, half in enumerate(left_out.half_membership(6).T, 7):
      pairs = zip(gt["images"], blocks)
      shown = [i["id"] for i, block in pairs if half[block]]
      expected = _backend(gt, dt, "bbox", shown)
      for name in ("AP", "AP50", "AR10"):
        self.assertAlmostEqual(got[name][place], expected[name], delta=1e-9)

  def test_a_class_of_one_half_alone_counts_in_both(self):
    box, other = [10, 10, 20, 20], [100, 100, 50, 50]
    gt = _gt([(1, 1, box, 0), (1, 2, box, 0), (2, 2, box, 0)], images=2)
    dt = _dt([(1, 1, box, 0.9), (1, 2, box, 0.8), (2, 2, other, 0.9)])
    got = _numbers(gt, dt, "bbox", np.array([0, 1]))
    # Class 1 is of the first picture alone: 1 in both halves.
    np.testing.assert_allclose(np.unique(got["AP"][3:]), [0.5, 1.0])


def _voc_row(rng):
  corner = rng.integers(0, 20, 2)
  far = corner + rng.integers(8, 16, 2)
  return {
    "image": int(rng.integers(20)),
    "label": int(rng.integers(3)),
    "bbox": [*corner.tolist(), *far.tolist()],
  }


def _boxes(rows):
  return voc.Boxes(
    np.array([r["image"] for r in rows]),
    np.array([r["label"] for r in rows]),
    np.array([r["bbox"] for r in rows], np.float64),
  )


def _gt(rows, images):
  return {
    "images": [
      {"id": i, "width": 400, "height": 400} for i in range(1, images + 1)
    ],
    "categories": [{"id": 2, "name": "b"}, {"id": 1, "name": "a"}],
    "annotations": [
      {
        "id": i,
        "image_id": image,
        "category_id": label,
        "bbox": box,
        "area": box[2] * box[3],
        "iscrowd": crowd,
      }
      for i, (image, label, box, crowd) in enumerate(rows, 1)
    ],
  }


def _dt(rows):
  return [
    {"image_id": i, "category_id": c, "bbox": b, "score": s}
    for i, c, b, s in rows
  ]


def _made_up(seed):
  """Whole-numbered boxes in few places: equal overlaps and scores abound."""
  rng = np.random.default_rng(seed)

  def row(last):
    box = [*(4 * rng.integers(0, 4, 2)), *(8 * rng.integers(1, 16, 2))]
    image, label = rng.integers(1, 13), rng.integers(1, 3)
    return int(image), int(label), [float(x) for x in box], last

  gt = _gt([row(int(rng.random() < 0.15)) for _ in range(120)], images=13)
  for annotation in gt["annotations"]:  # on both sides of every range's ends
    ends = rng.choice([0.0, 1023.9, 1024.0, 1024.1, 9216.0, 9216.1])
    annotation["area"] = float(ends if seed % 2 else annotation["area"])
  dt = [row(int(rng.integers(8)) / 8) for _ in range(700)]
  dt += [(1, 1, *dt[i][2:]) for i in range(110)]  # more than count
  return gt, _dt(dt)
