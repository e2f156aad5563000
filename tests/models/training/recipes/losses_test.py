"""Losses of recipes against docs/evidence/specs/training.md, sections 2 and 5, in numpy.

The network is a matrix on pixels in [0, 1], so that an attack's steps are known.
"""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from configs import train_corruption_mix
from models.enhancements import clahe
from models.training import recipes
from models.training.recipes import alp, augmix, base, stability
from tests.models.training import tiny_trainings

_CLASSES = 4
_RNG = np.random.default_rng(3)
_LABEL = np.array([1, 0, 3, 2, 1])
_BATCH = {
  "image": _RNG.integers(0, 256, (5, 6, 6, 3)).astype(np.uint8),
  "label": _LABEL,
  "key": np.arange(10, dtype=np.uint32).reshape(5, 2),
}
_MATRIX = _RNG.normal(size=(6 * 6 * 3, _CLASSES)).astype(np.float32) / 3


def _apply(variables, pixels, key):
  """Logits of bytes or of pixels in [0, 1]; statistics count trainings alone."""
  if pixels.dtype == jnp.uint8:
    pixels = pixels / jnp.float32(255)
  logits = pixels.reshape(len(pixels), -1) @ variables["matrix"]
  calls = variables["calls"] + (key is not None)
  return logits, {**variables, "calls": calls}


def _loss(recipe, matrix=_MATRIX):
  key = jax.random.key(0)
  variables = {"matrix": matrix, "calls": 0}
  return recipe.loss(_apply, variables, _BATCH, key)


def _logits(pixels):
  return pixels.reshape(len(pixels), -1) @ _MATRIX


def _log_p(logits):
  logits = np.float64(logits)
  return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def _smoothed(logits, share, label=_LABEL):
  """Mean of -(1 - share) log p_label - share * mean_j log p_j."""
  log = _log_p(logits)
  of_label = log[np.arange(len(log)), label]
  return -np.mean((1 - share) * of_label + share * log.mean(-1))


def _attacked(clean, target, start, bound, step, steps):
  """Targeted PGD on the matrix, written out."""
  at = start
  for _ in range(steps):
    p = np.exp(_log_p(_logits(at)))
    gradient = (p - np.eye(_CLASSES)[target]) @ _MATRIX.T.astype(np.float64)
    moved = at - step * np.sign(gradient.reshape(at.shape))
    at = np.clip(np.clip(moved, clean - bound, clean + bound), 0, 1)
  return at


class AlpTest(parameterized.TestCase):
  def _shown(self, **fields):
    recipe = alp.Alp(**fields)
    variables = {"matrix": _MATRIX, "calls": 0}
    return np.asarray(recipe.network_inputs(_apply, variables, _BATCH))

  def test_pictures_then_attacked_ones(self):
    """pgdll_16_2_10: towards the least likely class of clean pictures."""
    clean = _BATCH["image"] / np.float32(255)
    start = self._shown(step=0.0)[5:]
    shown = self._shown()
    np.testing.assert_allclose(shown[:5], clean, atol=1e-7)
    target = _logits(clean).argmin(-1)
    want = _attacked(clean, target, start, 16 / 255, 2 / 255, 10)
    np.testing.assert_allclose(shown[5:], want, atol=1e-5)
    before, after = (
      _log_p(_logits(x))[np.arange(5), target] for x in (clean, shown[5:])
    )
    self.assertTrue((after > before + 0.1).all())

  @parameterized.parameters(0.5, 0.25)
  def test_loss(self, weight):
    """CE of all 2B, one mean, smoothing .1, and w times the mean square."""
    recipe = alp.Alp(weight=weight, label_smoothing=0.1)
    shown = self._shown()
    clean, attacked = np.split(_logits(shown), 2)
    pairing = np.mean((clean - attacked) ** 2)
    twice = np.concatenate([_LABEL, _LABEL])
    want = _smoothed(_logits(shown), 0.1, twice) + weight * pairing
    loss, (variables, numbers) = _loss(recipe)
    np.testing.assert_allclose(loss, want, rtol=1e-5)
    np.testing.assert_allclose(numbers["pairing"], pairing, rtol=1e-5)
    wrong = np.mean(clean.argmax(-1) != _LABEL)
    np.testing.assert_allclose(numbers["error"], wrong)
    self.assertEqual(variables["calls"], 1)  # attacks move no statistics
    self.assertEqual(recipe.passes, 12)  # 10 of the attack, 2 of the loss

  def test_adversarial_training(self):
    """Of attacked pictures alone; random targets are wrong classes, by key."""
    fields = {"weight": 0.0, "clean": 0.0, "target": "random"}
    recipe = alp.Alp(**fields, step=1.0, steps=30, label_smoothing=0.1)
    shown = self._shown(**fields, step=1.0, steps=30)
    self.assertEqual(shown.shape, (5, 6, 6, 3))
    loss, (_, numbers) = _loss(recipe)
    np.testing.assert_allclose(loss, _smoothed(_logits(shown), 0.1), rtol=1e-5)
    self.assertEqual(set(numbers), {"adversarial_error"})
    keys = np.arange(600, dtype=np.uint32).reshape(300, 2)
    label = np.arange(300) % _CLASSES
    targets = np.asarray(
      recipe._targets(np.zeros((300, _CLASSES)), label, keys)
    )
    self.assertFalse((targets == label).any())
    counts = np.bincount((targets - label) % _CLASSES, minlength=_CLASSES)
    self.assertBetween(counts[1:].min(), 70, 100)

  def test_no_gradient_goes_through_the_attack(self):
    """It is that of fixed pixels."""
    shown = self._shown()
    recipe = alp.Alp()
    fixed = lambda matrix: recipe.logits_loss(
      shown.reshape(10, -1) @ matrix, _LABEL
    )[0]
    whole = lambda matrix: _loss(recipe, matrix)[0]
    np.testing.assert_allclose(
      jax.grad(whole)(_MATRIX), jax.grad(fixed)(_MATRIX), atol=1e-5
    )


class StabilityTest(parameterized.TestCase):
  @parameterized.product(bound=(0.01, 0.1), weight=(0.01, 0.05, 0.1))
  def test_loss(self, bound, weight):
    """CE(clean) - w sum_j p_clean,j log p_noisy,j, a gradient through both."""
    recipe = stability.Stability(bound=bound, weight=weight)
    images = np.asarray(recipe.views(_BATCH))
    clean, noisy = np.split(_logits(images / np.float32(255)), 2)
    cross = -np.mean(np.sum(np.exp(_log_p(clean)) * _log_p(noisy), axis=-1))
    loss, (_, numbers) = _loss(recipe)
    np.testing.assert_allclose(
      loss, _smoothed(clean, 0) + weight * cross, rtol=1e-5
    )
    np.testing.assert_allclose(numbers["instability"], cross, rtol=1e-5)

  def test_gradient(self):
    """Of -sum p log q: p (cross - log q ...) for p's logits, q - p for q's."""
    recipe = stability.Stability(weight=1.0)
    logits = _RNG.normal(size=(10, _CLASSES)).astype(np.float32)
    got = jax.grad(lambda x: recipe.logits_loss(x, _LABEL)[0])(logits)
    p, q = np.split(np.exp(_log_p(logits)), 2)
    cross = -np.sum(p * np.log(q), axis=-1, keepdims=True)
    of_clean = p - np.eye(_CLASSES)[_LABEL] + p * (-np.log(q) - cross)
    want = np.concatenate([of_clean, q - p]) / 5
    np.testing.assert_allclose(got, want, atol=1e-6)


class AugmixTest(parameterized.TestCase):
  def test_loss(self):
    """CE(clean) + 12 mean_k KL(p_k || M), of one forward of three views."""
    recipe = augmix.Augmix()
    views = np.asarray(recipe.views(_BATCH)) / np.float32(255)
    log = np.stack(np.split(_log_p(_logits(views)), 3))
    mean = np.clip(np.exp(log).mean(0), 1e-7, 1)
    jsd = np.mean(np.sum(np.exp(log) * (log - np.log(mean)), axis=-1))
    loss, (variables, numbers) = _loss(recipe)
    want = _smoothed(_logits(views[:5]), 0) + 12 * jsd
    np.testing.assert_allclose(loss, want, rtol=1e-5)
    np.testing.assert_allclose(numbers["jsd"], jsd, rtol=1e-4)
    self.assertEqual(variables["calls"], 1)

  def test_without_disagreement_mixtures_are_trained_on(self):
    """Not the pictures alone: `--no-jsd` of the authors' CIFAR code."""
    recipe, whole = augmix.Augmix(jsd=0.0), augmix.Augmix()
    views = np.asarray(recipe.views(_BATCH))
    np.testing.assert_array_equal(views, np.asarray(whole.views(_BATCH))[5:10])
    loss, (_, numbers) = _loss(recipe)
    want = _smoothed(_logits(views / np.float32(255)), 0)
    np.testing.assert_allclose(loss, want, rtol=1e-5)
    self.assertEqual(set(numbers), {"error"})
    self.assertEqual(recipe.passes, 1)


class CorruptionMixTest(parameterized.TestCase):
  def test_a_probability_leaves_some_as_they_are(self):
    """An example is under its corruption, or what it was, by its key."""
    fields = {"name": "corruption_mix", "names": "gaussian_noise"}
    rng = np.random.default_rng(0)
    images = rng.integers(60, 200, (300, 6, 6, 3), np.uint8)
    keys = rng.integers(0, 2**32, (300, 2), np.uint32)
    some, always, never = (
      np.asarray(
        recipes.make_recipe({**fields, "probability": p}).transform(
          images, keys
        )
      )
      for p in (0.75, 1.0, 0.0)
    )
    np.testing.assert_array_equal(never, images)
    same = (some == images).all((1, 2, 3))
    self.assertBetween(same.sum(), 45, 105)
    np.testing.assert_array_equal(some[~same], always[~same])

  def test_videos_of_the_paper_are_changed_as_its_code_does(self):
    recipe = train_corruption_mix.get_config("temporal,ucf101").recipe
    self.assertEqual(recipe.probability, 0.75)


class ClaheTest(parameterized.TestCase):
  def test_the_same_pictures_in_training_and_at_test(self):
    """Those of the enhancement, after crops and flips."""
    images = tiny_trainings.Source().image[:5]
    recipe = recipes.make_recipe({"name": "clahe", "flip": True, "crop_px": 2})
    want = clahe.equalize(
      base.Recipe(flip=True, crop_px=2).transform(images, _BATCH["key"])
    )
    got = recipe.transform(images, _BATCH["key"])
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(
      recipe.test_inputs(images), clahe.equalize(images)
    )
    self.assertIn("CLAHE", recipe.disclosure()["pictures"])
