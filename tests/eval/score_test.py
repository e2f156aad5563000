"""`eval.score` as a command."""

import pathlib
import subprocess
import sys

from absl.testing import absltest

from robust_tfds.eval.results import table
from tests.eval.readers import csv_test

_ROOT = pathlib.Path(__file__).resolve().parents[2]


class ScoreTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.out = self.root / "out"

  def _csv(self, name) -> pathlib.Path:
    return csv_test.write(csv_test.rows_of(("fog",)), self.root / name)

  def test_command(self):
    arguments = [
      f"--predictions={self._csv('one.csv')}",
      f"--predictions={self._csv('two.csv')}",
      "--format=csv",
      "--dataset=mine_c",
      "--baseline=",
      "--seed=2",
      f"--out={self.out}",
    ]
    done = self._run(*arguments)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("mine_c: 2 model(s)", done.stdout)
    rows = table.read(self.out / "table.csv")
    self.assertEqual({(r.dataset, r.seed) for r in rows}, {("mine_c", 2)})

  def test_refusals_have_no_traceback(self):
    done = self._run("--predictions=none.csv", f"--out={self.out}")
    self.assertEqual(done.returncode, 1)
    self.assertEqual(done.stderr, "Error: none.csv does not exist.\n")

  def _run(self, *arguments) -> subprocess.CompletedProcess:
    return subprocess.run(
      [sys.executable, "-m", "eval.score", *arguments],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      check=False,
    )


if __name__ == "__main__":
  absltest.main()
