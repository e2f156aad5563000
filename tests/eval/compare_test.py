"""Two runs beside each other: paired intervals, files, refusals."""

import csv
import dataclasses
import pathlib
import subprocess
import sys

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds import paths
from robust_tfds.configs import video_p
from robust_tfds.eval import compare
from robust_tfds.eval import tasks
from robust_tfds.eval.metrics import action
from robust_tfds.eval.results import config_file
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.results.workdir import Workdir
from tests import fake_bucket

_N = 400


def _workdir(folder, strength, *, dataset="ucf101_p", seed=0, **data):
  """A finished run whose model is right with chance strength - severity / 10."""
  config = video_p.get_config(f"{dataset},r3d_18").unlock()
  config.seed = seed
  if dataset == "ucf101_p":
    config.data.perturbations = "jpeg,freezing"
  config.data.severities = (1, 3)
  config.data.update(data)
  workdir = Workdir(folder)
  workdir.claim(config)
  hardness = np.random.default_rng(7).random(_N)  # the same for every model
  for condition in tasks.bind(config).conditions():
    right = hardness < strength - condition.level / 10
    label = np.arange(_N) % 7
    top5 = np.tile(label[:, None], (1, 5)) + np.arange(5) + 1
    top5[right, 0] = label[right]
    columns = {
      "example_id": np.array([f"v{i:04d}" for i in range(_N)]),
      "group_id": np.array([f"v{i:04d}" for i in range(_N)]),
      "frame": np.zeros(_N, np.int32),
      "label": label,
      "top5": top5,
      "score": np.ones((_N, 5), np.float32),
    }
    if dataset == "ucf101_ds":
      kind = np.arange(_N) % 4
      columns["shift"] = np.array(["a", "b", "c", "d"])[kind]
      columns["category"] = np.array(["A", "A", "C", "D"])[kind]
    workdir.write_cell(Cell("r3d_18", dataset, condition, seed), columns)
  return folder


class CompareTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.base = pathlib.Path(self.create_tempdir().full_path)

  def test_in_buckets(self):
    first = _workdir(self.base / "first", 0.9)
    second = _workdir(self.base / "second", 0.7)
    bucket = fake_bucket.create(self)
    pairs = [(first, second, paths.of(self.base / "out"))]
    there = [
      fake_bucket.upload(folder, bucket / folder.name)
      for folder in (first, second)
    ]
    pairs.append((*there, bucket / "out"))
    files = []
    for one, two, out in pairs:
      runs = compare.read(one), compare.read(two)
      compare.write(compare.compare(*runs), ("a", "b"), out)
      written = dict(paths.files_below(out))
      files.append({n: paths.read_bytes(p) for n, p in written.items()})
    self.assertLen(files[0], 4)
    self.assertEqual(files[0], files[1])

  def _compare(self, first, second):
    return compare.compare(compare.read(first), compare.read(second))

  def test_differences(self):
    first = _workdir(self.base / "first", 0.9)
    second = _workdir(self.base / "second", 0.7)
    lines = self._compare(first, second)
    found = {(x.measure, x.scope, x.name): x for x in lines}
    clean = found["accuracy", "clean", ""]
    self.assertAlmostEqual(clean.difference, clean.first - clean.second)
    self.assertBetween(clean.difference, 0.15, 0.25)
    sides = []
    for workdir in (first, second):
      run = compare.read(workdir)
      cells, right = compare.split(run)
      accuracy = {c: r.mean() for c, r in cells.items()}
      sides.append(action.robustness(accuracy, right.mean()))
    want = action.compare(*sides)
    for measure in ("gamma_a", "gamma_r"):
      self.assertAlmostEqual(
        found[measure, "all", ""].difference, want[measure]["mean"], delta=1e-12
      )
      for name in ("jpeg", "freezing"):
        self.assertAlmostEqual(
          found[measure, "perturbation", name].difference,
          want[measure]["names"][name],
          delta=1e-12,
        )
    for x in lines:
      self.assertBetween(x.difference, x.lo, x.hi)
    # The same videos are hard for both: pairs are closer than strangers.
    self.assertLess(clean.hi - clean.lo, 0.1)

  def test_a_run_and_itself(self):
    first = _workdir(self.base / "first", 0.8)
    for x in self._compare(first, first):
      self.assertEqual((x.difference, x.lo, x.hi), (0, 0, 0))

  def test_natural_shifts(self):
    one = _workdir(self.base / "one", 0.5, dataset="ucf101_ds")
    other = _workdir(self.base / "other", 0.8, dataset="ucf101_ds")
    lines = self._compare(one, other)
    self.assertEqual([x.name for x in lines], ["A", "C", "D", ""])
    ratios = [2 - x.first / x.second for x in lines[:3]]
    self.assertEqual(lines[3].measure, "gamma_r")
    self.assertAlmostEqual(lines[3].first, np.mean(ratios), delta=1e-12)
    self.assertGreater(lines[3].lo, 0)

  def test_command(self):
    first = _workdir(self.base / "first", 0.9)
    second = _workdir(self.base / "second", 0.7)
    out = self.base / "out"
    done = subprocess.run(
      [sys.executable, "-m", "eval.compare"]
      + [f"--first={first}", f"--second={second}", f"--out={out}"],
      capture_output=True,
      text=True,
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("| gamma_r | temporal |", done.stdout)
    self.assertEqual((out / "comparison.md").read_text() + "\n", done.stdout)
    with open(out / "comparison.csv", newline="") as f:
      rows = list(csv.DictReader(f))
    self.assertLen(rows, 1 + 2 * (1 + 2 + 2))
    self.assertTrue((out / "comparison.png").exists())

  @parameterized.parameters(
    ({"seed": 1}, r"not comparable \(seed: 0 and 1\)"),
    ({"limit": 9}, r"not comparable \(data.limit: 0 and 9\)"),
    ({"severities": (1,)}, "jpeg_3 is in one run alone"),
  )
  def test_other_settings(self, change, message):
    first = _workdir(self.base / "first", 0.9)
    second = _workdir(self.base / "second", 0.7, **change)
    with self.assertRaisesRegex(ValueError, message):
      self._compare(first, second)

  def test_nothing_right(self):
    first = _workdir(self.base / "first", 0.9)
    second = _workdir(self.base / "second", -9.0)
    with self.assertRaisesRegex(ValueError, "The second run, r3d_18: no video"):
      self._compare(first, second)

  def test_other_labels(self):
    run = compare.read(_workdir(self.base / "first", 0.9))
    labels = run.labels.copy()
    labels[3] = 6
    with self.assertRaisesRegex(
      ValueError, "v0003 has 3 in the first and 6 in"
    ):
      compare.compare(run, dataclasses.replace(run, labels=labels))

  def test_no_model(self):
    first = _workdir(self.base / "first", 0.9)
    path = first / "config.json"
    config = Workdir(first).config()
    with config.unlocked():
      config.model, config.models = {}, {}
    config_file.write(path, config)
    with self.assertRaisesRegex(ValueError, "config.json names no model"):
      compare.read(first)

  def test_out_is_a_file(self):
    first = _workdir(self.base / "first", 0.9)
    lines = self._compare(first, first)
    (self.base / "file").write_text("")
    with self.assertRaisesRegex(errors.UserError, "file: could not be written"):
      compare.write(lines, ("a", "b"), self.base / "file")

  def test_other_refusals(self):
    first = _workdir(self.base / "first", 0.9)
    with self.assertRaisesRegex(ValueError, "Did you mean 'r3d_18'"):
      compare.read(first, "r3d18")
    with self.assertRaisesRegex(ValueError, "is no workdir"):
      compare.read(self.base)
    cell = next(first.glob("cells/*/*/jpeg_3/*"))
    cell.rename(cell.with_name("gone"))
    with self.assertRaisesRegex(ValueError, "jpeg_3 is not finished"):
      compare.read(first)


if __name__ == "__main__":
  absltest.main()
