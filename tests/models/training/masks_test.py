"""Training on masks: class maps move with their pictures, and what counts is learnt."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from etils import epath
from PIL import Image

from configs import train_standard
from models.training import config as config_lib
from models.training import data, plan, run
from models.training.config import Config
from models.training.data import crops, examples
from models.training.data.source import Source
from models.training.recipes import base, standard
from robust_tfds import errors, models, settings
from robust_tfds.datasets.digits_segmentation import (
  digits_segmentation_dataset_builder as digits,
)
from tests import in_folder, tiny_files
from tests.user_data import made

_KEY = np.array([3, 7], np.uint32)


def _picture(height=48, width=64):
  """A picture whose levels are its classes."""
  rng = np.random.default_rng(0)
  mask = rng.integers(0, 8, (height // 8, width // 8), np.uint8) * 30
  mask = mask.repeat(8, 0).repeat(8, 1)
  return np.repeat(mask[..., None], 3, -1), mask


class CropsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("whole", 0.0),
    ("short48_random32", 0.0),
    ("short48_crop40", 0.0),
    ("random_resized96", 0.25),  # the picture is blended at borders
    ("short96_crop64", 0.25),
  )
  def test_masks_are_cut_as_their_pictures(self, rule, blended):
    image, mask = _picture()
    got = crops.apply_to_mask(mask, rule, _KEY)
    want = crops.apply(image, rule, _KEY)[..., 0]
    self.assertEqual((got.shape, got.dtype), (want.shape, np.uint8))
    self.assertLessEqual((got != want).mean(), blended)
    self.assertContainsSubset(set(got.ravel()), set(mask.ravel()))


class RecipeTest(absltest.TestCase):
  def test_masks_are_cropped_and_mirrored_with_their_pictures(self):
    image, mask = _picture()
    mask[:8] = 255
    image[:8] = 200
    batch = {
      "image": jnp.asarray(np.stack([image] * 8)),
      "class_map": jnp.asarray(np.stack([mask] * 8)),
      "key": jax.random.bits(jax.random.key(0), (8, 2), jnp.uint32),
    }
    recipe = standard.Standard(flip=True, crop_px=6)
    shown, moved = recipe._crop_masks(batch)
    counted = moved != 255
    np.testing.assert_array_equal(shown[..., 0][counted], moved[counted])
    self.assertGreater(len({m.tobytes() for m in np.asarray(moved)}), 4)
    outside = np.asarray(shown[..., 0])[~np.asarray(counted)]
    self.assertEqual(set(outside), {0, 200})

  def test_pixels_without_a_class_do_not_count(self):
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((2, 3, 4, 5), np.float32)
    class_map = rng.integers(0, 5, (2, 3, 4)).astype(np.uint8)
    class_map[0, 1:] = 255
    got = base.pixel_sums(jnp.asarray(logits), jnp.asarray(class_map))
    shares = np.log(np.exp(logits).sum(-1))
    for i in range(2):
      rows = [
        (logits[i, y, x], class_map[i, y, x], shares[i, y, x])
        for y in range(3)
        for x in range(4)
        if class_map[i, y, x] != 255
      ]
      self.assertEqual(got["count"][i], len(rows))
      loss = sum(total - each[label] for each, label, total in rows)
      self.assertAlmostEqual(float(got["loss"][i]), float(loss), places=4)
      wrong = sum(each.argmax() != label for each, label, _ in rows)
      self.assertEqual(got["error"][i], wrong)

  def test_balanced_classes(self):
    """Each class's loss is divided by a power of its pixels."""
    class_map = np.zeros((2, 4, 5), np.uint8)
    class_map[0, 0, :4], class_map[1, 0, 0], class_map[1, 3] = 1, 2, 255
    logits = np.random.default_rng(1).standard_normal((2, 4, 5, 3), np.float32)
    weights = base.class_weights(jnp.asarray(class_map), 3, 0.5)
    counts = np.array([30, 4, 1])
    np.testing.assert_allclose(weights, (35 / 3 / counts) ** 0.5, rtol=1e-6)
    batch = {
      "image": jnp.zeros((2, 4, 5, 3), jnp.uint8),
      "class_map": jnp.asarray(class_map),
      "key": jnp.zeros((2, 2), jnp.uint32),
    }
    answers = lambda variables, images, key: (jnp.asarray(logits), variables)
    for power, weight in ((0.5, np.asarray(weights)), (0.0, np.ones(3))):
      recipe = standard.Standard(balance=power)
      loss, _ = recipe.loss(answers, {}, batch, jax.random.key(0))
      shown = class_map != 255
      each = (
        np.log(np.exp(logits).sum(-1))[shown]
        - logits[shown][np.arange(shown.sum()), class_map[shown]]
      )
      want = np.average(each, weights=weight[class_map[shown]])
      self.assertAlmostEqual(float(loss), float(want), places=5)

  def test_classifiers_have_no_pixels_to_balance(self):
    config = train_standard.get_config().unlock()
    config.recipe.balance = 0.5
    with self.assertRaisesRegex(
      errors.UserError, "config.recipe.balance: got 0.5"
    ):
      run.network(config_lib.parse(config), 10)


class TrainTest(absltest.TestCase):
  @pytest.mark.slow
  def test_a_tiny_network_learns(self):
    values = train_standard.get_config("segmentation").to_dict()
    values |= {"steps": 40, "batch_size": 8}
    values["data"]["validation"] = 0.25
    values["keep"] = {"every": 0, "last": 0, "best": 0}
    config = settings.validated(Config, values)
    sources = digits.sources("train")[:32]
    read = examples.Listed("scenes", digits.CLASSES, "embedded", sources)
    source = Source(read, config.data)
    batch = next(source.batches(batch_size=4, seed=0, epoch=0))
    self.assertEqual(batch["image"].shape[1:3], batch["class_map"].shape[1:])
    self.assertEqual(batch["image"].shape[1:3], source.shape())
    model = models.get("tiny_fcn")
    variables = model.init(jax.random.key(0))
    recipe = standard.Standard()
    prepared = run.Prepared(config, model, recipe, source, variables)
    trained = run.train(prepared, say=lambda text: None)

    def error(variables):
      logits, _ = model.apply_train(
        variables, jnp.asarray(batch["image"]), jax.random.key(0)
      )
      sums = base.pixel_sums(logits, jnp.asarray(batch["class_map"]))
      return float(sums["loss"].sum() / sums["count"].sum())

    self.assertLess(error(trained), 0.5 * error(variables))


class OwnMasksTest(in_folder.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.place = made.masks(self.root / "mine" / "train")
    self.config = train_standard.get_config("segmentation").unlock()
    self.config.data.source = f"masks:{self.place}"
    self.config.data.validation = 0.0
    self.config.data.classes = "red, green, blue"
    self.config.data.ignore = 255

  def _open(self):
    return data.open(config_lib.parse(self.config).data)

  def test_batches_of_all_sizes_on_one_canvas(self):
    source = self._open()
    self.assertEqual([*source.classes], ["red", "green", "blue"])
    batch = next(source.batches(batch_size=3, seed=0, epoch=0))
    self.assertEqual(batch["class_map"].shape, (3, 97, 61))
    for i, name in enumerate(batch["id"]):
      mask = np.asarray(Image.open(self.place / "masks" / name))
      height, width = mask.shape
      shown = batch["class_map"][i]
      np.testing.assert_array_equal(shown[:height, :width], mask)
      self.assertTrue((shown[height:] == 255).all())
    self.config.data.ignore = 2
    self.config.data.classes = "red,green"
    with self.assertRaisesRegex(errors.UserError, "holds the id 255, expected"):
      next(self._open().batches(batch_size=3, seed=0, epoch=0))

  def test_a_changed_mask_is_another_training(self):
    before = self._open().digest
    mask = np.zeros(made.MASKED["a"], np.uint8)
    tiny_files.put(self.place / "masks", {"a.png": tiny_files.encoded(mask)})
    self.assertNotEqual(self._open().digest, before)

  @parameterized.parameters("images/x.png", "x.png")
  def test_pictures_beside_it_are_not_trained_on(self, path):
    copy = (self.place / "images/a.png").read_bytes()
    tiny_files.put(self.place.parent / "test", {path: copy})
    with self.assertRaisesRegex(errors.UserError, "^a.png: what is trained on"):
      self._open()

  @parameterized.parameters(
    (
      "classes",
      "",
      "config.data.source=masks:.*0 names of classes, expected 2",
    ),
    ("source", "masks:/data/x/val", "val is what models are judged on"),
    (
      "source",
      "folder:/data/x",
      "classes=.*: only .*masks: has this option, folder: has",
    ),
    ("ignore", -1, "config.data.ignore: got -1, expected a whole number"),
  )
  def test_refused(self, key, value, message):
    self.config.data[key] = value
    with self.assertRaisesRegex(errors.UserError, message):
      config_lib.parse(self.config)

  def test_plan(self):
    text = plan.describe(config_lib.parse(self.config))
    self.assertIn(f"data: masks:{self.place} train, examples are counted", text)
    few = models.get("tiny_fcn", 3).count_parameters()
    self.assertIn(f"tiny_fcn, {few:,} parameters", text)

  @pytest.mark.slow
  def test_trained_then_evaluated(self):
    self.config.update({"steps": 60, "batch_size": 3})
    said: list[str] = []
    workdir = self.root / "trained"
    run.train(
      run.prepare(config_lib.parse(self.config), say=said.append),
      epath.Path(workdir),
      say=said.append,
    )
    self.assertIn(
      f"own_data:tiny_fcn --config.data.name=masks:TEST_PICTURES"
      f" --config.data.classes='red,green,blue' --config.data.ignore=255"
      f" --config.model.checkpoint={workdir}",
      said[-1],
    )
    result, _ = made.evaluate(
      "tiny_fcn",
      f"masks:{self.place}",
      classes=["red", "green", "blue"],
      checkpoint=str(workdir),
      conditions="none",
      size=None,
    )
    self.assertGreater(result.summary["clean_miou"], 0.6)
