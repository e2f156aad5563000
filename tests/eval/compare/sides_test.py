"""What is compared: sides, runs, splits, slugs and scores."""

import pathlib
import re
import tempfile

from absl.testing import absltest
from etils import epath

from eval import tasks
from eval.cells import cell_facts
from eval.cells.workdir import Workdir
from eval.compare import runs, scores, slugs
from eval.compare.sides import Side
from eval.readers import base
from eval.run.results import rescore
from robust_tfds import errors
from robust_tfds.conditions import Condition
from tests import in_folder
from tests.eval.compare import small_runs, task_runs


class SidesTest(in_folder.TestCase):
  def _facts(self, name):
    (run,) = runs.read([str(self.root / name)])
    side = Side.from_run(run, run.datasets[0], run.labels()[0])
    return side.data(), side.model_facts.words()

  def test_of_a_workdir_without_facts(self):
    small_runs.write(self.root / "run", {"a": 0.1}, names=["fog"], noted=False)
    data, model = self._facts("run")
    self.assertEqual((data["codec"], data["source"]), ("raw", "fly"))
    self.assertIsNone(data["version"])
    self.assertEqual(data["examples"], small_runs.EXAMPLES)
    self.assertEqual(model["name"], "digits_cnn")
    self.assertIsNone(model["weights"])

  def test_of_another_program(self):
    path = self.root / "predictions.csv"
    path.write_text(
      "corruption,severity,example_id,label,top1\n"
      + "".join(f"clean,0,x{i},1,1\n" for i in range(3))
    )
    rescore.score(
      [epath.Path(path)], epath.Path(self.root / "out"), base.Options()
    )
    data, model = self._facts("out")
    self.assertEqual(data["source"], cell_facts.ELSEWHERE)
    self.assertIsNone(data["codec"])
    self.assertEqual(data["examples"], 3)
    self.assertIsNone(model["trained_on"])

  def test_cells_that_differ_say_all_values(self):
    folder = self.root / "run"
    small_runs.write(folder, {"a": 0.1}, names=["fog"])
    extra = {"facts": {"version": "2.0.0"}}
    small_runs.write(
      folder,
      {"a": 0.1},
      names=["fog"],
      chosen=lambda _, c: c.level == 5,
      **extra,
    )
    data, _ = self._facts("run")
    self.assertEqual(data["version"], ["1.0.0", "2.0.0"])


class RunsTest(in_folder.TestCase):
  """RUNs on disk: names, shards, scores of workdirs, refusals."""

  def _write(self, name, models=("a",), **others) -> str:
    folder = self.root / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    listed = {m: 0.2 for m in models}
    return str(small_runs.write(folder, listed, names=["fog"], **others))

  def test_names_are_as_long_as_they_have_to_be(self):
    paths = [self._write("x/run"), self._write("y/run", seed=1)]
    self.assertEqual([r.name for r in runs.read(paths)], ["x/run", "y/run"])

  def test_equal_configs_with_the_same_cells_are_two_runs(self):
    paths = [self._write("one"), self._write("two")]
    self.assertLen(runs.read(paths), 2)

  def test_shards_are_one_run(self):
    first = self._write("s1", chosen=lambda _, c: c.level % 2 == 0)
    second = self._write("s2", chosen=lambda _, c: c.level % 2 == 1)
    (run,) = runs.read([first, second])
    self.assertEqual(run.name, "s1+s2")
    self.assertLen(run.cells, 6)

  def test_a_pair(self):
    shards = [
      self._write(f"s{i}", chosen=lambda _, c, i=i: c.level % 2 == i)
      for i in (0, 1)
    ]
    whole = self._write("one,two")
    first, second = runs.read_pair(",".join(shards), whole)
    self.assertLen(first.cells, 6)
    self.assertLen(second.cells, 6)
    first, second = runs.read_pair(whole, whole)
    self.assertEqual((first.name, second.name), ("one,two", "one,two"))

  def test_what_is_no_pair(self):
    one, other = self._write("one"), self._write("other", seed=1)
    video = str(task_runs.video(self.root / "video", 0.8))
    for first, second, words in (
      (f"{one},{other}", one, r"2 runs \(.*one, .*other\), expected one"),
      (one, video, "different tasks: .* is classification, .* is video"),
      (one, str(self.root / "nothing"), "there is no such folder"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        runs.read_pair(first, second)

  def test_a_score_of_workdirs_stands_for_them(self):
    paths = [self._write("one"), self._write("two", models=("b",))]
    out = self.root / "scored"
    rescore.score([pathlib.Path(p) for p in paths], out, base.Options())
    names = [r.name for r in runs.read([str(out)])]
    self.assertEqual(names, ["one", "two"])

  def test_nothing_is_written_into_a_run(self):
    listed = runs.read([self._write("one")])
    (self.root / "file").write_text("x")
    runs.check_outside(listed, out=self.root / "board", site=None)
    for out, words in (
      (self.root / "one", "--out=.* lies inside the RUN .*one"),
      (self.root / "one" / "reports", "--out=.* lies inside"),
      (self.root / "file", "is a file"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        runs.check_outside(listed, out=out)

  def test_refusals(self):
    run = self._write("one")
    for given, words in (
      ([], "No RUN is named"),
      ([str(self.root / "absent")], "there is no such folder"),
      ([run, str(self.root / "x" / ".." / "one")], "named twice"),
      ([str(self.root)], "is no workdir"),
    ):
      with self.subTest(words):
        (self.root / "x").mkdir(exist_ok=True)
        with self.assertRaisesRegex(errors.UserError, words):
          runs.read(given)


class ScoresTest(absltest.TestCase):
  """A run's models, scored from their cells and from nothing else."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(tempfile.mkdtemp()) / "run"
    small_runs.write(
      cls.folder, {"a": 0.1, "b": 0.3}, baseline="model:b", seed=4
    )
    # Nothing is read from it.
    (cls.folder / "table.csv").write_text("nonsense")
    cls.scored = scores.score_run(*runs.read([str(cls.folder)]), lambda _: None)

  def test_numbers_are_those_of_the_task(self):
    workdir = Workdir(self.folder)
    task = tasks.bind(workdir.config())
    rows = task.score((c, workdir.columns(c)) for c in workdir.cells()).rows
    of = {(r.model, r.metric, r.config, r.corruption): r.value for r in rows}
    one, other = self.scored
    self.assertEqual((one.entry.model, one.entry.seed), ("a", 4))
    self.assertEqual(
      one.entry.numbers["mce", "", None].value, of["a", "mce", "", ""]
    )
    fog = Condition("fog", 3)
    self.assertEqual(
      other.entry.cells[fog]["error"].value, of["b", "error", "fog_3", "fog"]
    )

  def test_draws_give_the_intervals(self):
    one, baseline = self.scored
    for key in (("mce", "", None), ("mean_corruption_error", "", None)):
      lo, hi = one.draws[key].interval()
      self.assertAlmostEqual(one.entry.numbers[key].lo, lo)
      self.assertAlmostEqual(one.entry.numbers[key].hi, hi)
    self.assertEqual(baseline.entry.numbers["mce", "", None].value, 1.0)
    self.assertEqual(baseline.entry.numbers["mce", "", None].lo, 1.0)


class SlugsTest(absltest.TestCase):
  """Names of pages and files: safe, each once."""

  def test_safe_and_distinct(self):
    texts = ["A b", "a-B", "../../etc", "<script>", "", "=1", "é", "漢字"]
    names = slugs.Slugs()
    given = [names.unique(t) for t in [*texts, *texts, "x" * 500]]
    self.assertLen(set(given), len(given))
    for name in given:
      self.assertTrue(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), name)
      self.assertLess(len(name), 70)

  def test_devices_of_windows_are_no_names(self):
    names = slugs.Slugs()
    self.assertEqual(names.unique("Con"), "con-2")
    self.assertEqual(
      [names.unique("lpt1"), names.unique("nul")], ["lpt1-2", "nul-2"]
    )
    self.assertEqual(names.unique("console"), "console")
