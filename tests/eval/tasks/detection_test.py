"""Tasks of detection, of pictures and frames."""

import collections
import json
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from eval import readers, tasks
from eval.cells import table
from eval.cells.cell import Cell
from eval.metrics import detection as metrics
from eval.metrics import resampling
from eval.metrics.detection import coco
from eval.readers import base as readers_base
from eval.tasks import base, detection
from eval.tasks.detections import result_lists
from eval.tasks.headlines import headlines, stored_numbers
from robust_tfds import conditions, errors
from robust_tfds.conditions import Condition
from tests import shared_data
from tests.eval import tiny_runs

_TASK = detection.Detection(base.Setting("coco_c"))


class RunTest(absltest.TestCase):
  """Detection in the evaluator: what is kept, scored, shown; bad input."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tiny_runs.folder("detection")
    cls.rows = table.read(cls.folder / "table.csv")

  def test_rows(self):
    clean = {r.metric: r.value for r in table.select(self.rows, config="clean")}
    self.assertContainsSubset({"bbox/AP", "bbox/AP50", "bbox/AR100"}, clean)
    (p,) = table.select(self.rows, metric="p")
    self.assertEqual(p.value, clean["bbox/AP"])
    (mean,) = table.select(self.rows, metric="mean_ap", corruption="brightness")
    self.assertEqual(
      mean.note, "missing: brightness 2, brightness 4, brightness 5 (3 of 5)"
    )
    (mpc,) = table.select(self.rows, metric="mpc")  # two corruptions
    self.assertFalse(mpc.has_value)
    self.assertIn("(71 of 75)", mpc.note)
    truth = json.loads((self.folder / "truth.json").read_text())
    self.assertLen(truth["images"], 20)


def _truth():
  return {
    "images": [{"id": 4, "width": 50, "height": 40, "file_name": "a.png"}],
    "categories": [{"id": 1, "name": "cat"}, {"id": 7, "name": "dog"}],
    "annotations": [
      {
        "id": 1,
        "image_id": 4,
        "category_id": 7,
        "bbox": [5.0, 5, 20, 20],
        "area": 400.0,
        "iscrowd": 0,
      }
    ],
  }


def _predicted(box=(5, 5, 25, 25), label=1, **more):
  return {
    "example_id": np.array(["a.png"]),
    "group_id": np.array(["a.png"]),
    "image_id": np.array([4]),
    "boxes": np.array([[box, (0, 0, 0, 0)]], np.float32),
    "scores": np.array([[0.9, 0]], np.float32),
    "classes": np.array([[label, -1]], np.int16),
    **more,
  }


class ScoreTest(absltest.TestCase):
  def _values(self, dataset, predicted):
    task = detection.Detection(base.Setting(dataset))
    cell = Cell("m", dataset, Condition())
    rows = task.cell_rows(cell, predicted, _truth())
    return {r.metric: r.value for r in rows}

  def test_labels_become_category_ids(self):
    values = self._values("coco_c", _predicted())
    self.assertAlmostEqual(values["bbox/AP"], 1.0)
    self.assertEqual(self._values("coco_c", _predicted(label=0))["bbox/AP"], 0)
    with self.assertRaisesRegex(ValueError, "has the label 2"):
      self._values("coco_c", _predicted(label=2))

  def test_voc_rules_for_pascal(self):
    self.assertEqual(self._values("pascal_c", _predicted()), {"bbox/AP50": 1.0})

  def test_what_the_gallery_says(self):
    kinds = [o.kind for o in _TASK.overlays("a.png", _predicted(), _truth(), 0)]
    self.assertEqual(kinds, ["hit"])
    least, why = _TASK.overlay_limit(_predicted(), _truth())
    self.assertAlmostEqual(least, 0.9)
    self.assertIn("at least 0.90, where F1 at IoU 0.5 is highest (1.00)", why)


def _benchmark(conditions_):
  """A results list of every condition: the worse, the fewer detections."""
  truth = shared_data.golden_json(
    "detection", "coco", "typical_200x10", "gt.json.gz"
  )
  results = shared_data.golden_json(
    "detection", "coco", "typical_200x10", "dt_bbox.json.gz"
  )
  truth["images"] = truth["images"][:40]
  count = collections.Counter(a["category_id"] for a in truth["annotations"])
  common = [c for c, _ in count.most_common(3)]
  truth["categories"] = [c for c in truth["categories"] if c["id"] in common]
  ids = {
    "image_id": {i["id"] for i in truth["images"]},
    "category_id": {c["id"] for c in truth["categories"]},
  }

  def kept(rows):
    return [r for r in rows if all(r[k] in few for k, few in ids.items())]

  truth["annotations"] = kept(truth["annotations"])
  results = kept(results)
  rng, cells = np.random.default_rng(0), []
  for condition in conditions_:
    share = 1 - 0.15 * condition.level
    some = [r for r in results if rng.random() < share]
    cell = Cell("m", "coco_c", condition)
    cells.append((cell, result_lists.columns(some, truth)))
  return truth, cells


class IntervalTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    shown = conditions.PICTURES.select("common", (1, 2, 3, 4, 5))
    cls.truth, cls.cells = _benchmark(shown)
    cls.scored = _TASK.score(cls.cells, cls.truth)
    cls.rows = cls.scored.rows

  def _row(self, metric, **more):
    (row,) = table.select(self.rows, metric=metric, **more)
    return row

  def test_headlines_have_intervals(self):
    for metric in ("p", "mpc", "rpc"):
      row = self._row(metric)
      self.assertLess(row.lo, row.value)
      self.assertGreater(row.hi, row.value)
      self.assertLess(row.hi - row.lo, 0.4)
      self.assertEqual(row.n, 40)
    for row in table.select(self.rows, metric="mean_ap"):
      self.assertLess(row.lo, row.value)
    for row in table.select(self.rows, metric="bbox/AP75"):
      point = "every draw gives this value" in row.note  # 0 without any block
      self.assertEqual(row.hi is None, point)
      self.assertEqual(point, row.value == 0)
    p, clean = self._row("p"), self._row("bbox/AP", config="clean")
    self.assertEqual((p.value, p.lo, p.hi), (clean.value, clean.lo, clean.hi))

  def test_one_block_is_left_out_of_all_conditions(self):
    draws = resampling.Draws.from_groups(
      _TASK.group_ids(self.cells[0][1], self.truth), blocks=100
    )
    groups = np.array([str(i["id"]) for i in self.truth["images"]])
    rest = [int(g) for g in groups[draws.blocks_of(groups) != 7]]
    aps = []
    for _, columns in self.cells:
      found = result_lists.detections("bbox", columns, self.truth)
      aps.append(
        metrics.coco_ap(
          self.truth, found.rows(), image_ids=rest, backend=coco.fastest()
        )["AP"]
      )
    got = self.scored.headlines["m"]
    mpc = got["mpc", "", None]
    self.assertAlmostEqual(mpc.jackknife[7], np.mean(aps[1:]))
    ratio = got["rpc", "", None].jackknife[7]
    self.assertAlmostEqual(ratio, np.mean(aps[1:]) / aps[0])
    lo, hi = mpc.interval()
    row = self._row("mpc")
    self.assertAlmostEqual(row.lo, max(lo, 0))
    self.assertAlmostEqual(row.hi, hi)
    self.assertAlmostEqual(row.value, float(mpc.value))

  def test_headlines_are_the_rows_over_cells(self):
    values = {
      Condition(r.corruption, r.severity): {
        r.metric: headlines.value_alone(r.value)
      }
      for r in self.rows
      if r.metric == "bbox/AP"
    }
    got = _TASK.over_cells(values)
    over = {
      (r.metric, r.corruption, None): r.value for r in self.rows if not r.config
    }
    self.assertEqual(set(got), {k for k, v in over.items() if v == v})
    for key, number in got.items():
      self.assertAlmostEqual(float(number.value), over[key])

  def test_numbers_of_others_have_none_and_say_so(self):
    columns = stored_numbers.columns({"bbox/AP": 0.25})
    (row,) = _TASK.cell_rows(self.cells[0][0], columns)
    self.assertIsNone(row.lo)
    self.assertEqual(row.note, "no interval: read without detections")
    self.assertEmpty(_TASK.group_ids(columns))

  def test_numbers_of_others_have_headlines(self):
    cells = [
      (cell, stored_numbers.columns({"bbox/AP": 0.5 * bool(cell.name)}))
      for cell, _ in self.cells
    ]
    scored = _TASK.score(cells)
    over = {r.metric: r for r in scored.rows if not r.config}
    mpc, rpc = over["mpc"], over["rpc"]
    why = "no interval: values alone"
    self.assertEqual(
      (mpc.value, mpc.lo, mpc.n, mpc.note), (0.5, None, None, why)
    )
    self.assertFalse(rpc.has_value)
    self.assertEqual(rpc.note, "undefined: P is 0")
    self.assertEqual(scored.headlines, {"m": {}})


class ReduceTest(absltest.TestCase):
  def test_sorted_and_cleared(self):
    got = detection.reduce(
      {
        "boxes": jnp.arange(12.0).reshape(1, 3, 4),
        "scores": jnp.array([[0.2, jnp.nan, 0.7]]),
        "classes": jnp.array([[1, 2, 3]]),
        "valid": jnp.array([[True, False, True]]),
      },
      jnp.array([-1]),
    )
    np.testing.assert_allclose(got["scores"], [[0.7, 0.2, 0.0]], rtol=1e-6)
    self.assertEqual(got["classes"].tolist(), [[3, 1, -1]])


_KINDS = {"": "detection", "localization/": "localisation_class_agnostic"}


def golden(case: str) -> tuple[dict, list]:
  """A golden case as the ground truth of frames, and its detections."""
  data = shared_data.golden_json("detection", "pmk", case, "data.json.gz")
  sets = {a["anchor"]: a for a in data["anchors"]}
  of = {i: a for a, row in sets.items() for i in row["candidates"]} | {
    a: a for a in sets
  }
  index = {int(i): n for i, n in data["frame_index"].items()}
  images = [
    {
      "id": i,
      "file_name": str(i),
      "group_id": str(of.get(i, i)),
      "frame": index[i] - index[of.get(i, i)],
      "reviewed": i in of,
    }
    for i in index
  ]
  labels = sorted({row["category_id"] for row in (*data["gt"], *data["dt"])})
  rows = [
    {"area": r["bbox"][2] * r["bbox"][3], "iscrowd": 0, **r, "id": n}
    for n, r in enumerate(data["gt"], 1)
  ]
  categories = [{"id": c, "name": f"c{c}"} for c in labels]
  truth = {"images": images, "annotations": rows, "categories": categories}
  return truth, data["dt"]


def _measured(truth, dt, dataset="mine") -> base.Measured:
  task = tasks.get("frame_detection")(base.Setting(dataset))
  columns = result_lists.columns(dt, truth)
  return task.measure(Cell("m", dataset, Condition()), columns, truth)


class GoldenTest(parameterized.TestCase):
  @parameterized.parameters("small_k3", "typical")
  def test_numbers_of_a_results_list(self, case):
    truth, dt = golden(case)
    measured = _measured(truth, dt)
    values = {row.metric: row for row in measured.rows}
    expected = shared_data.golden_json(
      "detection", "pmk", case, "expected.json"
    )
    for kind, name in _KINDS.items():
      for metric, key in (("map_orig", "mAP_original"), ("map_pmk", "mAP_pmk")):
        row = values[kind + metric]
        self.assertAlmostEqual(row.value, expected[name][key], delta=1e-9)
        self.assertBetween(row.value, row.lo, row.hi)
        self.assertEqual(row.n, len(expected[name]["selected"]))
      orig, pmk = (values[kind + m].value for m in ("map_orig", "map_pmk"))
      self.assertAlmostEqual(values[f"{kind}drop"].value, orig - pmk)
    frame = {i["id"]: i["frame"] for i in truth["images"]}
    chosen = [frame[i] for i in expected["detection"]["selected"].values()]
    for offset in range(-10, 11):
      share = values[f"chosen/offset={offset:+d}"].value
      self.assertAlmostEqual(share, np.mean(np.array(chosen) == offset))
    of_classes = [
      row.value for m, row in values.items() if m.startswith("map_orig/class=")
    ]
    self.assertAlmostEqual(np.mean(of_classes), values["map_orig"].value)

  def test_blocks_left_out_are_sets_left_out(self):
    truth, dt = golden("small_k3")
    number = _measured(truth, dt).numbers["map_pmk"]
    left = []
    for group in sorted({i["group_id"] for i in truth["images"]}):
      images = [i for i in truth["images"] if i["group_id"] != group]
      ids = {i["id"] for i in images}
      rows = [r for r in truth["annotations"] if r["image_id"] in ids]
      less = {**truth, "images": images, "annotations": rows}
      some = [r for r in dt if r["image_id"] in ids]
      left.append(_measured(less, some).numbers["map_pmk"].value)
    np.testing.assert_allclose(sorted(number.jackknife), sorted(left))

  def test_ground_truth_of_no_sets(self):
    truth, dt = golden("small_k3")
    for image in truth["images"]:
      del image["group_id"]
    with self.assertRaisesRegex(
      errors.UserError, "has no 'group_id': expected"
    ):
      _measured(truth, dt)


class SettingTest(parameterized.TestCase):
  @parameterized.parameters(
    ({"geometry": "imagenet"}, "geometry='imagenet': boxes are"),
    ({"config": "all"}, "config='all': boxes are those of whole frames"),
    ({"limit": 3}, "would cut anchor sets apart"),
    ({"subset": "robustbench5k"}, "or take '2015'"),
  )
  def test_refusals(self, data, words):
    config = tiny_runs.config("frame_detection", **data)
    with self.assertRaisesRegex(errors.UserError, words):
      tasks.bind(config)

  def test_printed_rows_of_another_subset(self):
    for subset, other in (("", 1), ("2015", 2)):
      setting = base.Setting("imagenet_vid_robust", data={"subset": subset})
      printed = tasks.get("frame_detection")(setting).published_networks()
      self.assertLen(printed, 3)
      marked = [name for name in printed if name.endswith("other subset")]
      self.assertLen(marked, other)
      self.assertEqual(any("R-FCN" in name for name in marked), not subset)


def _scored_outside(folder, place, truth, dataset) -> dict[str, float]:
  """Numbers of a COCO results list that has every object of a ground truth."""
  keys = ("image_id", "category_id", "bbox")
  rows = [
    {**{k: a[k] for k in keys}, "score": 0.5} for a in truth["annotations"]
  ]
  (folder / "clean.json").write_text(json.dumps(rows))
  options = readers_base.Options(truth=place, dataset=dataset)
  reader = readers.choose([folder], readers.AUTO, options)
  run = reader.read([folder], options)
  assert run.task_name == "frame_detection"
  _, scored = run.score(*run.datasets)
  return {r.metric: r.value for r in scored.rows}


class OutsideTest(absltest.TestCase):
  def test_results_of_another_program(self):
    """A results list of frames, beside a truth of sets: its perfect detector."""
    truth, _ = golden("small_k3")
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "perfect").mkdir()
    place = folder / "truth.json"
    values = _scored_outside(folder / "perfect", place, truth, "mine")
    self.assertAlmostEqual(values["map_orig"], 1)
    self.assertAlmostEqual(values["map_pmk"], 1)


@pytest.mark.slow  # trains a detector
class FrameDetectionRunTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tiny_runs.folder("frame_detection")
    cls.truth = json.loads((cls.folder / "truth.json").read_text())

  def test_rows_and_reports(self):
    rows = table.read(self.folder / "table.csv")
    over = {r.metric: r.value for r in rows if not r.config}
    self.assertLen(over, 6)
    self.assertAlmostEqual(
      over["drop"], over["map_orig"] - over["map_pmk"], places=12
    )
    chosen = [r for r in rows if r.metric.startswith("chosen/")]
    self.assertAlmostEqual(sum(r.value for r in chosen), 1)
    names = {p.name for p in (self.folder / "reports").iterdir()}
    self.assertIn("worst_frames.md", names)

  def test_perfect_results_of_another_program(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    place, name = self.folder / "truth.json", "digits_vid_robust"
    values = _scored_outside(folder, place, self.truth, name)
    self.assertAlmostEqual(values["map_orig"], 1)
    self.assertAlmostEqual(values["map_pmk"], 1)
