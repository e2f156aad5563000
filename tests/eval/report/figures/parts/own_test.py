"""Entries of boards under labels of their own."""

import dataclasses

from absl.testing import absltest, parameterized

from eval.report.figures.parts import own
from robust_tfds.conditions import Condition
from tests.eval.report.figures import boards


class OwnTest(absltest.TestCase):
  def test_labels(self):
    models = own.from_boards([boards.board("video")])
    self.assertEqual([m.label for m in models], ["ours", "base"])
    self.assertEqual(models[0].source, "own run made_up, digits_c")

  def test_equal_labels_stay_apart(self):
    pair = [boards.board("video", run=r) for r in ("one", "two")]
    self.assertEqual(
      [m.label for m in own.from_boards(pair)],
      ["ours (one)", "base (one)", "ours (two)", "base (two)"],
    )
    same = [boards.board("video", run="one")] * 2
    self.assertLen({m.label for m in own.from_boards(same)}, 4)

  def test_numbers(self):
    model = own.from_boards([boards.board("video")])[0]
    whole = model.number("gamma_r")
    self.assertEqual(model.value("gamma_r"), whole.value)
    self.assertNotEqual(model.value("gamma_r", "jumbling"), whole.value)
    self.assertIsNone(model.number("mce"))
    self.assertIsNone(model.value("mce"))
    self.assertIsNotNone(model.cell_number("accuracy", Condition()))
    jumbled = Condition("jumbling", 3, "videos")
    self.assertIsNotNone(model.cell_number("accuracy", jumbled))
    self.assertIsNone(model.cell_number("error", Condition()))
    self.assertIsNone(model.cell_number("accuracy", Condition("fog", 3)))


class ComparableTest(parameterized.TestCase):
  def models(self, **facts):
    data = {
      "split": "validation",
      "examples": 50_000,
      "edition": "imagenet",
      "px": [224, 224],
    }
    data |= {"codec": "jpeg85", "subset": "", **facts}
    board = boards.board("classification", dataset="imagenet_c")
    entries = [dataclasses.replace(e, data=data) for e in board.entries]
    return own.from_boards([dataclasses.replace(board, entries=entries)])

  def test_of_the_printed_protocol(self):
    models = self.models()
    self.assertEmpty(models[0].differences)
    self.assertEmpty(own.comparability(models, "imagenet_c"))

  def test_of_another_protocol(self):
    models = self.models(codec="raw")
    self.assertEqual(dict(models[0].differences), {"codec": ("jpeg85", "raw")})
    self.assertEqual(
      own.comparability(models, "imagenet_c"),
      "Own run made_up is of another protocol: codec raw (printed: jpeg85).",
    )

  def test_of_other_data(self):
    models = own.from_boards([boards.board("classification")])
    self.assertTrue(models[0].differences)
    remark = own.comparability(models, "imagenet_c")
    self.assertStartsWith(
      remark, "Not comparable with the printed numbers: own"
    )

  def test_baselines(self):
    board = boards.board("classification", dataset="mine")
    board = dataclasses.replace(board, baseline="net, of the run")
    self.assertEqual(
      own.baselines(own.from_boards([board]), "imagenet_c"),
      "Printed numbers: divided by AlexNet. mine: divided by net, of the run.",
    )

  def test_without_numbers(self):
    models = self.models()
    self.assertIn("known of ours, base", own.missing_numbers(models, []))
    self.assertEmpty(own.missing_numbers(models, ["ours", "base"]))
