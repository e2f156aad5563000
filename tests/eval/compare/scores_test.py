"""A run's models, scored from their cells and from nothing else."""

import pathlib
import tempfile

from absl.testing import absltest

from eval import tasks
from eval.cells.files import damage
from eval.cells.workdir import Workdir
from eval.compare import runs, scores
from robust_tfds.conditions import Condition
from tests.eval.compare import small_runs


class ScoresTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(tempfile.mkdtemp()) / "run"
    small_runs.write(
      cls.folder, {"a": 0.1, "b": 0.3}, baseline="model:b", seed=4
    )
    # Nothing is read from it.
    (cls.folder / "table.csv").write_text("nonsense")
    cls.scored = scores.of_run(*runs.read([str(cls.folder)]), lambda _: None)

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

  def test_diagrams(self):
    bins = self.scored[0].entry.reliability[Condition()]
    self.assertEqual(sum(bins.count), small_runs.EXAMPLES)
    (full,) = [i for i, n in enumerate(bins.count) if n]
    self.assertAlmostEqual(bins.confidence[full], 0.6, places=6)
    self.assertAlmostEqual(bins.accuracy[full], 0.9, delta=0.03)

  def test_damaged_cells_are_refused(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / "run"
    small_runs.write(folder, {"a": 0.1}, names=["fog"])
    path = next(folder.glob("cells/a/*/fog_2/*/predictions.npz"))
    data = bytearray(path.read_bytes())
    data[-30] ^= 1
    path.write_bytes(bytes(data))
    with self.assertRaisesRegex(damage.DamagedError, "predictions.npz"):
      scores.of_run(*runs.read([str(folder)]), lambda _: None)
