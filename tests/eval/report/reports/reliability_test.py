"""Reliability diagrams: which panels, of which examples; nothing without scores."""

import dataclasses
import pathlib

import numpy as np
from absl.testing import parameterized

from eval.metrics import calibration
from eval.report.reports import reliability
from robust_tfds import conditions
from tests import in_folder
from tests.eval.report.reports import contexts


def _bins(seed: int, n: int = 50) -> calibration.Bins:
  rng = np.random.default_rng(seed)
  score = rng.beta(4, 2, n)
  return calibration.reliability(score, rng.random(n) < score)


def _context(task="classification", left_out=(), names=None):
  context = contexts.of_task(task)
  family = context.family
  names = family.names("common") if names is None else names
  cells = [conditions.Condition()]
  cells += [family.condition(n, s) for n in names for s in (1, 2)]
  known = {
    (model, c.name, c.level): _bins(i)
    for model in context.models
    for i, c in enumerate(cells)
    if c.config not in left_out
  }
  return dataclasses.replace(
    context, corruptions=tuple(names), reliability=known
  )


class PanelsTest(parameterized.TestCase):
  def test_clean_and_severities(self):
    context = _context()
    clean, one, two = reliability.panels(context, "ours")
    self.assertEqual(clean.title, "clean")
    self.assertEqual(one.title, "severity 1, 15 corruptions")
    self.assertEqual(two.title, "severity 2, 15 corruptions")
    self.assertEqual(sum(clean.bins.count), 50)
    self.assertEqual(sum(one.bins.count), 15 * 50)
    self.assertTrue(clean.bins.lo)
    self.assertFalse(one.bins.lo)  # the same pictures 15 times

  def test_what_is_missing_is_said(self):
    context = _context(left_out=("fog_1",))
    _, one, two = reliability.panels(context, "ours")
    self.assertEqual(one.title, "severity 1, 14 of 15 corruptions")
    self.assertEqual(two.title, "severity 2, 15 corruptions")
    context = _context(names=("fog", "snow"))
    _, one, _ = reliability.panels(context, "ours")
    self.assertEqual(one.title, "severity 1, 2 of 15 corruptions")

  def test_extra_corruptions_are_in_none(self):
    context = _context(names=("fog", "speckle_noise"))
    _, one, _ = reliability.panels(context, "ours")
    self.assertEqual(sum(one.bins.count), 50)
    context = _context(names=("speckle_noise",))
    self.assertLen(reliability.panels(context, "ours"), 1)


class WriteTest(in_folder.TestCase):
  @parameterized.parameters("classification", "video")
  def test_pictures(self, task):
    context = _context(task)
    written = reliability.Reliability().write(context, self.root)
    self.assertEqual(
      [p.name for p in written], ["reliability.png", "reliability.svg"]
    )
    noun = "corruptions" if task == "classification" else "perturbations"
    svg = pathlib.Path(written[1]).read_text()
    self.assertIn(f"severity 1, {len(context.common)} {noun}", svg)

  def test_nothing_without_scores(self):
    context = dataclasses.replace(_context(), reliability={})
    self.assertEqual(reliability.Reliability().write(context, self.root), [])

  def test_a_model_without_scores_beside_one_with(self):
    context = _context()
    known = {k: v for k, v in context.reliability.items() if k[0] == "base"}
    context = dataclasses.replace(context, reliability=known)
    svg = pathlib.Path(reliability.Reliability().write(context, self.root)[1])
    self.assertIn("base", svg.read_text())
    self.assertNotIn("ours", svg.read_text())
