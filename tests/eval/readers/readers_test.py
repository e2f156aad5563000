"""Readers in general, and of frames, raw results and workdirs."""

import copy
import csv
import json
import pathlib
from unittest import mock

import ml_collections
import numpy as np
from absl.testing import absltest, parameterized

from eval import readers, tasks
from eval.cells import provenance, table
from eval.cells.workdir import Workdir
from eval.metrics import detection, pm_k
from eval.metrics.detection import benchmark
from eval.readers import base, frames, raw_results
from eval.readers import workdir as workdir_reader
from eval.tables import detection_tables
from robust_tfds import conditions, errors
from tests import in_folder, shared_data
from tests.datasets import natural_videos
from tests.eval.compare import small_runs


class ChooseTest(in_folder.TestCase):
  """Which reader files have."""

  def setUp(self):
    super().setUp()
    for name in ("a.csv", "a.npz", "a.parquet", "a.json", "a.txt"):
      (self.root / name).write_text("")
    for name in ("run/config.json", "mine/clean.json", "other/x.txt"):
      (self.root / name).parent.mkdir()
      (self.root / name).write_text("")

  def _kind(self, *names, form=readers.AUTO, **options) -> str:
    paths = [self.root / name for name in names]
    return readers.choose(paths, form, base.Options(**options)).kind

  @parameterized.parameters(
    ("a.csv", {}, "a file of classifications"),
    ("a.npz", {}, "a file of classifications"),
    ("a.parquet", {}, "a file of classifications"),
    (
      "a.csv",
      {"metadata": pathlib.Path("x")},
      "a file of predictions on frames",
    ),
    ("a.npz", {"dataset": "ytbb_robust"}, "a file of predictions on frames"),
    ("a.json", {}, "a file of raw results"),
    ("mine", {}, "a folder of COCO results lists"),
    ("run", {}, "a workdir"),
  )
  def test_auto(self, name, options, kind):
    self.assertEqual(self._kind(name, **options), kind)

  def test_by_name(self):
    self.assertEqual(
      self._kind("a.txt", form="frames"), "a file of predictions on frames"
    )
    with self.assertRaisesRegex(ValueError, "Unknown format 'cvs'.*'csv'"):
      self._kind("a.txt", form="cvs")

  @parameterized.parameters("a.txt", "other")
  def test_nothing_fits(self, name):
    with self.assertRaisesRegex(ValueError, f"{name}: unknown format"):
      self._kind(name)

  def test_one_format_at_a_time(self):
    with self.assertRaisesRegex(
      ValueError, "a.csv is read as csv, .*run as wor"
    ):
      self._kind("a.csv", "run")


class ConfigTest(absltest.TestCase):
  def test_a_checkpoint_takes_the_place_of_a_recipe(self):
    """Nothing says of such a model that the run trained it."""
    models = {"a": {"train": {"steps": 3}, "checkpoint": ""}}
    models["b"] = {"train": {"steps": 3}, "checkpoint": "/trained"}
    config = ml_collections.ConfigDict({"models": models})
    self.assertEqual(base.Run(config, (), dict).trained, ["a"])


def write(path: pathlib.Path, rows) -> pathlib.Path:
  """(example_id, top1, model) as CSV."""
  with path.open("w", newline="") as f:
    writer = csv.writer(f)
    writer.writerow(["example_id", "top1", "model"])
    writer.writerows(rows)
  return path


class FramesReaderTest(in_folder.TestCase):
  """Predictions from a file on sets of frames."""

  def setUp(self):
    super().setUp()
    natural_videos.vid(self.root)
    natural_videos.ytbb(self.root)
    reviewed = frames.reviewed("imagenet_vid_robust", self.root)
    self.ids = [f.example_id for f in reviewed]

  def _read(self, *paths, **options) -> base.Run:
    options = {"metadata": self.root, **options}
    return frames.FramesReader().read(paths, base.Options(**options))

  def _values(self, predictions, model):
    return {r.metric: r.value for r in predictions.rows() if r.model == model}

  def test_table(self):
    wrong = natural_videos.path("a", 22)
    rows = [(i, 8 if i == wrong or "_b/" in i else 4, "m") for i in self.ids]
    extra = ("val/of/no/set.JPEG", 3, "m")
    path = write(self.root / "mine.csv", [*rows[::-1], extra])
    predictions = self._read(path)
    values = self._values(predictions, "m")
    self.assertEqual((values["acc_orig"], values["acc_pmk"]), (1.0, 0.5))
    self.assertEqual(values["acc_pmk/k=9"], 1.0)
    self.assertLen(predictions.class_names, 30)

  def test_refusals_name_the_model_and_the_row(self):
    whole = [(i, 4, m) for m in "ab" for i in self.ids]
    for rows, message in (
      (whole[:-1], "mine.csv: b: No prediction for 1 of 6 frames"),
      (
        [*whole, (self.ids[0], 5, "b")],
        "mine.csv: b: More than one prediction",
      ),
      ([*whole[:-1], (self.ids[-1], -1, "b")], "'top1', row 12 .*no class -1"),
      ([(i, 30, "m") for i in self.ids], "row 1 .* no class 30"),
      ([*whole[:-1], (self.ids[-1], "", "b")], "'top1', row 12 .* is empty"),
      ([*whole[:-1], ("", 1, "b")], "'example_id', row 12: empty"),
    ):
      path = write(self.root / "mine.csv", rows)
      with self.assertRaisesRegex(errors.UserError, message):
        self._read(path)

  def test_what_is_left_out_is_named(self):
    rows = [(i, 4, "m") for i in (*self.ids, "val/of/no/set.JPEG")]
    notes = self._read(write(self.root / "mine.csv", rows)).notes
    self.assertIn("1 frames of mine.csv are in no reviewed set", notes[-1])

  def test_other_refusals(self):
    path = write(self.root / "mine.csv", [(i, 4, "m") for i in self.ids])
    with self.assertRaisesRegex(ValueError, "--metadata: missing"):
      self._read(path, metadata=None)

  def test_ytbb(self):
    reviewed = frames.reviewed("ytbb_robust", self.root)
    self.assertLen(reviewed, 5)
    path = self.root / "predicted.npz"
    np.savez(
      path,
      example_id=[f.example_id for f in reviewed],
      top1=[19 if f.group_id.startswith("one") else 0 for f in reviewed],
    )
    predictions = self._read(path, dataset="ytbb_robust")
    values = self._values(predictions, "predicted")
    self.assertEqual((values["acc_orig"], values["acc_pmk"]), (1.0, 1.0))

  def test_real_metadata(self):
    folder = self.root / "real"
    folder.mkdir()
    for name in ("pmsets", "labels"):
      path = shared_data.golden(
        "vid_robust", f"imagenet_vid_robust_{name}.json.gz"
      )
      (folder / f"{name}.json.gz").write_bytes(path.read_bytes())
    reviewed = frames.reviewed("imagenet_vid_robust", folder)
    self.assertLen(reviewed, 22179)
    top1 = np.array([f.labels[-1] for f in reviewed])
    top1[::50] = (top1[::50] + 1) % 30
    ids = [f.example_id for f in reviewed]
    path = write(self.root / "m.csv", zip(ids, top1, ["m"] * len(ids)))
    rows = self._read(path, metadata=folder).rows()
    values = {r.metric: r for r in rows if r.model == "m"}
    right = [t in f.labels for t, f in zip(top1, reviewed)]
    expected = pm_k.accuracy(
      right, [f.group_id for f in reviewed], [f.frame for f in reviewed]
    )
    self.assertEqual(values["acc_pmk"].value, expected["acc_pmk"][0])
    self.assertEqual(values["acc_pmk"].n, 1109)
    self.assertIn("effective_robustness", values)


_FOLDER = "detection_raw_results"
_SUFFIXES = {"": "", "all": "_all", "validation": "_validation"}


def files():
  """The authors' files."""
  return sorted(shared_data.golden(_FOLDER).glob("*__*.json"))


def _made_up():
  names = list(benchmark.names("all"))
  values = [[0.5] + [0.5 - 0.05 * s for s in range(1, 6)] for _ in names]
  return {
    "dataset": "coco",
    "model": "mine",
    "corruptions": names,
    "severities": list(range(6)),
    "results": {"bbox": {"AP": values}},
  }


def _rows(*all_data) -> list[table.Row]:
  rows = []
  for data in all_data:
    cells = raw_results.cells(data)
    task = tasks.bind(base.config("detection", list(cells)))
    rows += task.score(cells.items()).rows
  return rows


def _summary(numbers: raw_results.Numbers, metric: str, scope: str) -> dict:
  """P, mPC and rPC of any metric of a file."""
  by_name: dict[str, list[float]] = {}
  for condition, values in numbers.items():
    if not condition.clean:
      by_name.setdefault(condition.name, []).append(values[metric])
  clean = numbers[conditions.Condition()][metric]
  return detection.summarize(by_name, clean, scope)


class RawResultsTest(parameterized.TestCase):
  """The detection paper's numbers from its raw results."""

  def test_every_file_gives_the_computed_and_the_printed_numbers(self):
    rows = _rows(*map(raw_results.read, files()))
    values = {
      (r.dataset, r.model, r.metric): 100 * r.value
      for r in rows
      if not r.config and not r.corruption
    }
    path = shared_data.golden(_FOLDER, "expected_public.csv")
    expected = shared_data.lines(path)
    self.assertNotEmpty(expected)
    checked = 0
    for row in expected:
      prefix = "" if row["task"] == "bbox" else "segm/"
      for part in ("P", "mPC", "rPC"):
        for scope, suffix in _SUFFIXES.items():
          column = "_".join([part, *([scope] if scope else []), "computed"])
          metric = f"{prefix}{part.lower()}{suffix}"
          key = row["dataset"], row["model"], metric
          if row.get(column) and key in values and _is_headline(row):
            checked += 1
            self.assertAlmostEqual(values[key], float(row[column]), delta=1e-5)
    self.assertGreater(checked, 90)
    compared = detection_tables.compare(rows)
    self.assertLen(compared, 32)
    for line in compared:
      if not all(line.agrees):
        self.assertNotEmpty(line.row.note, line)

  def test_all_metrics_to_1e_9(self):
    path = shared_data.golden(_FOLDER, "expected_public_all_metrics.json")
    expected = json.loads(path.read_text())
    checked = 0
    for file in files():
      data = raw_results.read(file)
      numbers = raw_results.numbers(data)
      for task, metrics in expected[
        f"{data['dataset']}/{data['model']}"
      ].items():
        for metric, stored in metrics.items():
          name = f"{task}/{metric.removesuffix('_per_class')}"
          if not all(v.get(name, -1) >= 0 for v in numbers.values()):
            continue  # not defined somewhere, or no metric (AP of each class)
          for part, scope, key in (
            ("p", "benchmark", "P"),
            ("mpc", "benchmark", "mPC"),
            ("rpc", "benchmark", "rPC"),
            ("mpc", "all", "mPC_all19"),
            ("rpc", "all", "rPC_all19"),
            ("mpc", "validation", "mPC_validation4"),
          ):
            names = {c.name for c in numbers}
            if stored.get(key) and names.issuperset(benchmark.names(scope)):
              got = _summary(numbers, name, scope)[part]
              self.assertAlmostEqual(got, stored[key], delta=1e-9)
              checked += 1
    self.assertGreater(checked, 500)

  def test_by_name_in_any_order(self):
    data = _made_up()
    for i, row in enumerate(data["results"]["bbox"]["AP"]):
      row[3] += i / 1000
    turned = copy.deepcopy(data)
    turned["corruptions"].reverse()
    turned["severities"].reverse()
    turned["results"]["bbox"]["AP"] = [
      r[::-1] for r in reversed(data["results"]["bbox"]["AP"])
    ]
    self.assertEqual(raw_results.numbers(turned), raw_results.numbers(data))

  def test_fifteen_corruptions_are_enough(self):
    data = _made_up()
    data["corruptions"] = data["corruptions"][:15]
    data["results"]["bbox"]["AP"] = data["results"]["bbox"]["AP"][:15]
    metrics = {r.metric for r in _rows(data) if not r.config}
    self.assertContainsSubset({"p", "mpc", "rpc"}, metrics)
    self.assertNotIn("mpc_all", metrics)

  @parameterized.named_parameters(
    (
      "severity",
      lambda d: d["severities"].__setitem__(2, 9),
      "severity 2: missing",
    ),
    (
      "shape",
      lambda d: d["results"]["bbox"]["AP"].pop(),
      "19 corruptions x 6 severities",
    ),
    (
      "clean",
      lambda d: d["results"]["bbox"]["AP"][4].__setitem__(0, 0.1),
      "clean results differ",
    ),
    (
      "flag",
      lambda d: d["results"]["bbox"]["AP"][9].__setitem__(2, True),
      "got 'True'",
    ),
    (
      "severities",
      lambda d: d.update(severities=[0.5]),
      "severities.0: got 0.5",
    ),
  )
  def test_refusals(self, spoil, message):
    data = _made_up()
    spoil(data)
    path = pathlib.Path(self.create_tempdir().full_path) / "x.json"
    path.write_text(json.dumps(data))
    with self.assertRaisesRegex(ValueError, f"x.json.*{message}"):
      raw_results.RawResultsReader().read([path], base.Options())

  def test_a_results_list_is_a_cell_of_a_folder(self):
    path = pathlib.Path(self.create_tempdir().full_path) / "clean.json"
    path.write_text("[]")
    with self.assertRaisesRegex(ValueError, "name the folder"):
      raw_results.read(path)

  def test_a_metric_that_is_undefined_somewhere_has_no_summary(self):
    data = _made_up()
    data["results"]["bbox"]["AP"][2][3] = -1.0
    rows = _rows(data)
    self.assertEmpty(table.select(rows, config="impulse_noise_3"))
    (mpc,) = table.select(rows, metric="mpc")
    self.assertEqual(mpc.note, "missing: impulse_noise 3 (1 of 75)")
    self.assertFalse(mpc.has_value)
    self.assertNotEmpty(table.select(rows, metric="mpc_validation"))


def _is_headline(row: dict[str, str]) -> bool:
  """P of VOC is AP50, else AP."""
  voc = row["dataset"] == "pascal_voc"
  return row["metric"].removesuffix("_per_class") == ("AP50" if voc else "AP")


_CONFIGS = ("clean", "fog_1", "fog_3")
_OTHER = {"of_models": {"a": {"weights": "9" * 64}}}


class WorkdirReaderTest(in_folder.TestCase):
  """Workdirs of runs: one, the parts of one, several side by side."""

  def _write(self, folder, labels, configs=_CONFIGS, **others) -> None:
    """A run of some models over fog, of which some cells are there."""
    small_runs.write(
      self.root / folder,
      dict.fromkeys(labels, 0.2),
      names=["fog"],
      chosen=lambda _, condition: condition.config in configs,
      **{"corruptions": "fog", "severities": (1, 3), **others},
    )

  def _read(self, *names, **options) -> base.Run:
    paths = [self.root / name for name in names]
    return workdir_reader.WorkdirReader().read(paths, base.Options(**options))

  def _cells(self, *names) -> list[tuple[str, str]]:
    cells = self._read(*names).cells
    return [(c.model, c.condition.config) for c in cells]

  def test_one(self):
    self._write("run", "ab")
    predictions = self._read("run")
    self.assertEqual(
      self._cells("run"), [(m, c) for m in "ab" for c in _CONFIGS]
    )
    self.assertEqual(predictions.notes, ["scored again from 6 of 6 cells"])
    self.assertEqual(predictions.model_names["a"], "digits_cnn")
    columns = predictions.columns(predictions.cells[-1])
    right = columns["top5"][:, 0] == columns["label"]
    self.assertEqual(right.sum(), 29)  # 26 % of 40 are wrong, rounded up

  def test_the_baseline_can_be_another(self):
    self._write("run", "a")
    self.assertEqual(self._read("run").config.baseline, "")
    again = self._read("run", baseline="model:a")
    self.assertEqual(again.config.baseline, "model:a")
    with self.assertRaisesRegex(
      ValueError, "--seed=1 has no meaning for a work"
    ):
      self._read("run", seed=1)

  def test_parts_of_one_run(self):
    self._write("one", "ab", ("fog_3", "clean"))
    self._write("two", "ab", ("fog_1", "clean"))
    merged = self._read("two", "one")
    self.assertEqual(
      [(c.model, c.condition.config) for c in merged.cells],
      [(m, c) for m in "ab" for c in _CONFIGS],
    )
    self.assertEqual(merged.notes, ["scored again from 6 of 6 cells"])
    self._write("three", "ab", ("clean",), **_OTHER)
    with self.assertRaisesRegex(
      ValueError, "both hold a clean, made from different"
    ):
      self._read("one", "three")

  def test_parts_of_one_run_by_other_weights(self):
    self._write("one", "a", ("clean", "fog_1"))
    self._write("two", "a", ("fog_3",))
    self.assertLen(self._cells("one", "two"), 3)
    self._write("three", "a", ("fog_3",), **_OTHER)
    with self.assertRaisesRegex(
      errors.UserError,
      "one and .*three both hold cells of a, .* different weights",
    ):
      self._cells("one", "three")

  def test_runs_side_by_side(self):
    self._write("one", "b")
    self._write("two", "a", ("clean", "fog_1"), severities=(1,))
    self.assertEqual([m for m, _ in self._cells("one", "two")], [*"bbb", *"aa"])
    self._write("three", "b", ("clean",), severities=(1,))
    with self.assertRaisesRegex(ValueError, "'b' is in .*one and in .*three"):
      self._read("one", "three")

  def test_cells_of_other_pixels_are_not_scored_together(self):
    self._write("one", "a")
    with mock.patch.object(provenance, "PIXELS_VERSION", 2):
      self._write("other", "b")
    self._read("other")
    with self.assertRaisesRegex(
      ValueError, r"not comparable \(pixels of version: 4 and 2\)"
    ):
      self._read("one", "other")

  def test_runs_that_are_not_comparable(self):
    self._write("one", "a")
    for name, data in (
      ("codec", {"codec": "jpeg85"}),
      ("limit", {"limit": 9}),
      ("name", {"name": "imagenet_c"}),
    ):
      self._write(name, "b", **data)
      with self.assertRaisesRegex(ValueError, f"not comparable .data.{name}"):
        self._read("one", name)

  def test_no_workdir(self):
    with self.assertRaisesRegex(ValueError, "is no workdir"):
      self._read(".")
    Workdir(self.root / "empty").claim(small_runs.config("a"))
    with self.assertRaisesRegex(ValueError, "empty: no finished cells yet"):
      self._read("empty")
