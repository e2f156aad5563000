"""pm-k accuracy: the authors' numbers, scores, sets and worst frames."""

import functools
import hashlib
import math

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics import intervals, natural_labels, pm_k
from eval.metrics import natural_breakdowns as breakdowns
from eval.metrics.pm_k import sets as sets_lib
from eval.tasks.parts import label_space
from robust_tfds import errors
from tests import shared_data

_VID = ("vid_basic", "vid_models", "vid_mean_merge", "vid_sum_merge")
_TRIPLES = ("acc_orig", "pm0"), ("acc_pmk", "pm10")


@functools.cache
def _golden() -> dict:
  return shared_data.golden_json("video", "pmk_golden.json.gz")


@functools.cache
def _logits(name: str, model: int) -> np.ndarray:
  path = shared_data.golden("video", "pmk_logits.npz")
  with np.load(path) as data:
    return data[f"{name}_m{model}"]


def _number(path: str) -> int:
  return int("".join(c for c in path.split("/")[-1] if c.isdigit()))


class _Case:
  """A golden case of ImageNet-Vid-Robust as arrays."""

  def __init__(self, name: str):
    self.data = _golden()["cases"][name]
    self.name, self.order = name, self.data["frame_order"]
    self.index = {f: i for i, f in enumerate(self.order)}
    widest = max(map(len, self.data["labels"].values()))
    self.labels = np.full((len(self.order), widest), -1)
    for f, known in self.data["labels"].items():
      self.labels[self.index[f], : len(known)] = known

  def predicted(self, model: int) -> np.ndarray:
    space = label_space.get("imagenet_vid_robust")
    project = jax.jit(
      functools.partial(space.project, merge=self.data["merge_op"])
    )
    logits = jnp.asarray(_logits(self.name, model), jnp.float32)
    return np.asarray(project(logits).argmax(axis=-1))

  def right(self, model: int) -> np.ndarray:
    return natural_labels.correct(self.predicted(model), self.labels, 30)

  def rows(self, sets: dict) -> tuple[np.ndarray, list[str], list[int]]:
    """Row, anchor and offset of each frame of each set."""
    listed = [
      (self.index[f], a, _number(f) - _number(a))
      for a, near in sets.items()
      for f in [a, *near]
    ]
    rows, ids, offsets = zip(*listed)
    return np.array(rows), list(ids), list(offsets)


class VidTest(parameterized.TestCase):
  """pm-k and its breakdowns against the authors' testbed (golden/video)."""

  def _same(self, got, want):
    self.assertAlmostEqual(got[0], want["acc"], delta=1e-12)
    self.assertAlmostEqual(got[1], want["ci95"][0], delta=1e-9)
    self.assertAlmostEqual(got[2], want["ci95"][1], delta=1e-9)

  def _same_pair(self, got, want):
    for ours, theirs in _TRIPLES:
      self._same(got[ours], want[theirs])

  @parameterized.parameters(*_VID)
  def test_case(self, name):
    case = _Case(name)
    rows, ids, offsets = case.rows(case.data["pmsets"])
    sets = pm_k.group(ids, offsets)
    for model, want in enumerate(case.data["expected"]["models"]):
      np.testing.assert_array_equal(case.predicted(model), want["argmax"])
      right = case.right(model)[rows]
      curve = pm_k.curve(right, sets)
      wide = pm_k.curve(right, sets, level=0.995)
      for k, at in enumerate(want["k_curve"]):
        self._same((curve.value[k], curve.lo[k], curve.hi[k]), at)
        self.assertAlmostEqual(wide.lo[k], at["ci99_5"][0], delta=1e-9)
        self.assertAlmostEqual(wide.hi[k], at["ci99_5"][1], delta=1e-9)
        got = pm_k.accuracy(right, ids, offsets, k=k)
        self._same(got["acc_pmk"], at)
        self.assertAlmostEqual(
          got["drop"][0], got["acc_orig"][0] - got["acc_pmk"][0]
        )
      official = want["official"]
      self.assertEqual(curve.value[0], official["pm0"])
      self.assertEqual(curve.value[10], official["pm10"])
      self._same(
        pm_k.without_anchor(right, sets), want["pmk_eq1_without_anchor"]
      )
      self._of_class(right, sets, case.labels[rows], want["per_class"])
      self._conditional(right, sets, want)
      by_fps = breakdowns.per_value(right, sets, case.data["anchor_fps"])
      self.assertEqual([str(f) for f in by_fps], sorted(want["fps"]))
      for fps, got in by_fps.items():
        self._same_pair(got, want["fps"][str(fps)])
      kinds = breakdowns.per_value(
        right, sets, case.data["anchor_frame_type"], without=True
      )
      self.assertEqual(sorted(kinds), sorted(want["without_frame_type"]))
      for kind, got in kinds.items():
        self._same_pair(got, want["without_frame_type"][kind])
      self._review(case, model, want["review_impact"])

  def _of_class(self, right, sets, labels, want):
    got = breakdowns.per_class(right, sets, labels)
    self.assertEqual({str(c) for c in got}, set(want))
    for c, scores in got.items():
      expected = want[str(c)]
      self.assertEqual(scores["n"], expected["n"])
      for ours, theirs in _TRIPLES:
        self.assertAlmostEqual(scores[ours][0], expected[theirs], delta=1e-12)

  def _conditional(self, right, sets, want):
    signed = breakdowns.conditional(right, sets, signed=True)
    self.assertEqual(
      {str(o): [s["right"], s["n"], s["pairs"]] for o, s in signed.items()},
      want["gu_signed_offset_num_den_pairs"],
    )
    for d, got in breakdowns.conditional(right, sets).items():
      self.assertAlmostEqual(
        got["accuracy"][0], want["gu_by_distance"][str(d)], delta=1e-12
      )

  def _review(self, case, model, want):
    rows, ids, offsets = case.rows(case.data["candidate_sets"])
    rejected = set(case.data["rejected_anchors"])
    kept = [
      a not in rejected
      and (case.order[r] == a or case.order[r] in case.data["pmsets"][a])
      for r, a in zip(rows, ids)
    ]
    got = breakdowns.review_impact(
      case.right(model)[rows], pm_k.group(ids, offsets), kept
    )
    for which in ("reviewed", "unreviewed"):
      self._same_pair(got[which], want[which])

  def test_over_models(self):
    case = _Case("vid_models")
    rows, ids, offsets = case.rows(case.data["pmsets"])
    sets = pm_k.group(ids, offsets)
    right = np.stack([case.right(m)[rows] for m in range(4)])
    want = case.data["expected"]
    errors = breakdowns.offset_errors(right, sets)
    shares = want["offset_error_fraction_all_models"]
    self.assertEqual(
      {str(o): [e["wrong"], e["n"]] for o, e in errors.items() if o}, shares
    )
    static = breakdowns.static_worst(right, sets)
    found = zip(sets.name, static["chosen"])
    got = {str(a): case.order[rows[c]] for a, c in found}
    worst = want["static_worst"]
    self.assertEqual(got, worst["chosen"])
    for model in range(4):
      self._same(static["accuracy"][model], worst["acc_on_chosen"][model])
      with_anchor = worst["acc_anchor_and_chosen"][model]
      self._same(static["with_anchor"][model], with_anchor)


class YtbbTest(parameterized.TestCase):
  @parameterized.parameters("ytbb_basic", "ytbb_negative_logits")
  def test_scores(self, name):
    data = _golden()["cases"][name]
    want, index = data["expected"], {}
    index = {f: i for i, f in enumerate(data["frame_order"])}
    space = label_space.get("ytbb_robust")
    logits = jnp.asarray(_logits(name, 0), jnp.float32)
    top = np.asarray(jax.jit(space.project)(logits).argmax(axis=-1))
    np.testing.assert_array_equal(top, want["argmax"])
    listed = [
      (index[f], a, int(offset))
      for a, near in want["valid_sets"].items()
      for offset, f in [("0", a), *near.items()]
    ]
    rows, ids, offsets = zip(*listed)
    labels = want["anchor_label_sets"]
    known = np.full((len(rows), 3), -1)
    for i, a in enumerate(ids):
      known[i, : len(labels[a])] = labels[a]
    right = natural_labels.correct(top[list(rows)], known, 24)
    curve = pm_k.curve(right, pm_k.group(ids, offsets))
    for k, at in enumerate(want["k_curve"]):
      self.assertAlmostEqual(curve.value[k], at["acc"], delta=1e-12)
      self.assertAlmostEqual(curve.lo[k], at["ci95"][0], delta=1e-9)
      self.assertAlmostEqual(curve.hi[k], at["ci95"][1], delta=1e-9)
    self.assertEqual(curve.value[0], want["official"]["pm0"])
    self.assertEqual(curve.value[10], want["official"]["pm10"])


class RealMetadataTest(absltest.TestCase):
  def test_rule_based_predictor(self):
    """The golden README's predictor on the real sets gives its counts."""
    labels, pmsets = (
      shared_data.golden_json("vid_robust", f"imagenet_vid_robust_{n}.json.gz")
      for n in ("labels", "pmsets")
    )
    want = shared_data.golden_json("video", "real_metadata_check.json")
    frames = [(f, a) for a, near in pmsets.items() for f in [a, *near]]
    predicted, known = [], np.full((len(frames), 3), -1)
    for i, (f, _) in enumerate(frames):
      wrong = hashlib.sha256(f.encode()).digest()[0] < 8
      predicted.append((labels[f][0] + wrong) % 30)
      known[i, : len(labels[f])] = labels[f]
    right = natural_labels.correct(predicted, known, 30)
    ids = [a for _, a in frames]
    offsets = [int(f[-11:-5]) - int(a[-11:-5]) for f, a in frames]
    curve = pm_k.curve(right, pm_k.group(ids, offsets))
    self.assertEqual(curve.n, want["n"])
    counts = np.round(curve.value * curve.n).astype(int).tolist()
    self.assertEqual(counts, want["correct_by_k"])
    got = pm_k.accuracy(right, ids, offsets)
    self.assertAlmostEqual(got["acc_orig"][0], want["pm0"], delta=1e-12)
    self.assertAlmostEqual(got["acc_pmk"][0], want["pm10"], delta=1e-12)


def _random_sets(rng, anchors):
  ids, frames = [], []
  for a in range(anchors):
    near = rng.choice(np.arange(1, 11), rng.integers(0, 11), replace=False)
    offsets = [0, *(int(n) * int(rng.choice([-1, 1])) for n in near)]
    ids += [f"set{a}"] * len(offsets)
    frames += offsets
  order = rng.permutation(len(ids))
  return np.array(ids)[order], np.array(frames)[order]


class AccuracyTest(parameterized.TestCase):
  """pm-k by hand and by brute force."""

  @parameterized.parameters(range(6))
  def test_brute_force(self, seed):
    rng = np.random.default_rng(seed)
    ids, frames = _random_sets(rng, 40)
    right = rng.random(len(ids)) < 0.9
    for k in (0, 1, 4, 10):
      held = [
        all(right[(ids == i) & (np.abs(frames) <= k)]) for i in np.unique(ids)
      ]
      got = pm_k.accuracy(right, ids, frames, k=k)
      lo, hi = intervals.clopper_pearson(sum(held), 40)
      self.assertEqual(got["acc_pmk"], (np.mean(held), lo, hi))
      self.assertEqual(got["n"], 40)
      clean = right[frames == 0].mean()
      self.assertAlmostEqual(got["acc_orig"][0], clean, delta=1e-12)
      self.assertAlmostEqual(got["drop"][0], clean - np.mean(held), delta=1e-12)

  def test_an_anchor_without_neighbours_counts_by_itself(self):
    got = pm_k.accuracy([1, 0, 1], ["a", "b", "c"], [0, 0, 0])
    self.assertEqual(got["acc_orig"], got["acc_pmk"])
    self.assertEqual(got["n"], 3)
    self.assertEqual(got["drop"][0], 0)

  def test_offsets_beyond_k_are_left_out(self):
    correct, ids, frames = [1, 1, 0], ["a"] * 3, [0, 4, -11]
    self.assertEqual(pm_k.accuracy(correct, ids, frames)["acc_pmk"][0], 1)
    self.assertEqual(pm_k.accuracy(correct, ids, frames, k=11)["drop"][0], 1)

  def test_curve_of_many_models(self):
    rng = np.random.default_rng(0)
    ids, frames = _random_sets(rng, 25)
    right = rng.random((2, 3, len(ids))) < 0.9
    curve = pm_k.curve(right, pm_k.group(ids, frames))
    self.assertEqual(curve.value.shape, (2, 3, 11))
    self.assertTrue((np.diff(curve.value) <= 0).all())
    for k in (0, 7, 10):
      one = pm_k.accuracy(right[1, 2], ids, frames, k=k)["acc_pmk"]
      found = curve.value[1, 2, k], curve.lo[1, 2, k], curve.hi[1, 2, k]
      np.testing.assert_allclose(found, one, atol=1e-12)

  def test_equation_1_leaves_the_anchor_out(self):
    sets = pm_k.group(["a", "a", "b"], [0, 1, 0])
    self.assertEqual(pm_k.without_anchor([0, 1, 1], sets)[0], 1.0)
    self.assertEqual(pm_k.without_anchor([1, 0, 0], sets)[0], 0.5)


_IDS = ["b", "a", "a", "b", "a"]
_FRAMES = [0, 3, -2, 1, 0]


class GroupTest(absltest.TestCase):
  """Anchor sets as index arrays: order and names."""

  def test_indices(self):
    sets = sets_lib.group(_IDS, _FRAMES)
    self.assertLen(sets, 2)
    self.assertEqual(sets.name.tolist(), ["a", "b"])
    self.assertEqual(sets.set_index.tolist(), [1, 0, 0, 1, 0])
    self.assertEqual(sets.anchor.tolist(), [4, 0])
    self.assertEqual(sets.order.tolist(), [2, 4, 1, 0, 3])
    self.assertEqual(sets.start.tolist(), [0, 3])
    self.assertEqual(sets.row(1), "set 'a', offset +3")

  def test_videos(self):
    videos = ["y", "x", "x", "y", "x"]
    sets = sets_lib.group(_IDS, _FRAMES, videos)
    self.assertEqual(sets.video.tolist(), ["x", "y"])
    self.assertEqual(sets.videos(np.array([3, 4])).tolist(), ["y", "x"])
    with self.assertRaisesRegex(ValueError, "'a', offset -2 is of another"):
      sets_lib.group(_IDS, _FRAMES, ["y", "x", "y", "y", "x"])
    with self.assertRaisesRegex(ValueError, r"video must be \[5\] like frame"):
      sets_lib.group(_IDS, _FRAMES, ["y"])


class CheckedTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.sets = sets_lib.group(_IDS, _FRAMES)

  @parameterized.parameters(bool, np.int64, np.float32)
  def test_numbers_become_bool(self, dtype):
    got = sets_lib.checked(np.array([[1, 0, 1, 1, 0]], dtype), self.sets)
    self.assertEqual(got.dtype, bool)
    self.assertEqual(got.tolist(), [[True, False, True, True, False]])


def _object(image, category=1, box=(0, 0, 10, 10), **more):
  return {"image_id": image, "category_id": category, "bbox": box, **more}


def _alone(anchor):
  return {"anchor": anchor, "candidates": []}


class GoldenTest(parameterized.TestCase):
  """Detection pm-k against pycocotools' goldens, and its rules by hand."""

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
    ({"iou": 50}, r"iou must lie in \(0, 1\], got 50"),
    ({"gt": [{"image_id": 1}]}, "gt, row 0: 'bbox' is missing"),
    ({"gt": {"annotations": []}}, "take its 'annotations'"),
    ({"dt": [_object(7, score=1.0)]}, "image 7, which has no frame"),
  )
  def test_refuses_arguments(self, change, message):
    self._refused(change, message)

  @parameterized.parameters(
    ({"bbox": [0, 0, 5]}, r"is not \[x, y, w, h\]"),
    ({"bbox": [0, 0, -5, 5]}, "width or height is below 0"),
    ({"image_id": 1.0}, "image_id must be a whole number or a text, got 1.0"),
    ({"category_id": None}, "category_id must be"),
    ({"score": math.nan}, "score of image 1 is no finite"),
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
