"""Robustness over clean accuracy: where the printed networks stand."""

import csv
import pathlib

from absl.testing import absltest

from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own
from tests.eval.report.figures import boards


class RobustnessScatterTest(absltest.TestCase):
  def test_points(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    board = boards.board("video")
    (figure,) = figures.select("schiappa_f1")
    figure.draw(base.Request(boards=[board]), folder)
    with open(folder / "schiappa_f1.csv", encoding="utf-8") as file:
      points = {line["model"]: line for line in csv.DictReader(file)}
    self.assertLen(points, 11 + 2)
    # The implied clean accuracy, and the mean of the printed groups of Table 6.
    r3d = points["R3D-P"]
    self.assertAlmostEqual(float(r3d["clean accuracy"]), 0.831, delta=5e-4)
    mean = (0.55 + 0.55 + 0.65 + 0.76 + 0.95) / 5
    self.assertAlmostEqual(float(r3d["gamma_r"]), mean, places=9)
    self.assertEqual(r3d["gflops"], "55.1")
    ours = own.of([board])[0]
    got = float(points["ours"]["clean accuracy"])
    self.assertEqual(got, ours.value("clean_accuracy"))


if __name__ == "__main__":
  absltest.main()
