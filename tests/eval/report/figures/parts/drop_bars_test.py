"""Accuracy lost: which networks stand in a figure, and what is drawn."""

import csv
import pathlib

from absl.testing import absltest, parameterized

from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures import base
from tests.eval.report.figures import boards


class DropBarsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("schiappa_f3", ["R3D", "I3D", "SF", "X3D", "TF", "MViT"]),
    ("schiappa_f23", ["R3D-S", "I3D-S", "SF-S", "X3D-S", "MViT-S"]),
    ("schiappa_f24", ["R3D-P", "I3D-P", "SF-P", "X3D-P", "MViT-P", "TF-P"]),
  )
  def test_networks(self, name, labels):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (figure,) = figures.select(name)
    figure.draw(base.Request(boards=[boards.board("video")]), folder)
    with open(folder / f"{name}.csv", encoding="utf-8") as file:
      lines = list(csv.DictReader(file))
    models = dict.fromkeys(line["model"] for line in lines)
    self.assertEqual(list(models), [*labels, "ours", "base"])
    self.assertEqual({line["measure"] for line in lines}, {"gamma_a"})
    svg = (folder / f"{name}.svg").read_text("utf-8")
    for label in labels:
      self.assertIn(f"<!-- {label} -->", svg)


if __name__ == "__main__":
  absltest.main()
