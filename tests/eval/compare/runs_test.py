"""RUNs on disk: names, shards, scores of workdirs, refusals."""

import pathlib

from eval.compare import runs
from eval.readers import base
from eval.run.results import rescore
from robust_tfds import errors
from tests import in_folder
from tests.eval.compare import small_runs, task_runs


class RunsTest(in_folder.TestCase):
  def _write(self, name, models=("a",), **others) -> str:
    folder = self.root / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    listed = {m: 0.2 for m in models}
    return str(small_runs.write(folder, listed, names=["fog"], **others))

  def test_one_and_another(self):
    paths = [self._write("one"), self._write("two", seed=1)]
    one, two = runs.read(paths)
    self.assertEqual((one.name, two.name), ("one", "two"))
    self.assertEqual(one.task_name, "classification")
    self.assertLen(one.cells, 6)

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
      (f"{one},{other}", one, "one, .*other are 2 runs, and one is expected"),
      (one, video, "different tasks: .* of classification, .* of video"),
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
      (self.root / "one", "--out=.* lies in .*one, a RUN"),
      (self.root / "one" / "reports", "--out=.* lies in"),
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
