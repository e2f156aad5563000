"""Every file of the folder: found by its name, a finite loss, what it discloses."""

import json

import jax
import numpy as np
import pytest
from absl.testing import parameterized

from models.training import recipes
from models.training.recipes import augmix, base
from robust_tfds import conditions, errors
from tests import in_process
from tests.models.training import tiny_trainings

# Pictures of a step on one device and on two, as the network sees them.
_TWO_DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import hashlib, json
import jax
from robust_tfds import devices
from models.training import validation
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
    with self.assertRaisesRegex(
      errors.UserError, "recipe 'standart'.*standard"
    ):
      recipes.make_recipe({"name": "standart"})
    with self.assertRaisesRegex(
      errors.UserError, "config.recipe.flop: .*Did you mean 'flip'"
    ):
      recipes.make_recipe({"name": "standard", "flop": True})
    with self.assertRaisesRegex(
      errors.UserError, "config.recipe.depth must be .* -1 or 1 to 16, got 0"
    ):
      recipes.make_recipe({"name": "augmix", "depth": 0})
    with self.assertRaisesRegex(errors.UserError, "target .* 'likely'"):
      recipes.make_recipe({"name": "alp", "target": "likely"})

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
