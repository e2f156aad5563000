"""pm-k and its breakdowns against the authors' testbed (golden/video)."""

import functools
import hashlib

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics import natural_breakdowns as breakdowns
from eval.metrics import natural_labels, pm_k
from eval.tasks.parts import label_space
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
