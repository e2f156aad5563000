"""Figure 6 with runs: what tells scratch from pretrained, and its intervals."""

import dataclasses

import numpy as np
from absl.testing import parameterized
from etils import epath

from eval.metrics.replicates import Replicates
from eval.report import figures
from eval.report.figures import base, drawing
from robust_tfds import conditions, errors
from tests.eval.report.figures import boards, lines

_NAMES = conditions.VIDEOS.names("common")


def _request(words, dataset="ucf101_p", shared=True, **named):
  """A run's only model, of `trained_on`, each gamma 0.8 with draws."""
  asked = boards.request("video", models=("net",), names=_NAMES)
  board = boards.beside(asked.boards[0], dataset)
  facts = {"name": "x3d_m", "trained_on": words}
  entries = [dataclasses.replace(e, model_facts=facts) for e in board.entries]
  board = dataclasses.replace(board, entries=entries)
  rng, (one,) = np.random.default_rng(0), asked.scored
  noise = rng.normal(0, 0.01, 2100)
  one.side.dataset = dataset
  for name in _NAMES:
    if not shared:
      noise = rng.normal(0, 0.01, 2100)
    joined = np.array(0.8), 0.8 + noise[:2000], 0.8 + noise[2000:] / 10
    for measure in ("gamma_a", "gamma_r"):
      one.draws[measure, name, None] = Replicates(*joined, 100.0)
  return dataclasses.replace(asked, boards=[board], **named)


def _own(asked):
  listed = [x for x in lines.of("schiappa_f6", asked) if "own" in x["source"]]
  return {(x["kind"], x["measure"]): x for x in listed}


class Figure6Test(parameterized.TestCase):
  @parameterized.parameters(
    ("UCF101 train, split 1", {}, "scratch"),
    ("from scratch on its clips", {}, "scratch"),
    ("Kinetics-400, then UCF101", {}, "kinetics400"),
    ("IG-65M, then UCF101", {}, "kinetics400"),
    ("UCF101, fine-tuned from SSv2", {}, "kinetics400"),
    ("UCF101 train", {"pretrained": ["made_up"]}, "kinetics400"),
    ("Kinetics-400", {"scratch": ["net"]}, "scratch"),
    ("", {"scratch": ["made_up"]}, "scratch"),
  )
  def test_facts_or_flags_say_which_it_is(self, words, named, training):
    listed = _own(_request(words, **named))
    self.assertLen(listed, 3 * 2)
    self.assertEqual({x["training"] for x in listed.values()}, {training})
    self.assertEqual({x["network"] for x in listed.values()}, {"x3d_m"})

  @parameterized.parameters("", "SSv2")
  def test_what_nobody_says_is_asked_for(self, words):
    asked = _request(words, dataset="digits_video_p")
    with self.assertRaisesRegex(errors.UserError, "--scratch=made_up or"):
      _own(asked)

  @parameterized.parameters(
    ({"scratch": ["nobody"]}, "in --scratch 'nobody'.*Known: .*made_up"),
    (
      {"pretrained": ["net", "ned"]},
      "in --pretrained 'ned'. Did you mean 'net'",
    ),
    ({"scratch": ["net"], "pretrained": ["net"]}, "both name net"),
  )
  def test_names_of_no_run_are_refused(self, named, words):
    folder = epath.Path(self.create_tempdir().full_path)
    for dataset in ("ucf101_p", "digits_video_p"):
      asked = _request("UCF101", dataset, **named)
      with self.assertRaisesRegex(errors.UserError, words):
        drawing.draw(figures.select("schiappa_f6"), asked, folder)
    alone = base.Request(scratch=["net"])
    with self.assertRaisesRegex(errors.UserError, "Known: no RUN"):
      drawing.draw(figures.select("schiappa_f6"), alone, folder)

  def test_a_mean_is_of_the_same_draws(self):
    together = _own(_request("UCF101"))["temporal", "gamma_r"]
    apart = _own(_request("UCF101", shared=False))["temporal", "gamma_r"]
    widths = [x["hi"] - x["lo"] for x in (together, apart)]
    self.assertAlmostEqual(together["mean"], 0.8)
    self.assertAlmostEqual(widths[0] / widths[1], 5**0.5, delta=0.4)

  def test_part_of_a_kind_is_no_mean_of_it(self):
    asked = _request("UCF101")
    asked.scored[0].draws.clear()
    (entry,) = asked.boards[0].entries
    del entry.numbers["gamma_r", "jumbling", None]
    listed = _own(asked)
    self.assertNotIn(("temporal", "gamma_r"), listed)
    self.assertIn(("temporal", "gamma_a"), listed)
