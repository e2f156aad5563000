"""RUNs of a comparison on disk."""

import pathlib

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.eval.compare.pairs import runs
from tests.eval.compare import small_runs, task_runs


class RunsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _write(self, name, **options) -> str:
    return str(
      small_runs.write(self.root / name, {"a": 0.2}, names=["fog"], **options)
    )

  def test_a_run_and_itself(self):
    folder = self._write("one")
    first, second = runs.read(folder, folder)
    self.assertEqual((first.name, second.name), ("one", "one"))

  def test_shards(self):
    shards = [
      self._write(f"s{i}", chosen=lambda _, c, i=i: c.level % 2 == i)
      for i in (0, 1)
    ]
    whole = self._write("whole")
    first, second = runs.read(",".join(shards), whole)
    self.assertLen(first.predictions.cells, 6)
    self.assertLen(second.predictions.cells, 6)

  def test_a_comma_in_a_name(self):
    folder = self._write("one,two")
    first, _ = runs.read(folder, folder)
    self.assertEqual(first.name, "one,two")

  def test_two_runs_on_one_side(self):
    one, other = self._write("one"), self._write("other", seed=1)
    with self.assertRaisesRegex(
      errors.UserError, "one, .*other are 2 runs, and one is expected"
    ):
      runs.read(f"{one},{other}", one)

  def test_other_tasks(self):
    one = self._write("one")
    video = str(task_runs.video(self.root / "video", 0.8))
    with self.assertRaisesRegex(
      errors.UserError, "different tasks: .* of classification, .* of video"
    ):
      runs.read(one, video)

  def test_no_run(self):
    with self.assertRaisesRegex(errors.UserError, "there is no such folder"):
      runs.read(self._write("one"), str(self.root / "nothing"))


if __name__ == "__main__":
  absltest.main()
