"""The figure of effective robustness: residuals, references, refusals."""

import dataclasses

from absl.testing import parameterized

from eval import papers
from eval.metrics import trend
from eval.report.figures import base
from robust_tfds import errors
from tests.eval.report.figures import boards, lines

_NAME = "effective_robustness"


class EffectiveRobustnessTest(parameterized.TestCase):
  def test_residuals_of_the_testbed(self):
    got = lines.of(_NAME)
    mine = [x for x in got if x["dataset"] == "imagenet_vid_robust"]
    testbed = papers.testbed("imagenet_vid_robust")
    mine.sort(key=lambda x: list(testbed).index(x["model"]))
    self.assertEqual([x["model"] for x in mine], list(testbed))
    fitted = {x["model"] for x in mine if x["fitted"] == "yes"}
    self.assertLen(fitted, 78)
    self.assertEqual(
      {x["kind"] for x in mine if x["model"] in fitted}, {"standard"}
    )
    x, y = zip(*testbed.values())
    standard = papers.testbed("imagenet_vid_robust", "standard").values()
    above = trend.fit(*zip(*standard), logits=True).above(x, y)
    values = [line["effective robustness"] for line in mine]
    self.assertSequenceAlmostEqual(values, above.tolist(), delta=1e-12)

  def test_a_few_models_have_no_band(self):
    of = {x["dataset"]: x for x in lines.of(_NAME)}
    for dataset, known in (("pascal_c", False), ("coco_c", True)):
      self.assertEqual(isinstance(of[dataset]["line lo"], float), known)

  @parameterized.parameters(
    ("printed", 45), ("testbed", 335), ("standard", 335)
  )
  def test_the_reference_can_be_chosen(self, name, count):
    got = lines.of(_NAME, base.Request(reference=name))
    mine = [x for x in got if x["dataset"] == "imagenet_vid_robust"]
    self.assertLen(mine, count)
    self.assertEqual({x["reference"] for x in mine}, {name})

  def test_runs_stand_above_the_testbed(self):
    board = boards.beside(boards.board("frames"), "imagenet_vid_robust")
    printed = {x["dataset"] for x in lines.of(_NAME)}
    got = lines.of(_NAME, base.Request(boards=[board]))
    order = list(dict.fromkeys(x["dataset"] for x in got))
    self.assertEqual(order[-1], "imagenet_vid_robust")
    self.assertEqual(set(order), printed)
    mine = [x for x in got if x["dataset"] == "imagenet_vid_robust"]
    self.assertLen(mine, 335 + 2)
    (line,) = [x for x in mine if x["model"] == "ours"]
    value = line["y"] - line["line at x"]
    self.assertAlmostEqual(line["effective robustness"], value)

  def test_runs_of_other_data_stand_above_no_printed_line(self):
    board = boards.beside(boards.board("frames"), "imagenet_vid_robust")
    entries = [
      dataclasses.replace(e, data={**e.data, "examples": 100})
      for e in board.entries
    ]
    asked = base.Request(boards=[dataclasses.replace(board, entries=entries)])
    with self.assertRaisesRegex(
      errors.UserError, "other data than these runs: examples 22179, here 100"
    ):
      lines.of(_NAME, asked)

  def test_too_few_models(self):
    request = base.Request(boards=[boards.board("video")])
    with self.assertRaisesRegex(errors.UserError, "2 of at least 3 models"):
      lines.of(_NAME, request)
