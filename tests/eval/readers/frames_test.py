"""Predictions from a file on sets of frames."""

import csv
import pathlib

import numpy as np

from eval.metrics import pm_k
from eval.readers import base, frames
from robust_tfds import errors
from tests import in_folder, shared_data
from tests.datasets import natural_videos


def write(path: pathlib.Path, rows) -> pathlib.Path:
  """(example_id, top1, model) as CSV."""
  with path.open("w", newline="") as f:
    writer = csv.writer(f)
    writer.writerow(["example_id", "top1", "model"])
    writer.writerows(rows)
  return path


class FramesReaderTest(in_folder.TestCase):
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

  def test_missing_frames_are_named(self):
    rows = [(i, 4, "m") for i in self.ids if i != natural_videos.path("a", 13)]
    path = write(self.root / "mine.csv", rows)
    with self.assertRaisesRegex(
      ValueError,
      "mine.csv: No prediction for 1 of 6 frames: 'val/.*_a/000013.JPEG'",
    ):
      self._read(path)

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
      ([*whole[:-1], ("", 1, "b")], "'example_id', row 12 is empty"),
    ):
      path = write(self.root / "mine.csv", rows)
      with self.assertRaisesRegex(errors.UserError, message):
        self._read(path)

  def test_what_is_left_out_is_named(self):
    rows = [(i, 4, "m") for i in (*self.ids, "val/of/no/set.JPEG")]
    notes = self._read(write(self.root / "mine.csv", rows)).notes
    self.assertIn("1 frames of mine.csv are of no reviewed set", notes[-1])

  def test_other_refusals(self):
    path = write(self.root / "mine.csv", [(i, 4, "m") for i in self.ids])
    with self.assertRaisesRegex(ValueError, "Did you mean 'ytbb_robust'"):
      self._read(path, dataset="ytbb_robst")
    with self.assertRaisesRegex(ValueError, "name its folder by --metadata"):
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
