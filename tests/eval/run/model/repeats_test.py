"""What answers depend on besides chance: state, order, neighbours."""

import numpy as np
from absl.testing import parameterized

from eval.run.model import repeats
from robust_tfds import errors, evaluate

_WEIGHTS = np.random.default_rng(0).normal(size=(3, 10))
_ROWS = [np.random.default_rng(1).integers(0, 256, (4, 8, 8, 3), np.uint8)]


class _Lags:
  """Centres pictures by the mean of the batch before."""

  def __init__(self):
    self._mean = 0.0

  def __call__(self, images):
    before, self._mean = self._mean, images.mean((0, 1, 2))
    return np.float32(_logits(images - before))


def _logits(images):
  return (images.mean((1, 2)) / 64) @ _WEIGHTS


class _Noise:
  """Chance alone, of a generator of its own."""

  def __init__(self, seed=0, scale=1.0):
    self._rng, self._scale = np.random.default_rng(seed), scale

  def __call__(self, images):
    noise = self._rng.normal(size=(len(images), 10)) * self._scale
    return np.float32(_logits(images) + noise)


class _Dropout(_Noise):
  def __call__(self, images):
    return _logits(images) * (self._rng.random((len(images), 10)) > 0.5)


class _Adapts:
  """Centres pictures by the mean of what it was shown, the last weighing most."""

  def __init__(self, momentum=0.1, noise=0.0):
    self._mean, self._momentum = 0.0, momentum
    self._rng, self._noise = np.random.default_rng(0), noise

  def __call__(self, images):
    now = images.mean((0, 1, 2))
    self._mean = self._mean + self._momentum * (now - self._mean)
    noise = self._rng.normal(size=(len(images), 10)) * self._noise
    return np.float32(_logits(images - self._mean) + noise)


class _Averages(_Adapts):
  """Centres them by the mean of all: the same batch again changes nothing."""

  def __init__(self):
    super().__init__()
    self._sum, self._count = 0.0, 0

  def __call__(self, images):
    self._sum, self._count = self._sum + images.mean((0, 1, 2)), self._count + 1
    return np.float32(_logits(images - self._sum / self._count))


def _noisy(function):
  rng = np.random.default_rng(0)
  return lambda x: function(x) + rng.normal(size=(len(x), 10)) * 0.3


def _of_batch(images):
  return _logits(images - images.mean((0, 1, 2)))


def _of_place(images):
  return _logits(images) * np.arange(1, 1 + len(images))[:, None]


def _dependence(function):
  return repeats.dependence(lambda rows: {"logits": function(*rows)}, _ROWS)


class DependenceTest(parameterized.TestCase):
  @parameterized.parameters(*range(20))
  def test_chance_alone(self, seed):
    for function in (_Noise(seed), _Noise(seed, 1e-4), _Dropout(seed)):
      self.assertEqual(_dependence(function), "")

  @parameterized.parameters(
    (_Adapts(), repeats.STATE),
    (_Adapts(0.01), repeats.STATE),
    (_Adapts(1.0), repeats.OTHERS),
    (_Lags(), repeats.STATE),
    (_Adapts(0.1, noise=0.3), repeats.STATE),
    (_Averages(), repeats.STATE),
    (_noisy(_of_place), repeats.ORDER),
    (_noisy(_of_batch), repeats.OTHERS),
  )
  def test_what_it_depends_on(self, function, expected):
    self.assertEqual(_dependence(function), expected)

  def test_of_detectors(self):
    rng, calls = np.random.default_rng(0), []

    def ask(rows, shift=0):
      scores = rng.random((len(rows[0]), 5)) + shift
      return {"valid": scores > 0.2, "scores": scores}

    def adapts(rows):
      calls.append(rows[0].mean())
      return ask(rows, 1 - np.mean(calls[-2:]) / 255)

    self.assertEqual(repeats.dependence(ask, _ROWS), "")
    bright = [np.full((4, 8, 8, 3), 250, np.uint8)]
    self.assertEqual(repeats.dependence(adapts, bright), repeats.STATE)


class RunTest(parameterized.TestCase):
  def _run(self, function):
    data = {"conditions": "none", "limit": 16, "batch_size": 8}
    data["data_dir"] = self.create_tempdir().full_path
    return evaluate(function, "digits_c", allow_random=True, **data)

  @parameterized.parameters(_Adapts(), _Adapts(0.1, noise=0.3), _Averages())
  def test_adapting_is_not_allowed_as_random(self, function):
    with self.assertRaisesRegex(
      errors.UserError, "after it was shown others.*corrupt --manifest.*score"
    ):
      self._run(function)
