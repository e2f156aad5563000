"""Accuracy by source video, from runs on disk."""

import numpy as np
from absl.testing import parameterized

from eval.metrics import intervals
from eval.report import figures
from eval.report.figures import base, drawing
from robust_tfds import errors
from tests import in_folder, shared_data
from tests.eval.compare import task_runs


class SourceVideosTest(in_folder.TestCase, parameterized.TestCase):
  def _lines(self, run):
    (figure,) = figures.select("schiappa_app_d")
    request = drawing.add_runs(base.Request(), [str(run)], lambda _: None)
    (out := self.root / "out").mkdir()
    self.files = figure.draw(request, out)
    return shared_data.lines(out / "schiappa_app_d.csv")

  def test_every_video_with_its_clips(self):
    """59 groups of 60 clips: one video has two, the others have one."""
    listed = self._lines(task_runs.video(self.root / "run", 0.9, groups=59))
    self.assertLen(listed, 59)
    first, *others = listed
    self.assertEqual((first["source video"], first["clips"]), ("g500", "2"))
    right = task_runs.hardness()[[0, 59]] < 0.9
    self.assertAlmostEqual(float(first["clean accuracy"]), right.mean())
    ends = intervals.clopper_pearson(int(right.sum()), 2)
    np.testing.assert_allclose([float(first[k]) for k in ("lo", "hi")], ends)
    for line in others:
      self.assertEqual((line["lo"], line["hi"]), ("", ""))
      self.assertEqual(line["note"], "one clip, no interval")

  def test_perturbed_is_the_mean_of_the_other_cells(self):
    listed = self._lines(task_runs.video(self.root / "run", 0.9, groups=3))
    hardness = task_runs.hardness()
    # jpeg and freezing, both at 1 and 3.
    expected = {
      f"g{500 + g}": np.mean([hardness[g::3] < 0.9 - s / 10 for s in (1, 3)])
      for g in range(3)
    }
    for line in listed:
      name, value = line["source video"], float(line["perturbed accuracy"])
      self.assertAlmostEqual(value, expected[name])
      lost = float(line["clean accuracy"]) - value
      self.assertAlmostEqual(float(line["lost"]), lost)
    self.assertIn("it says nothing of others", self.files[0].read_text())

  def test_clips_without_sources_are_refused(self):
    with self.assertRaisesRegex(errors.UserError, "no two clips are of one"):
      self._lines(task_runs.video(self.root / "run", 0.9))
