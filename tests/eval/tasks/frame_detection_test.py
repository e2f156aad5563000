"""Detection pm-k as a task: the golden cases, a run, results of other programs."""

import json
import pathlib

import numpy as np
import pytest
from absl.testing import absltest, parameterized

from eval import readers, tasks
from eval.cells import table
from eval.cells.cell import Cell
from eval.readers import base as readers_base
from eval.tasks import base
from eval.tasks.detections import result_lists
from robust_tfds import errors
from robust_tfds.conditions import Condition
from tests import shared_data
from tests.eval import tiny_runs

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
class RunTest(absltest.TestCase):
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


if __name__ == "__main__":
  absltest.main()
