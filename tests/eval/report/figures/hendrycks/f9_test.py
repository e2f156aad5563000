"""Figure 9 with runs over ImageNet-22K's subtypes, beside the printed points."""

import dataclasses

from absl.testing import absltest

from eval.cells.number import Number
from eval.report import figures
from eval.report.figures import base
from tests.eval.report.figures import boards, lines

_SET = "imagenet22k_subtypes"
_METRICS = ("seen_subtype_accuracy", "unseen_subtype_accuracy")


def _runs(*models, dataset=_SET):
  return boards.beside(boards.board("subtypes", models=models), dataset)


def _clean(model, error):
  """A run over ImageNet-C that says a network's clean error."""
  board = boards.beside(boards.normalised("classification"), "imagenet_c")
  numbers = {
    ("clean_error", "", None): Number(error, error - 0.01, error + 0.01)
  }
  first = dataclasses.replace(
    board.entries[0], label=model, model=model, numbers=numbers
  )
  return dataclasses.replace(board, entries=[first])


def _own(*of):
  listed = lines.of("hendrycks_f9", base.Request(boards=of))
  return [x for x in listed if x["source"].startswith("own run")]


class Figure9Test(absltest.TestCase):
  def test_a_run_stands_where_its_network_is_printed(self):
    listed = _own(_runs("resnet50"))
    self.assertEqual([x["metric"] for x in listed][:2], sorted(_METRICS)[::-1])
    printed = lines.of("hendrycks_f9")
    (at,) = {x["accuracy"] for x in printed if x["network"] == "ResNet-50"}
    for line in listed:
      self.assertEqual(line["accuracy"], at)
      self.assertBetween(line["value"], line["lo"], line["hi"])

  def test_a_run_over_imagenet_c_says_its_accuracy(self):
    listed = _own(_runs("resnet50"), _clean("resnet50", 0.2))
    self.assertEqual({x["accuracy"] for x in listed}, {0.8})

  def test_a_network_of_no_known_accuracy_is_named(self):
    (figure,) = figures.select("hendrycks_f9")
    board = _runs("resnet50", "my_net")
    drawn = figure.drawn(base.Request(boards=[board]))
    words = " ".join(drawn.foot)
    self.assertIn("no accuracy on ImageNet-1K is known of it", words)
    self.assertIn("my_net", words)
    self.assertNotIn("resnet50,", words)

  def test_the_paper_s_set_stands_beside_it(self):
    (figure,) = figures.select("hendrycks_f9")
    ((one, asked),) = figure.parts(base.Request(boards=[_runs("resnet50")]))
    self.assertLen(one.drawn(asked).numbers.lines, 2 * (8 + 1))

  def test_other_subtypes_stand_apart(self):
    (figure,) = figures.select("hendrycks_f9")
    board = boards.board("subtypes")
    (_, first), (apart, asked) = figure.parts(base.Request(boards=[board]))
    self.assertLen(figure.drawn(first).numbers.lines, 2 * 8)
    self.assertEqual(apart.name, f"hendrycks_f9_{board.key}")
    sources = {line[-1] for line in apart.drawn(asked).numbers.lines}
    self.assertTrue(all(s.startswith("own run") for s in sources), sources)
