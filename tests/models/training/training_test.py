"""Config, workdir, first weights, hand-over and PGD of a training."""

import json
from unittest import mock

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from etils import epath

from configs import train_standard
from eval import main as eval_main
from models import variables as variables_lib
from models import weights_file
from models.convert import match
from models.training import config as config_lib
from models.training import handover, initial, main, pgd, run
from models.training.optimization import loop, state
from robust_tfds import errors, missing, models
from tests import in_folder, in_process, tiny_files
from tests.models.training import tiny_trainings


class ConfigTest(parameterized.TestCase):
  @parameterized.parameters("digits", "cifar", "imagenet")
  def test_shipped(self, setting):
    config = config_lib.parse(train_standard.get_config(setting))
    self.assertEqual(config.recipe["flip"], setting != "digits")
    with self.assertRaisesRegex(
      errors.UserError, "setting of train_standard .mnist."
    ):
      train_standard.get_config("mnist")

  @parameterized.parameters(
    ("steps", -1, "config.steps: got -1"),
    ("epochs", 2, "config.steps: got 12 steps and 2 epochs"),
    ("optimizer__momentum", 1.0, "config.optimizer.momentum: got 1.0"),
    ("optimizer__learning_rate", 0.0, "config.optimizer.learning_rate: got 0"),
    ("schedule__floor", 0.6, "floor: got 0.6, expected at most the learning"),
    ("schedule__factor", 10.0, "config.schedule.factor: got 10.0"),
    (
      "schedule__at",
      (-5,),
      r"schedule.at: got \(-5,\), expected whole .*from 1",
    ),
    ("schedule__at", (0,), "schedule.at: got"),
    ("schedule__at", (5, 5), "schedule.at: got .*ascending, each once"),
    ("schedule__at_steps", [9, 3], "schedule.at_steps: got .*ascending"),
    ("optimizer__accumulate", 3, "expected a divisor of batch_size 8"),
    (
      "schedule__name",
      "plateau",
      "validation: got 0 with the schedule plateau",
    ),
    ("optimizer__rate", 1.0, "config.optimizer.rate: "),
  )
  def test_refusals(self, key, value, message):
    with self.assertRaisesRegex(errors.UserError, message):
      tiny_trainings.config(**{key: value})

  def test_imagenets_rate_follows_the_batch(self):
    """AugMix's code: .1 * B / 256."""
    config = train_standard.get_config("imagenet")
    self.assertEqual(config.optimizer.learning_rate, 0.1)
    config.batch_size = 1024
    self.assertAlmostEqual(
      config_lib.parse(config).optimizer.learning_rate, 0.4
    )
    config.optimizer.learning_rate = 0.3
    self.assertEqual(config_lib.parse(config).optimizer.learning_rate, 0.3)

  def test_no_config_of_a_training(self):
    with self.assertRaisesRegex(errors.UserError, "no config of a training"):
      config_lib.parse(ml_collections.ConfigDict({"task": "video"}))
    with self.assertRaisesRegex(errors.UserError, "got dict"):
      config_lib.parse({})


_TEN = [str(i) for i in range(10)]


def _flat(variables) -> dict:
  return {"/".join(p): x for p, x in variables_lib.flatten(variables).items()}


class InitialTest(in_folder.TestCase):
  def _of(self, checkpoint, model, classes=_TEN):
    config = tiny_trainings.config(
      model={"name": model.name, "checkpoint": str(checkpoint)}
    )
    lines: list[str] = []
    return initial.load_initial(config, model, classes, lines.append), lines

  def _kept(self, name: str, classes: int):
    """A checkpoint of so many classes."""
    file = epath.Path(self.root) / f"{name}.npz"
    variables = models.get(name, classes).init(jax.random.key(7))
    weights_file.write(file, jax.tree.map(np.asarray, variables))
    return file, variables

  def _check(self, name: str, head: set[str]) -> None:
    file, theirs = self._kept(name, 4)
    got, lines = self._of(file, models.get(name, 10))
    self.assertRegex(
      lines[0], "head: the checkpoint has 4 classes, the network 10"
    )
    self.assertEqual(lines, [f"head: {got.head}"])
    theirs, ours = _flat(theirs), _flat(got.variables)
    differ = {n for n in ours if not np.array_equal(ours[n], theirs[n])}
    self.assertTrue(differ)
    self.assertLessEqual(differ, head)
    self.assertEqual(
      {n.rpartition("/")[0] for n in head},
      {n.rpartition("/")[0] for n in differ},
    )
    got.model.merge(got.variables)  # they fit

  def test_a_head_of_other_classes(self):
    self._check("digits_cnn", {"head/kernel", "head/bias"})

  @pytest.mark.slow
  def test_heads_of_detectors(self):
    heads = ("cls_score", "bbox_pred")
    names = {
      n
      for n in _flat(models.get("tiny_fasterrcnn").init(jax.random.key(0)))
      if any(f"/{h}/" in n for h in heads) and not n.startswith("rpn")
    }
    self._check("tiny_fasterrcnn", names)

  def test_as_many_classes(self):
    file, theirs = self._kept("digits_linear", 10)
    got, lines = self._of(file, models.get("digits_linear"))
    self.assertEqual((got.head, lines), ("", []))
    jax.tree.map(np.testing.assert_array_equal, got.variables, dict(theirs))

  def test_stages_that_are_frozen_at_random_weights(self):
    lines: list[str] = []
    model = models.get("digits_cnn")
    config = tiny_trainings.config(
      model={"name": "digits_cnn", "frozen_stages": 1}
    )
    initial.load_initial(config, model, _TEN, lines.append)
    self.assertEqual(
      lines,
      [
        "the first 1 of its stages are frozen at random weights: give"
        " config.model.checkpoint"
      ],
    )

  def test_another_network(self):
    file, _ = self._kept("digits_linear", 10)
    with self.assertRaisesRegex(errors.UserError, "of another architecture"):
      self._of(file, models.get("digits_cnn"))

  def test_no_checkpoint(self):
    words = "(?s)config.model.checkpoint: not here.*Name a file of weights"
    with self.assertRaisesRegex(missing.MissingError, words):
      self._of("/nowhere.npz", models.get("digits_cnn"))

  @parameterized.parameters(
    (["dark", "bright"], ""), (["a", "b"], "other classes")
  )
  def test_names_of_a_training_s_classes(self, classes, words):
    """As many classes, which a training's workdir calls otherwise."""
    workdir = epath.Path(self.root) / "run"
    prepared = tiny_trainings.prepared()
    run.train(prepared, workdir, say=lambda text: None)
    config = tiny_trainings.config(model__checkpoint=str(workdir))
    made = initial._other_classes(
      config, prepared.model, prepared.model, classes
    )
    self.assertIn(words, made) if words else self.assertEqual(made, "")


class HandoverTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.workdir = epath.Path(self.root)

  def test_read_by_its_folder(self):
    spec = {"mean": (0.1, 0.2, 0.3), "label_space": "custom"}
    model = models.get("digits_linear").with_fields(spec)
    variables = model.init(jax.random.key(1))
    handover.write(self.workdir, model, _state(variables, model))
    got = models.convert.load("digits_linear", self.workdir)
    jax.tree.map(np.testing.assert_array_equal, got, dict(variables))
    loaded = match.load("digits_linear", self.workdir)
    self.assertEqual(tuple(loaded.declared.fields["mean"]), (0.1, 0.2, 0.3))

  def test_its_classes_are_counted(self):
    """As many as the disclosure names, whatever the network's own number."""
    model = models.get("digits_linear", 3)
    made = _state(model.init(jax.random.key(1)), model)
    handover.write(self.workdir, model, made)
    said = json.dumps({"classes": ["a", "b", "c"]})
    (self.workdir / "disclosure.json").write_text(said)
    for place in (self.workdir, self.workdir / "weights.npz"):
      got = models.convert.load("digits_linear", place)
      self.assertEqual(got["head"]["kernel"].shape[-1], 3)

  def test_the_folder_stands_for_the_mean_where_there_is_one(self):
    model = models.get("digits_linear")
    last = model.init(jax.random.key(1))
    mean = jax.tree.map(lambda x: x + 1, last)
    handover.write(self.workdir, model, _state(last, model, mean))
    for path, expected in (("", mean), ("weights.npz", last)):
      got = models.convert.load("digits_linear", self.workdir / path)
      jax.tree.map(np.testing.assert_array_equal, got, dict(expected))

  def test_equal_weights_are_equal_bytes(self):
    model = models.get("digits_linear")
    made = _state(model.init(jax.random.key(1)), model)
    first = handover.write(self.workdir / "a", model, made)
    self.assertEqual(first, handover.write(self.workdir / "b", model, made))

  def test_weights_that_are_not_finite(self):
    model = models.get("digits_linear")
    variables = jax.tree.map(
      lambda x: x * jnp.nan, model.init(jax.random.key(1))
    )
    with self.assertRaisesRegex(errors.UserError, "has NaN or infinite"):
      handover.write(self.workdir, model, _state(variables, model))


class CommandsTest(in_folder.TestCase):
  """Trained by one command, evaluated by the other."""

  def _pictures(self, folder, *classes):
    """Each class is of one grey, by its name."""
    for name in classes:
      grey = {"bright": 220, "dark": 20, "middle": 120}.get(name, 0)
      for i in range(4):
        level = grey + i + 4 * (folder != "train")
        pixels = np.full((32, 32, 3), level, np.uint8)
        data = tiny_files.encoded(pixels, "PNG")
        tiny_files.put(self.root, {f"{folder}/{name}/{i}.png": data})

  def _train(self):
    done = in_process.run(
      main,
      "--config=train_standard",
      "--config.model.name=digits_linear",
      f"--config.data.source=folder:{self.root}/train",
      "--config.data.validation=0",
      "--config.batch_size=4",
      "--config.epochs=30",
      "--config.optimizer.ema=0.5",
      f"--workdir={self.root}/w",
    )
    self.assertEqual(done.returncode, 0, done.stderr)

  def _evaluate(self, checkpoint, test="test"):
    return in_process.run(
      eval_main,
      "--config=own_data:digits_linear",
      f"--config.data.name=folder:{self.root}/{test}",
      f"--config.model.checkpoint={checkpoint}",
      "--config.data.corruptions=brightness",
      "--config.data.severities=(1,)",
      "--config.reports=False",
      f"--workdir={self.root}/run_{test}",
    )

  def test_classes_are_mapped_by_name(self):
    """A class between the others is not there: the numbers shift."""
    self._pictures("train", "bright", "alien", "dark", "middle")
    self._pictures("test", "dark", "bright")
    self._pictures("other", "dark", "cat")
    self._train()
    done = self._evaluate(self.root / "w")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("0.0 % wrong clean", done.stdout)
    note = next((self.root / "run_test" / "cells").rglob("*.json"))
    mean = weights_file.variables_of(
      epath.Path(self.root) / "w/weights_ema.npz"
    )
    self.assertEqual(
      json.loads(note.read_text())["by"]["weights"], weights_file.sha256(mean)
    )
    done = self._evaluate(self.root / "w", "other")
    self.assertIn("was not trained on 1 of the data set's 2", done.stderr)
    self.assertIn("e.g. 'cat'", done.stderr)

  def test_a_training_that_has_not_ended(self):
    workdir, stopped = epath.Path(self.root / "w"), KeyboardInterrupt
    with mock.patch.object(loop.Loop, "run", side_effect=stopped):
      with self.assertRaises(stopped):
        run.train(tiny_trainings.prepared(), workdir)
    self._pictures("test", "dark", "bright")
    done = self._evaluate(self.root / "w")
    self.assertNotEqual(done.returncode, 0)
    self.assertIn("the training there has not ended", done.stderr)


def _state(variables, model, mean=None) -> state.State:
  parameters, statistics = state.parted(variables, model.statistics())
  parts = state.parted(mean, model.statistics()) if mean else ({}, {})
  ema = {**parts[0], **parts[1]}
  return state.State(jnp.int32(1), parameters, statistics, (), ema)


_BOUND, _STEP = 16 / 255, 2 / 255


_RNG = np.random.default_rng(0)


_IMAGES = _RNG.uniform(size=(5, 4, 4, 3)).astype(np.float32)


_WEIGHTS = _RNG.normal(size=(5, 4, 4, 3)).astype(np.float32)


_KEYS = np.arange(10, dtype=np.uint32).reshape(5, 2)


def _linear(weights):
  return lambda pixels: jnp.sum(pixels * weights, axis=(1, 2, 3))


def _attacked(loss, images=_IMAGES, keys=_KEYS, steps=10, step=_STEP):
  return np.asarray(
    pgd.descend(loss, images, keys, bound=_BOUND, step=step, steps=steps)
  )


class PgdTest(absltest.TestCase):
  def test_the_lowest_place_of_a_linear_loss(self):
    """The corner of the ball against the weights, in [0, 1]: from any start 16
    steps of 2 reach it."""
    got = _attacked(_linear(_WEIGHTS), steps=16)
    want = np.clip(_IMAGES - _BOUND * np.sign(_WEIGHTS), 0, 1)
    np.testing.assert_allclose(got, want, atol=1e-6)
    self.assertEqual(got.dtype, np.float32)

  def test_every_step_against_numpy(self):
    """Of a loss whose gradient turns on the way."""
    centre = _IMAGES + 0.6 * _BOUND * np.sign(_WEIGHTS)
    loss = lambda pixels: jnp.sum((pixels - centre) ** 2, axis=(1, 2, 3))
    at = start = _attacked(loss, step=0.0)
    low, high = np.maximum(_IMAGES - _BOUND, 0), np.minimum(_IMAGES + _BOUND, 1)
    for _ in range(7):
      at = np.clip(at - np.float32(_STEP) * np.sign(at - centre), low, high)
    np.testing.assert_allclose(_attacked(loss, steps=7), at, atol=1e-6)
    self.assertTrue(((start >= low) & (start <= high)).all())

  def test_starts_fill_the_ball_by_key(self):
    """Uniform, another for each key; they depend on no other example."""
    images = np.full((400, 2, 2, 3), 0.5, np.float32)
    keys = np.arange(800, dtype=np.uint32).reshape(400, 2)
    flat = lambda pixels: jnp.zeros(len(pixels))
    noise = (_attacked(flat, images, keys) - 0.5) / _BOUND
    self.assertLess(np.abs(noise).max(), 1 + 1e-6)
    self.assertLess(abs(noise.mean()), 0.03)
    self.assertLess(abs(noise.var() - 1 / 3), 0.02)
    self.assertLen(np.unique(noise[:, 0, 0, 0]), 400)
    some = np.array([7, 3, 90])
    np.testing.assert_array_equal(
      _attacked(flat, images[some], keys[some]), 0.5 + noise[some] * _BOUND
    )

  def test_no_batch_and_no_gradient(self):
    order = np.array([3, 0, 4, 1])
    whole = _attacked(_linear(_WEIGHTS), steps=3)
    some = _attacked(
      _linear(_WEIGHTS[order]), _IMAGES[order], _KEYS[order], steps=3
    )
    np.testing.assert_array_equal(some, whole[order])
    through = jax.grad(
      lambda w: pgd.descend(
        _linear(w), _IMAGES, _KEYS, bound=_BOUND, step=_STEP, steps=2
      ).sum()
    )
    np.testing.assert_array_equal(through(_WEIGHTS), 0)
