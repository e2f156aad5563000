"""The command that compares."""

import contextlib
import csv
import io
import pathlib
import types
from unittest import mock

import numpy as np
import pytest
from absl import flags
from absl.testing import parameterized

from eval.cells.number import Number
from eval.compare import __main__ as command
from eval.compare import __main__ as compare
from eval.compare import natural
from eval.metrics import action
from eval.readers import base as readers_base
from eval.report import reports
from eval.run.results import rescore
from robust_tfds import errors
from robust_tfds.building.sources import imagenet
from robust_tfds.storage import paths
from tests import fake_bucket, in_folder, in_process, shared_data, tiny_files
from tests.eval.compare import small_runs, task_runs
from tests.eval.report.reports import without_pictures
from tests.user_data import made, natural_test


class CompareTest(in_folder.TestCase):
  """`eval.compare` as a command: two small runs of every task, and refusals."""

  def setUp(self):
    super().setUp()
    self.out = self.root / "out"

  def _compare(self, first, second, models="", drawn=False):
    """Runs the command; gives its screen and its rows."""
    undrawn = contextlib.nullcontext if drawn else without_pictures.drawn
    settings = types.SimpleNamespace(
      out=str(self.out), models=models, reference=""
    )
    screen = io.StringIO()
    with (
      mock.patch.object(flags, "FLAGS", settings),
      undrawn(),
      contextlib.redirect_stdout(screen),
    ):
      compare.main(["compare", str(first), str(second)])
    text = screen.getvalue()
    self.assertEqual((self.out / "comparison.md").read_text() + "\n", text)
    rows = shared_data.lines(self.out / "comparison.csv")
    self.assertTrue((self.out / "comparison.png").exists())
    return text, {
      (r["metric"], r["config"] or r["corruption"]): r for r in rows
    }

  def _both(self, write, one, other, **options):
    folders = [
      write(self.root / name, strength, **options)
      for name, strength in (("first", one), ("second", other))
    ]
    return self._compare(*folders)

  def test_the_only_models_of_two_runs_need_no_labels(self):
    one, other = (
      small_runs.write(self.root / label, {label: error}, names=["fog"])
      for label, error in (("a", 0.1), ("b", 0.3))
    )
    text, rows = self._compare(one, other)
    self.assertIn("a", text)
    clean = rows["error", "clean"]
    values = [float(clean[k]) for k in ("first", "second", "difference")]
    np.testing.assert_allclose(values, [0.1, 0.3, -0.2])
    both = small_runs.write(
      self.root / "both", {"b": 0.3, "c": 0.2}, names=["fog"]
    )
    with self.assertRaisesRegex(errors.UserError, "Name one of each: --models"):
      self._compare(one, both)

  def _contains_difference(self, row):
    lo, value, hi = (float(row[k]) for k in ("lo", "difference", "hi"))
    self.assertBetween(value, lo, hi)
    self.assertAlmostEqual(
      value, float(row["first"]) - float(row["second"]), delta=1e-12
    )

  def test_classification(self):
    one, other = (
      small_runs.write(
        self.root / name, {"a": error, "x": 0.4}, seed=i, baseline="model:x"
      )
      for i, (name, error) in enumerate((("one", 0.1), ("other", 0.6)))
    )
    text, rows = self._compare(one, other, "a,a")
    self.assertIn(
      "a (first) better than a (second) in 75 of 75 cells, worse in 0, undecided"
      " in 0 (error; Holm).",
      text,
    )
    self.assertIn("Seeds differ (0 and 1)", text)
    for metric in ("mce", "relative_mce", "clean_error"):
      self._contains_difference(rows[metric, ""])
    self.assertGreater(float(rows["mce", ""]["relative_decrease_lo"]), 0)
    self.assertEqual(rows["error", "fog_3"]["test"], "exact McNemar")

  def test_video(self):
    text, rows = self._both(task_runs.video, 0.95, 0.6)
    self.assertIn("in 4 of 4 cells", text)
    self.assertEqual(rows["accuracy", "jpeg_3"]["test"], "exact McNemar")
    self.assertEqual(rows["accuracy", "jpeg_3"]["verdict"], "better")
    sides = []
    for strength in (0.95, 0.6):
      accuracy = {
        (name, level): np.mean(task_runs.hardness() < strength - level / 10)
        for name in ("jpeg", "freezing")
        for level in (1, 3)
      }
      clean = np.mean(task_runs.hardness() < strength)
      sides.append(action.robustness(accuracy, clean))
    self.assertAlmostEqual(
      float(rows["accuracy", "clean"]["difference"]),
      np.mean(task_runs.hardness() < 0.95)
      - np.mean(task_runs.hardness() < 0.6),
    )
    self.assertAlmostEqual(
      float(rows["accuracy", "jpeg_1"]["first"]),
      sides[0]["gamma_r"]["cells"]["jpeg", 1]
      * np.mean(task_runs.hardness() < 0.95),
    )

  def test_videos_in_groups(self):
    text, rows = self._both(task_runs.video, 0.95, 0.6, groups=12)
    self.assertEqual(rows["accuracy", "jpeg_3"]["test"], "exchange of groups")
    self.assertIn("McNemar's test is not valid there", text)

  def test_groups_of_other_names_are_paired(self):
    options = {"groups": 12}
    _, rows = self._both(task_runs.video, 0.95, 0.6, **options)
    other = task_runs.video(self.root / "z", 0.6, named="z", **options)
    _, renamed = self._compare(self.root / "first", other)
    self.assertEqual(rows, renamed)

  def test_natural_shifts(self):
    text, rows = self._both(task_runs.natural, 0.5, 0.8)
    ratios = []
    for name in "ACD":
      row = rows[f"accuracy/category/{name}", "clean"]
      self._contains_difference(row)
      ratios.append(2 - float(row["first"]) / float(row["second"]))
    trained = rows["gamma_r", ""]
    self.assertAlmostEqual(float(trained["first"]), np.mean(ratios), delta=1e-9)
    self.assertGreater(float(trained["lo"]), 0)
    self.assertIn("Figure 12", trained["note"])
    self.assertIn("| Accuracy under natural shifts |", text)
    self.assertIn("in 0 of 4 numbers, worse in 2", text)
    self.assertIn("| accuracy/category/A | 40.00 |", text)

  def test_sequences(self):
    text, rows = self._both(task_runs.sequences, 0.9, 0.5)
    self.assertEqual(
      rows["flip_probability", "tilt"]["test"], "exchange of groups"
    )
    self.assertIn("(flip_probability; Holm)", text.replace("\\", ""))
    self.assertIn("(unnormalised_t5d; Holm)", text.replace("\\", ""))
    self._contains_difference(rows["mean_flip_probability", ""])

  def test_frames(self):
    _, rows = self._both(task_runs.frames, 0.95, 0.4)
    for metric in ("acc_orig", "acc_pmk", "drop"):
      self._contains_difference(rows[metric, "clean"])
    self.assertEqual(rows["acc_pmk", "clean"]["verdict"], "better")

  def test_detection(self):
    _, rows = self._both(task_runs.detection, 0.95, 0.5)
    row = rows["bbox/AP", "fog_3"]
    self.assertEqual((row["test"], row["verdict"]), ("jackknife t", "better"))
    for metric in ("p", "mpc", "rpc"):
      self._contains_difference(rows[metric, ""])

  def test_numbers_alone(self):
    text, rows = self._both(task_runs.numbers, 0.4, 0.3)
    self.assertAlmostEqual(float(rows["bbox/AP", "clean"]["difference"]), 0.1)
    self.assertEqual(rows["bbox/AP", "fog_3"]["p"], "")
    self.assertIn("Nothing is tested", text)
    self.assertIn("no test", rows["bbox/AP", "fog_3"]["note"])

  def test_predictions_of_another_program(self):
    folders = []
    for name, right in (("one", 9), ("other", 2)):
      rows = [
        f"{corruption},{level},x{i},0,{int(i >= right)}"
        for corruption, level in (("", 0), ("fog", 1))
        for i in range(10)
      ]
      header = "corruption,severity,example_id,label,top1"
      file = self.root / f"{name}.csv"
      file.write_text("\n".join([header, *rows]))
      folders.append(self.root / name)
      with mock.patch.object(reports, "write_all", _summary):
        rescore.score(
          [paths.parse(file)],
          paths.parse(folders[-1]),
          readers_base.Options(dataset="mine_c"),
          "auto",
        )
    text, rows = self._compare(*folders, "one,other")
    self.assertIn("Neither run records these facts", text)
    self.assertAlmostEqual(float(rows["error", "fog_1"]["difference"]), -0.7)
    self.assertAlmostEqual(float(rows["error", "fog_1"]["p"]), 2 * 0.5**7)

  def test_in_a_bucket(self):
    first = task_runs.video(self.root / "first", 0.9)
    second = task_runs.video(self.root / "second", 0.7)
    self._compare(first, second, drawn=True)
    bucket = fake_bucket.create(self)
    there = [fake_bucket.upload(f, bucket / f.name) for f in (first, second)]
    files = {
      n: paths.read_bytes(p)
      for n, p in paths.files_below(paths.parse(self.out))
    }
    settings = types.SimpleNamespace(
      out=str(bucket / "out"), models="", reference=""
    )
    with mock.patch.object(flags, "FLAGS", settings):
      with contextlib.redirect_stdout(io.StringIO()):
        compare.main(["compare", *map(str, there)])
    got = {n: paths.read_bytes(p) for n, p in paths.files_below(bucket / "out")}
    self.assertEqual(got, files)

  def test_what_a_run_was_asked_for_is_no_fact_of_its_cells(self):
    change = {"limit": 9, "facts": {"examples": 9}}
    first = task_runs.video(self.root / "first", 0.9)
    self._compare(first, task_runs.video(self.root / "second", 0.7, **change))

  def test_unfinished(self):
    first = task_runs.video(self.root / "first", 0.9)
    second = task_runs.video(self.root / "second", 0.7)
    cell = next(second.glob("cells/*/*/jpeg_3/*"))
    cell.rename(cell.with_name("gone"))
    text, rows = self._compare(first, second)
    self.assertIn("Only in the first run, and not compared: jpeg\\_3.", text)
    self.assertNotIn(("gamma_r", "jpeg"), rows)

  def test_nothing_right(self):
    text, rows = self._both(task_runs.video, 0.9, -9.0)
    self.assertEqual(rows["accuracy", "clean"]["second"], "0.0")
    self.assertNotIn("nan", text)

  @pytest.mark.slow
  def test_the_program(self):
    first = task_runs.video(self.root / "first", 0.9)
    second = task_runs.video(self.root / "second", 0.7, seed=1)
    done = in_process.program(
      "eval.compare", first, second, f"--out={self.out}"
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("Seeds differ (0 and 1)", done.stdout)
    self.assertEqual(
      (self.out / "comparison.md").read_text() + "\n", done.stdout
    )
    refused = in_process.run(compare, str(first), f"--out={self.out}")
    in_process.check_refused(self, refused, "expected two: ")


def _summary(context, folder):
  """In place of the figures of a report."""
  folder.mkdir(parents=True, exist_ok=True)
  (folder / "summary.txt").write_text(context.dataset)


_ALL = (1, 2, 3, 4, 5)
# Phi(0.8) - Phi(0.5 / sqrt(1 + 0.4^2)), of the normal distribution.
_TRUE_DROP = 0.78814 - 0.67877
_LABELS = [41, 41, 3, 3] * 3


def _model(answers_right: float, seed: int):
  """Right on a share of the pictures, by their pixels."""

  def model(images):
    logits = np.zeros((len(images), 1000))
    rows = np.arange(len(images))
    mean = images.reshape(len(images), -1).sum(axis=1) * (7 + 2 * seed)
    logits[rows, np.where(mean % 100 < 100 * answers_right, 41, 3)] = 1
    return logits

  return model


class NaturalTest(parameterized.TestCase):
  """Drops of models on natural sets, from runs made here."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _runs(self, count, name="imagenet_a", labels=_LABELS, **options):
    """`count` models on both sides, in workdirs a and r; of ReaL the same pictures."""
    natural_test.prepare(name, self.folder, labels)
    for i in range(10):
      width, seed, label = 70, 90 + i, (41, 3, 8)[i % 3]
      if i and name.endswith("_real"):  # as `natural_test.prepare` makes them
        width, seed, label = 49 + i, i - 1, labels[i - 1][0]
      picture = tiny_files.encoded(tiny_files.noise(60, width, seed), "JPEG")
      wnid = imagenet.wnids()[label]
      path = f"val/{wnid}/ILSVRC2012_val_0000000{i}.JPEG"
      tiny_files.put(self.folder, {path: picture})
    models = {
      f"m{i}": _model(share, i)
      for i, share in enumerate((0.5, 0.3, 0.7)[:count])
    }
    for dataset, workdir in ((name, "a"), (f"{name}/reference", "r")):
      made.evaluate(
        models,
        dataset,
        conditions=None,
        data_dir=self.folder,
        manual_dir=self.folder,
        workdir=self.folder / workdir,
        **(options if workdir == "r" else {}),
      )

  def _compare(self):
    out = self.folder / "out"
    settings = types.SimpleNamespace(
      out=str(out), reference=str(self.folder / "r")
    )
    with (
      mock.patch.object(flags, "FLAGS", settings),
      contextlib.redirect_stdout(io.StringIO()) as said,
    ):
      command.main(["", str(self.folder / "a")])
    with (out / "natural.csv").open() as file:
      return list(csv.DictReader(file)), said.getvalue()

  def test_the_drop(self):
    self._runs(2)
    rows, said = self._compare()
    self.assertLen(rows, 2)
    for row in rows:
      value = {k: float(v) for k, v in list(row.items())[3:12]}
      difference = value["reference"] - value["accuracy"]
      self.assertAlmostEqual(value["drop"], difference)
      self.assertBetween(difference, value["drop_lo"], value["drop_hi"])
      self.assertIn("2 of at least 3 models", row["note"])
    self.assertIn("| imagenet\\_a | m0 | clean\\_error |", said)

  def test_the_same_pictures_are_paired(self):
    self._runs(1, "imagenet2012_real", [[label, 7] for label in _LABELS])
    (row,), _ = self._compare()
    drop, natural_rate, reference = (
      Number(*(float(row[f"{name}{end}"]) for end in ("", "_lo", "_hi")))
      for name in ("drop", "accuracy", "reference")
    )
    apart = natural.drop(reference, natural_rate)
    self.assertAlmostEqual(drop.value, apart.value)
    # Nine pictures of 10 and 12 are shared, each right on both sides or on none.
    self.assertLess(_width(drop), 0.75 * _width(apart))
    self.assertBetween(drop.value, *drop.interval)

  def test_other_facts_are_refused(self):
    self._runs(1, size=64)
    with self.assertRaisesRegex(errors.UserError, "geometry is short73_crop64"):
      self._compare()

  def test_covers(self):
    """Of equal and other rates, at 95 %, less what 2,000 draws leave open."""
    rng = np.random.default_rng(0)
    for a, b, n, m in ((0.8, 0.5, 60, 40), (0.95, 0.9, 100, 200)):
      hits = 0
      for x, y in zip(rng.binomial(n, a, 2000), rng.binomial(m, b, 2000)):
        ends = natural.drop(_rate(x, n), _rate(y, m)).interval
        hits += ends[0] <= a - b <= ends[1]
      self.assertGreater(hits / 2000, 0.94)

  def test_covers_pairs(self):
    """Of pictures of which a tenth has no label in the second set, at 95 %."""
    rng, hits, widths = np.random.default_rng(1), 0, np.zeros(2)
    for _ in range(2000):
      hard = rng.normal(size=200)
      first, second = hard < 0.8, hard + 0.4 * rng.normal(size=200) < 0.5
      a = dict(enumerate(first.astype(float)))
      b = dict(enumerate(second[:180].astype(float)))
      rates = _rate(first.sum(), 200), _rate(second[:180].sum(), 180)
      alike = natural.correlation(a, b)
      lo, hi = natural.drop(*rates, alike).interval
      hits += lo <= _TRUE_DROP <= hi
      apart = natural.drop(*rates).interval
      widths += hi - lo, apart[1] - apart[0]
    self.assertBetween(hits / 2000, 0.94, 0.985)
    self.assertLess(widths[0], 0.75 * widths[1])


def _width(number: Number) -> float:
  lo, hi = number.interval
  return hi - lo


def _rate(hits: int, count: int) -> Number:
  from eval.metrics import intervals

  ((value, lo, hi),) = intervals.rates([hits], count)
  return Number(value, lo, hi)
