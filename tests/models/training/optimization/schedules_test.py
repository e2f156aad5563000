"""The learning rate over the steps, against written-out formulas."""

import math

import numpy as np
from absl.testing import parameterized

from models.training.config import Schedule
from models.training.optimization import schedules
from robust_tfds import errors


def _rates(steps: int, per_epoch: int = 10, **fields) -> np.ndarray:
  rate = schedules.make_schedule(Schedule(**fields), 0.1, steps, per_epoch)
  return np.array([float(rate(step)) for step in range(steps)])


class SchedulesTest(parameterized.TestCase):
  def test_cosine_to_a_floor_after_a_warmup(self):
    got = _rates(110, name="cosine", floor=1e-3, warmup=10)
    np.testing.assert_allclose(got[:10], 0.1 * np.arange(10) / 10, rtol=1e-6)
    cosine = (1 + np.cos(np.pi * np.arange(100) / 100)) / 2
    want = 1e-3 + (0.1 - 1e-3) * cosine
    np.testing.assert_allclose(got[10:], want, rtol=1e-5)

  def test_step_at_epochs(self):
    got = _rates(40, name="step", at=(1, 3))
    want = np.repeat([0.1, 0.01, 0.001], [10, 20, 10])
    np.testing.assert_allclose(got, want, rtol=1e-6)

  def test_an_epoch_and_a_step_at_one_place_count_twice(self):
    got = _rates(22, name="step", at=(2,), at_steps=(20,))
    np.testing.assert_allclose(got[19:21], [0.1, 0.001], rtol=1e-5)

  def test_step_after_every_few_epochs(self):
    """ALP's: x .94 after each 2 epochs, counted from the first step."""
    got = _rates(50, name="step", every=2, factor=0.94)
    want = 0.1 * 0.94 ** (np.arange(50) // 20)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    warm = _rates(50, name="step", every=2, factor=0.94, warmup=7)
    np.testing.assert_allclose(warm[7:], want[7:], rtol=1e-6)

  def test_steps_that_nobody_names_are_refused(self):
    with self.assertRaisesRegex(errors.UserError, "schedule.at: got none"):
      _rates(3, name="step")

  def test_constant(self):
    np.testing.assert_allclose(_rates(3), 0.1)
    np.testing.assert_allclose(_rates(3, name="plateau"), 0.1)

  def test_plateau(self):
    """torch's ReduceLROnPlateau: patience 2 multiplies at the third bad epoch."""
    config = Schedule(name="plateau", patience=2, factor=0.5)
    plateau, scales = schedules.Plateau(), []
    for loss in (1.0, 0.5, 0.49999, 0.6, 0.7, 0.6, 0.6, 0.4, 0.5):
      plateau = plateau.after(loss, config, 0.1)
      scales.append(plateau.scale)
    self.assertEqual(scales, [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5])
    self.assertEqual((plateau.best, plateau.bad), (0.4, 1))
    other = schedules.Plateau().after(1.0, Schedule(), 0.1)
    self.assertEqual(other, schedules.Plateau(best=math.inf))

  def test_a_plateau_ends_where_torchs_does(self):
    """Its rate never falls by 1e-8 or less: 1e-8 stays, of 1e-5 and tenths."""
    config = Schedule(name="plateau", patience=0, factor=0.1)
    plateau, rates = schedules.Plateau(), []
    for _ in range(6):
      plateau = plateau.after(1.0, config, 1e-5)
      rates.append(1e-5 * plateau.scale)
    want = [1e-5, 1e-6, 1e-7, 1e-8, 1e-8, 1e-8]
    np.testing.assert_allclose(rates, want, rtol=1e-6)

  @parameterized.parameters(
    ({"name": "cosin"}, "schedule 'cosin'.*cosine"),
    ({"name": "step", "at": (1,), "every": 2}, "one of the two"),
    ({"name": "step", "at_steps": (1,), "every": 2}, "one of the two"),
    (
      {"name": "step", "at": (5, 9)},
      "the first after 5 of 5 steps.*never fall",
    ),
    ({"name": "step", "every": 6}, "the first after 6 of 5 steps.*never fall"),
    ({"warmup": 5}, "warmup: got 5 of 5 steps"),
  )
  def test_refusals(self, fields, message):
    with self.assertRaisesRegex(errors.UserError, message):
      schedules.make_schedule(Schedule(**fields), 0.1, 5, 1)
