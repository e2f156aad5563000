"""Recipes: every file of the folder, losses against numpy, what each shows."""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from configs import train_corruption_mix
from models import training
from models.enhancements import clahe
from models.training import named_conditions, recipes
from models.training.recipes import alp, augmix, base, stability
from robust_tfds import conditions, errors
from tests import in_process, tiny_files
from tests.models.training import tiny_trainings

# Pictures of a step on one device and on two, as the network sees them.
_TWO_DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import hashlib, json
import jax
from robust_tfds import devices
from models.training.optimization import validation
from tests.models.training.recipes import recipes_test as t

mesh = devices.mesh()
assert mesh.size == 2
for name, (recipe, batch) in t.batches().items():
  results = recipe.views(batch), jax.jit(recipe.views)(validation.put(batch, mesh))
  hashes = [
    [hashlib.sha256(jax.device_get(x).tobytes()).hexdigest() for x in jax.tree.leaves(r)]
    for r in results
  ]
  print("RESULT", json.dumps([name, *hashes]))
"""


def batches() -> dict:
  """Name -> a recipe, and a batch of eight for it."""
  batch = next(tiny_trainings.Source().batches(batch_size=8, seed=0, epoch=0))
  del batch["id"]
  made = {n: recipes.make_recipe({"name": n}) for n in recipes.names()}
  made["stylized"] = recipes.make_recipe(
    {"name": "stylized", "mode": "combined"}
  )
  made["detector"] = recipes.make_recipe(
    {"name": "detector", "mode": "stylized", "flip": True}
  )
  objects = {
    "size": np.array([[20, 24 + i] for i in range(8)], np.int32),
    "boxes": np.tile(np.float32([[2, 3, 9, 12], [0, 0, 0, 0]]), (8, 1, 1)),
    "labels": np.tile(np.int32([1, -1]), (8, 1)),
  }
  return {
    name: (
      recipe,
      tiny_trainings.joined(
        recipe, {**batch, **(objects if name == "detector" else {})}
      ),
    )
    for name, recipe in made.items()
  }


class RecipesTest(parameterized.TestCase):
  def test_unknown(self):
    for name, given, words in (
      ("standart", {}, "recipe 'standart'.*standard"),
      ("standard", {"flop": True}, "recipe.flop: .*Did you mean 'flip'"),
      ("augmix", {"depth": 0}, "recipe.depth must be .* -1 or 1 to 16, got 0"),
      ("alp", {"target": "likely"}, "target .* 'likely'"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        recipes.make_recipe({"name": name, **given})

  @parameterized.parameters(
    ("standard", "flip", "yes", "True or False"),
    ("standard", "label_smoothing", 1, "a number from 0 to below 1"),
    ("augmix", "jsd", 1e30, "a number from 0 to 1000"),
    ("augmix", "alpha", 1e-30, "a number from 0.01 to 100"),
    ("augmix", "severity", "3", "a number"),
    ("pixmix", "short_px", 0, "a whole number from 1 to 2048"),
    ("pixmix", "beta", float("nan"), "a number from 0.01 to 100"),
    ("pixmix", "pictures", 3, "a text"),
    ("alp", "steps", 0, "a whole number from 1 to 1000"),
    ("alp", "bound", 0.0, "a number from 0.001 to 255"),
    ("stability", "bound", 12.75, "a number from 0 to 1"),
    ("corruption_mix", "severities", (), "whole numbers from 1 to 5"),
    ("corruption_mix", "names", 3, "names with commas between"),
  )
  def test_values(self, name, key, value, expected):
    with self.assertRaisesRegex(
      errors.UserError, f"^config.recipe.{key}: got .*, expected {expected}"
    ):
      recipes.make_recipe({"name": name, key: value})

  @parameterized.parameters(*[(n,) for n in recipes.names() if n != "detector"])
  def test_classifiers(self, name):
    """The loss is finite, the same again, and moves the statistics."""
    recipe, model = (
      recipes.make_recipe({"name": name}),
      tiny_trainings.network(),
    )
    batch = next(tiny_trainings.Source().batches(batch_size=4, seed=0, epoch=0))
    del batch["id"]
    batch = tiny_trainings.joined(recipe, batch)
    variables = model.init(jax.random.key(0))
    loss = jax.jit(
      lambda v, b: recipe.loss(base.applied(model), v, b, jax.random.key(1))
    )
    value, (moved, numbers) = loss(variables, batch)
    again, _ = loss(variables, batch)
    self.assertTrue(np.isfinite(value))
    self.assertEqual(value, again)
    self.assertBetween(float(numbers["error"]), 0, 1)
    self.assertFalse(
      np.array_equal(moved["norm"]["mean"], variables["norm"]["mean"])
    )
    shown = recipe.disclosure()
    self.assertLessEqual({*shown["conditions"]}, {*conditions.every_name()})

  def test_detectors_sum_their_losses(self):
    recipe, batch = batches()["detector"]

    def apply_train(variables, shown, key):
      del key
      self.assertGreaterEqual(
        shown.keys(), {"image", "size", "boxes", "labels"}
      )
      return {
        "box": jax.numpy.float32(1.0),
        "mask": jax.numpy.float32(2.0),
      }, variables

    loss, (variables, numbers) = recipe.loss(apply_train, "v", batch, None)
    self.assertEqual(
      (loss, variables, sorted(numbers)), (3, "v", ["box", "mask"])
    )

  def test_disagreement_of_augmix(self):
    """Mean of KL(p_k || M), written out."""
    p = np.array([[[0.7, 0.3]], [[0.2, 0.8]], [[0.5, 0.5]]])
    mean = p.mean(0)
    want = np.mean([np.sum(q * np.log(q / mean)) for q in p])
    np.testing.assert_allclose(augmix.disagreement(np.log(p)), want, rtol=1e-5)

  def test_views(self):
    """Clean pictures first; noise within its bound."""
    source = tiny_trainings.Source()
    batch = next(source.batches(batch_size=4, seed=0, epoch=0))
    del batch["id"]
    images = batch["image"]
    for name, views in (("augmix", 3), ("stability", 2), ("pixmix", 1)):
      recipe = recipes.make_recipe({"name": name})
      got = np.asarray(recipe.views(tiny_trainings.joined(recipe, batch)))
      self.assertEqual(
        (got.dtype, got.shape), (np.uint8, (4 * views, 32, 32, 3))
      )
      if views > 1:
        np.testing.assert_array_equal(got[:4], images)
      self.assertFalse(np.array_equal(got[-4:], images))
      if name == "augmix":
        self.assertFalse(np.array_equal(got[4:8], got[8:]))
      if name == "stability":
        far = np.abs(got[4:].astype(int) - images).max()
        self.assertBetween(far, 10, 13)  # of 12.75

  def test_one_noise_is_disclosed(self):
    recipe = recipes.make_recipe(
      {"name": "corruption_mix", "severities": (1, 2)}
    )
    self.assertEqual(
      recipe.disclosure(),
      {"conditions": ["gaussian_noise"], "severities": [1, 2], "pictures": ""},
    )

  @parameterized.parameters(
    ("fog,jpeg_compression", ["fog", "jpeg_compression"]),
    ("fog, fog", ["fog"]),
    ("freezing,jumbling", ["jumbling", "freezing"]),
  )
  def test_names_of_a_mix(self, names, shown):
    recipe = recipes.make_recipe({"name": "corruption_mix", "names": names})
    self.assertCountEqual(recipe.disclosure()["conditions"], shown)

  @pytest.mark.slow
  def test_two_devices_show_the_same_bytes(self):
    """Each its own rows (`map_rows`), views in their order."""
    run = in_process.python("-c", _TWO_DEVICES)
    self.assertEqual(run.returncode, 0, run.stderr)
    lines = [x for x in run.stdout.splitlines() if x.startswith("RESULT")]
    self.assertLen(lines, len(batches()))
    for line in lines:
      name, one, two = json.loads(line.removeprefix("RESULT"))
      self.assertEqual(one, two, name)


_PIXELS = np.arange(6 * 8 * 8 * 3, dtype=np.uint8).reshape(6, 8, 8, 3) | 1


_KEYS = np.arange(12, dtype=np.uint32).reshape(6, 2)


class RecipeTest(absltest.TestCase):
  def test_nothing_is_changed_by_default(self):
    got = base.Recipe().transform(_PIXELS, _KEYS)
    np.testing.assert_array_equal(got, _PIXELS)

  def test_crops_and_flips(self):
    """Each is a window of the padded picture, mirrored or not, by its key alone."""
    recipe = base.Recipe(flip=True, crop_px=2)
    got = np.asarray(jax.jit(recipe.transform)(_PIXELS, _KEYS))
    self.assertEqual(got.dtype, np.uint8)
    alone = np.concatenate(
      [recipe.transform(_PIXELS[i : i + 1], _KEYS[i : i + 1]) for i in range(6)]
    )
    np.testing.assert_array_equal(got, alone)
    places = set()
    for image, out in zip(_PIXELS, got):
      padded = np.pad(image, ((2, 2), (2, 2), (0, 0)))
      windows = {
        (y, x, way): padded[y : y + 8, x : x + 8][:, ::way]
        for y in range(5)
        for x in range(5)
        for way in (1, -1)
      }
      (place,) = [k for k, w in windows.items() if np.array_equal(w, out)]
      places.add(place)
    self.assertGreater(len(places), 3)
    self.assertLen({way for _, _, way in places}, 2)

  def test_frames_of_a_clip_move_together(self):
    clips = np.stack([_PIXELS, _PIXELS], axis=1)
    got = base.Recipe(flip=True, crop_px=2).transform(clips, _KEYS)
    np.testing.assert_array_equal(got[:, 0], got[:, 1])
    pictures = base.Recipe(flip=True, crop_px=2).transform(_PIXELS, _KEYS)
    np.testing.assert_array_equal(got[:, 0], pictures)

  def test_smoothed_cross_entropy(self):
    """-(.9 + .1 / 4) log p_label - .1 / 4 of each other."""
    logits = jnp.array([[1.0, 2.0, 0.0, -1.0]])
    log = np.asarray(jax.nn.log_softmax(logits))[0]
    want = -(0.9 * log[1] + 0.1 * log.mean())
    got = base.Recipe(label_smoothing=0.1).cross_entropy(logits, jnp.array([1]))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    self.assertEqual(base.error(logits, jnp.array([1])), 0)


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


def _keys(count: int) -> np.ndarray:
  return np.random.default_rng(0).integers(0, 2**32, (count, 2), np.uint32)


class PixmixTest(absltest.TestCase):
  def _folder(self, count: int = 3) -> str:
    root = pathlib.Path(self.create_tempdir().full_path)
    for i in range(count):
      picture = tiny_files.encoded(tiny_files.smooth(60, 50, i))
      (root / f"{i}.png").write_bytes(picture)
    return str(root)

  def test_pictures_of_a_folder(self):
    """Each mixture is that of the public function with the picture of its key."""
    recipe = recipes.make_recipe({"name": "pixmix", "pictures": self._folder()})
    images = np.stack([tiny_files.noise(32, 32, i) for i in range(4)])
    batch = tiny_trainings.joined(recipe, {"image": images, "key": _keys(4)})
    self.assertEqual(batch["picture"].shape, images.shape)
    self.assertGreater(len({p.tobytes() for p in batch["picture"]}), 1)
    got = np.asarray(recipe.views(batch))
    from models.training.recipes import base

    for i, key in enumerate(base.stream(batch["key"], 0)):
      one = training.pixmix(
        images[i : i + 1], keys=key[None], pictures=batch["picture"][i : i + 1]
      )
      np.testing.assert_array_equal(got[i], one[0])

  def test_frames_have_pictures_of_their_own(self):
    recipe = recipes.make_recipe({"name": "pixmix", "fractals": 5})
    video = np.stack([[tiny_files.noise(24, 24, i)] * 6 for i in range(2)])
    batch = tiny_trainings.joined(recipe, {"video": video, "key": _keys(2)})
    self.assertEqual(batch["picture"].shape, video.shape)
    for frames in batch["picture"]:
      self.assertGreater(len({f.tobytes() for f in frames}), 1)
    got = np.asarray(recipe.views(batch))
    self.assertEqual(got.shape, video.shape)
    self.assertFalse((got[:, 0] == got[:, 1]).all())

  def test_discloses_the_pictures(self):
    folder = self._folder()
    words = recipes.make_recipe(
      {"name": "pixmix", "pictures": folder}
    ).disclosure()
    self.assertRegex(
      words["pictures"],
      r"^3 pictures of \S+ \(sha256 \w{12}\) and 9 operations",
    )
    pathlib.Path(folder, "0.png").write_bytes(
      tiny_files.encoded(tiny_files.noise(40, 40))
    )
    again = recipes.make_recipe(
      {"name": "pixmix", "pictures": folder, "short_px": 37}
    )
    self.assertNotEqual(again.disclosure()["pictures"], words["pictures"])
    seeded = recipes.make_recipe({"name": "pixmix"}).disclosure()
    self.assertIn("fractals of seed 0", seeded["pictures"])

  def test_overlap_is_of_benchmarks(self):
    shown = recipes.make_recipe(
      {"name": "pixmix", "overlap": True}
    ).disclosure()
    names = named_conditions.benchmark_conditions(shown["conditions"])
    self.assertContainsSubset(["brightness", "contrast", "saturate"], names)
    self.assertLessEqual({*names}, {*conditions.PICTURES.names()})

  def test_refuses(self):
    recipe = recipes.make_recipe({"name": "pixmix", "pictures": "/nowhere"})
    with self.assertRaisesRegex(errors.UserError, "there is no such folder"):
      recipe.disclosure()
    small = recipes.make_recipe({"name": "pixmix", "pictures": self._folder()})
    item = {"image": np.zeros((64, 64, 3), np.uint8)}
    with self.assertRaisesRegex(errors.UserError, "recipe.short_px: got 36"):
      small.extra_arrays(item, _keys(1)[0], _keys(1)[0], 0)


def _batch(recipe, size: int = 24) -> dict:
  images = np.stack([tiny_files.noise(size, size, i) for i in range(6)])
  keys = np.random.default_rng(1).integers(0, 2**32, (6, 2), np.uint32)
  return tiny_trainings.joined(recipe, {"image": images, "key": keys})


class StylizedTest(parameterized.TestCase):
  def test_modes(self):
    """`combined` has each twice, of which one is stylized."""
    for mode, styled in (
      ("standard", [False] * 6),
      ("stylized", [True] * 6),
      ("combined", [False, True] * 3),
    ):
      recipe = recipes.make_recipe({"name": "stylized", "mode": mode})
      self.assertEqual(recipe.copies, 2 if mode == "combined" else 1)
      batch = _batch(recipe)
      got = np.asarray(recipe.views(batch))
      changed = (got != batch["image"]).any((1, 2, 3))
      self.assertEqual(changed.tolist(), styled)
      if mode == "stylized":
        want = training.stylize(
          batch["image"], keys=batch["key"], styles=batch["style"], paired=True
        )
        np.testing.assert_array_equal(got, want)

  def test_a_style_is_drawn_once(self):
    """By an example's key without the epoch, unless it is asked for again."""
    item = {"image": np.zeros((8, 8, 3), np.uint8)}
    keys = np.random.default_rng(1).integers(0, 2**32, (9, 2), np.uint32)
    for again in (False, True):
      recipe = recipes.make_recipe({"name": "stylized", "style_again": again})
      drawn = {
        recipe.extra_arrays(item, key, keys[0], 0)["style"].tobytes()
        for key in keys
      }
      self.assertEqual(len(drawn) > 1, again)

  def test_paintings_of_a_folder(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    for i in range(3):
      painting = tiny_files.encoded(tiny_files.smooth(50, 40, i))
      (root / f"{i}.png").write_bytes(painting)
    recipe = recipes.make_recipe({"name": "stylized", "styles": str(root)})
    batch = _batch(recipe)
    self.assertEqual(batch["style"].shape, (6, 32, 32, 3))
    self.assertGreater(len({s.tobytes() for s in batch["style"]}), 1)
    words = recipe.disclosure()["pictures"]
    self.assertIn("3 pictures of", words)
    self.assertIn("by texture, which is not AdaIN", words)

  def test_without_weights_it_is_no_adain(self):
    words = recipes.make_recipe({"name": "stylized"}).disclosure()["pictures"]
    self.assertIn("64 procedural textures of seed 0 by texture", words)
    standard = recipes.make_recipe({"name": "stylized", "mode": "standard"})
    self.assertEqual(standard.disclosure()["pictures"], "")

  @parameterized.parameters(
    ({"mode": "stylised"}, "Did you mean 'stylized'"),
    ({"stylizer": "decoder.pth"}, "ENCODER,DECODER"),
  )
  def test_refuses(self, change, words):
    with self.assertRaisesRegex(errors.UserError, words):
      recipes.make_recipe({"name": "stylized", **change})


def _detector_batch(count: int = 12) -> dict:
  rng = np.random.default_rng(0)
  sizes = rng.integers(10, 21, (count, 2)).astype(np.int32)
  images = np.zeros((count, 24, 28, 3), np.uint8)
  masks = np.zeros((count, 2, 24, 28), bool)
  for i, (high, wide) in enumerate(sizes):
    images[i, :high, :wide] = tiny_files.noise(high, wide, i)
    masks[i, 0, 2:7, 1:5] = True
  boxes = np.tile(np.float32([[1, 2, 5, 7], [0, 0, 0, 0]]), (count, 1, 1))
  labels = np.tile(np.int32([3, -1]), (count, 1))
  return {
    "image": images,
    "size": sizes,
    "boxes": boxes,
    "labels": labels,
    "masks": masks,
    "key": rng.integers(0, 2**32, (count, 2), np.uint32),
  }


class DetectorTest(absltest.TestCase):
  def test_mirrored(self):
    """Written out: pixels, boxes and masks within the size, some and not all."""
    batch = _detector_batch()
    shown = recipes.make_recipe({"name": "detector", "flip": True}).views(batch)
    shown = {k: np.asarray(v) for k, v in shown.items()}
    turned = []
    for i, (_, wide) in enumerate(batch["size"]):
      image, masks = batch["image"][i].copy(), batch["masks"][i].copy()
      boxes = batch["boxes"][i].copy()
      turned.append((shown["boxes"][i] != boxes).any())
      if turned[-1]:
        image[:, :wide] = image[:, :wide][:, ::-1]
        masks[:, :, :wide] = masks[:, :, :wide][:, :, ::-1]
        boxes[0] = wide - 5, 2, wide - 1, 7
      np.testing.assert_array_equal(shown["image"][i], image)
      np.testing.assert_array_equal(shown["masks"][i], masks)
      np.testing.assert_array_equal(shown["boxes"][i], boxes)
      rows, columns = np.nonzero(masks[0])
      x0, y0, x1, y1 = boxes[0]
      box = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
      self.assertEqual((x0, y0, x1, y1), box)
    self.assertLen(set(turned), 2)

  def test_stylized_within_their_size(self):
    """As each picture alone; nothing is drawn outside."""
    recipe = recipes.make_recipe({"name": "detector", "mode": "stylized"})
    batch = tiny_trainings.joined(recipe, _detector_batch(3))
    got = np.asarray(recipe.views(batch)["image"]).astype(int)
    alone = recipes.make_recipe({"name": "stylized"})
    for i, (high, wide) in enumerate(batch["size"]):
      one = {name: array[i : i + 1] for name, array in batch.items()}
      one["image"] = one["image"][:, :high, :wide]
      want = np.asarray(alone.views(one))[0].astype(int)
      self.assertLessEqual(np.abs(got[i, :high, :wide] - want).max(), 1)
      self.assertFalse(got[i, high:].any() or got[i, :, wide:].any())

  def test_refuses_what_is_of_classifiers(self):
    with self.assertRaisesRegex(errors.UserError, "recipe.crop_px: got 4"):
      recipes.make_recipe({"name": "detector", "crop_px": 4})
