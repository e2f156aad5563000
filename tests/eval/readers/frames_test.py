"""Predictions from a file on sets of frames."""

import csv
import pathlib
import subprocess
import sys

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from eval.metrics import pm_k
from eval.readers import frames as score_frames
from eval.results import table
from tests import shared_data
from tests.datasets import natural_videos

_ROOT = pathlib.Path(__file__).resolve().parents[2]


class ScoreFramesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    natural_videos.vid(self.root)
    natural_videos.ytbb(self.root)
    self.frames = score_frames.sets("imagenet_vid_robust", self.root)
    self.ids = [f.example_id for f in self.frames]

  def _write(self, rows, name="mine.csv"):
    path = self.root / name
    with path.open("w", newline="") as f:
      writer = csv.writer(f)
      writer.writerow(["example_id", "top1", "model"])
      writer.writerows(rows)
    return path

  def test_command(self):
    wrong = natural_videos.path("a", 22)
    rows = [(i, 8 if i == wrong or "_b/" in i else 4, "m") for i in self.ids]
    path = self._write([*rows[::-1], ("val/of/no/set.JPEG", 3, "m")])
    out = self.root / "out"
    done = subprocess.run(
      [
        sys.executable,
        "-m",
        "eval.readers.frames",
        f"--predictions={path}",
        f"--metadata={self.root}",
        f"--out={out}",
      ],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    found = {r.metric: r.value for r in table.read(out / "table.csv")}
    self.assertEqual((found["acc_orig"], found["acc_pmk"]), (1.0, 0.5))
    self.assertEqual(found["acc_pmk/k=9"], 1.0)
    self.assertIn("m  ", done.stdout)
    self.assertTrue((out / "reports/natural_scatter.png").exists())

  def test_missing_frames_are_named(self):
    rows = [(i, 4, "m") for i in self.ids if i != natural_videos.path("a", 13)]
    columns = score_frames.read(self._write(rows))
    with self.assertRaisesRegex(
      ValueError, "No prediction for 1 of 6 frames: 'val/.*_a/000013.JPEG'"
    ):
      score_frames.rows(columns, self.frames, "imagenet_vid_robust")

  def test_unknown_classes_are_refused(self):
    columns = score_frames.read(self._write([(i, 30, "m") for i in self.ids]))
    with self.assertRaisesRegex(ValueError, "unknown prediction 30"):
      score_frames.rows(columns, self.frames, "imagenet_vid_robust")

  @parameterized.named_parameters(
    ("column", "example_id\na\n", "lacks top1"),
    ("rows", "example_id,top1\n", "lacks example_id, top1"),
    ("short", "example_id,top1\na\n", "column 'top1'"),
    ("number", "example_id,top1\na,cat\n", "column 'top1'"),
  )
  def test_broken_files(self, text, message):
    path = self.root / "broken.csv"
    path.write_text(text)
    with self.assertRaisesRegex(ValueError, message):
      score_frames.read(path)

  def test_other_files(self):
    text = self.root / "mine.txt"
    text.write_text("example_id,top1")
    with self.assertRaisesRegex(ValueError, "Unknown kind .* '.txt'"):
      score_frames.read(text)
    with self.assertRaisesRegex(FileNotFoundError, "none.csv does not exist"):
      score_frames.read(self.root / "none.csv")
    with self.assertRaisesRegex(ValueError, "Did you mean 'ytbb_robust'"):
      score_frames.sets("ytbb_robst", self.root)

  def test_ytbb(self):
    frames = score_frames.sets("ytbb_robust", self.root)
    self.assertLen(frames, 5)
    path = self.root / "predicted.npz"
    np.savez(
      path,
      example_id=[f.example_id for f in frames],
      top1=[19 if f.group_id.startswith("one") else 0 for f in frames],
    )
    found = score_frames.rows(score_frames.read(path), frames, "ytbb_robust")
    values = {r.metric: r.value for r in found if r.model == "predicted"}
    self.assertEqual((values["acc_orig"], values["acc_pmk"]), (1.0, 1.0))

  def test_real_metadata(self):
    folder = self.root / "real"
    folder.mkdir()
    for name in ("pmsets", "labels"):
      path = shared_data.golden(
        "vid_robust", f"imagenet_vid_robust_{name}.json.gz"
      )
      (folder / f"{name}.json.gz").write_bytes(path.read_bytes())
    frames = score_frames.sets("imagenet_vid_robust", folder)
    self.assertLen(frames, 22179)
    top1 = np.array([f.labels[-1] for f in frames])
    top1[::50] = (top1[::50] + 1) % 30
    columns = {
      "model": np.full(len(frames), "m"),
      "example_id": np.array([f.example_id for f in frames]),
      "top1": top1,
    }
    rows = score_frames.rows(columns, frames, "imagenet_vid_robust")
    values = {r.metric: r for r in rows if r.model == "m"}
    right = [t in f.labels for t, f in zip(top1, frames)]
    want = pm_k.accuracy(
      right, [f.group_id for f in frames], [f.frame for f in frames]
    )
    self.assertEqual(values["acc_pmk"].value, want["acc_pmk"][0])
    self.assertEqual(values["acc_pmk"].n, 1109)
    self.assertIn("effective_robustness", values)


if __name__ == "__main__":
  absltest.main()
