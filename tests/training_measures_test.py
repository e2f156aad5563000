"""The columns of docs/TRAINING.md follow from what was stored of trainings."""

import dataclasses

import numpy as np
from absl.testing import absltest

from tools import training_measures, training_runs

_PICTURES = training_runs.stored("pictures")


def _of(network: str, row: str) -> list[training_runs.Line]:
  return [x for x in _PICTURES if (x.network, x.row) == (network, row)]


class PicturesTest(absltest.TestCase):
  def test_it_is_held_against_standard_of_the_same_network(self):
    """mCE and mFR of `standard` are 100 on average; others in its measure."""
    for network in dict.fromkeys(line.network for line in _PICTURES):
      standard = _of(network, training_runs.STANDARD)
      measures = training_measures.of("pictures", standard)
      each = [measures.of(line, ()) for line in standard]
      for name in ("mCE", "mFR"):
        self.assertAlmostEqual(np.mean([x[name] for x in each]), 100, places=6)

  def test_held_out_leaves_out_what_was_trained_on(self):
    line = _of("digits_cnn", "one noise: gaussian_noise")[0]
    self.assertEqual(line.seen, ("gaussian_noise",))
    standard = _of("digits_cnn", training_runs.STANDARD)
    values = training_measures.of("pictures", standard).of(line, line.seen)
    total = 15 * values["mean"]
    total -= 100 * line.numbers["gaussian_noise:mean_error"]
    self.assertAlmostEqual(values["held out"], total / 14, places=4)

  def test_mfp_is_of_flips_themselves(self):
    line = _of("digits_cnn", "augmix")[0]
    standard = _of("digits_cnn", training_runs.STANDARD)
    values = training_measures.of("pictures", standard).of(line, ())
    flips = [v for k, v in line.numbers.items() if "flip_probability" in k]
    self.assertLen(flips, 10)
    self.assertAlmostEqual(values["mFP"], 100 * np.mean(flips))

  def test_gammas_are_the_stored_ones_where_nothing_is_left_out(self):
    for line in training_runs.stored("videos"):
      values = training_measures.of("videos", [line]).of(line, ())
      for name in ("gamma_a", "gamma_r"):
        of_all = values[f"{name} held out"]
        self.assertAlmostEqual(of_all, values[name], places=3)

  def test_what_warps_are_near_to_is_not_held_out(self):
    """AugMix's rotations are no condition, and close to one of sequences."""
    line = _of("digits_cnn", "augmix")[0]
    standard = _of("digits_cnn", training_runs.STANDARD)
    measures = training_measures.of("pictures", standard)
    values = measures.of(line, measures.not_held_out(line))
    flips = {k: v for k, v in line.numbers.items() if "flip_probability" in k}
    for name in ("translate", "rotate", "tilt"):
      del flips[f"{name}:flip_probability"]
    mean = 100 * np.mean(list(flips.values()))
    self.assertAlmostEqual(values["mFP held out"], mean)
    self.assertEqual(measures.not_held_out(standard[0]), ())


class ToldTest(absltest.TestCase):
  def test_they_are_columns(self):
    for kind in training_runs.KINDS:
      if lines := training_runs.stored(kind):
        names = training_measures.of(kind, lines).names
        self.assertCountEqual(training_measures.told(kind), names)


class OthersTest(absltest.TestCase):
  def _line(self, **numbers: float) -> training_runs.Line:
    return dataclasses.replace(_PICTURES[0], numbers=numbers)

  def test_videos(self):
    accuracies = {"jpeg": 0.3, "mpeg1": 0.5, "freezing": 0.5, "jumbling": 0.1}
    shown = {f"{k}:part_mean_accuracy": v for k, v in accuracies.items()}
    line = self._line(
      clean_accuracy=0.9, part_gamma_a=0.6, part_gamma_r=0.7, **shown
    )
    values = training_measures.of("videos", [line]).of(line, ("jumbling",))
    expected = {"clean": 90, "mean": 35, "held out": 130 / 3}
    expected |= {"gamma_a": 60, "gamma_r": 70}
    # Two groups, of 40 and 50 %.
    expected |= {"gamma_a held out": 55, "gamma_r held out": 50}
    self.assertEqual(values.keys(), expected.keys())
    for name, value in expected.items():
      self.assertAlmostEqual(values[name], value, msg=name)

  def test_detectors(self):
    line = self._line(p=0.5, mpc=0.25, rpc=0.5)
    values = training_measures.of("detectors", [line]).of(line, ())
    self.assertEqual(values, {"P": 50, "mPC": 25, "rPC": 50})


if __name__ == "__main__":
  absltest.main()
