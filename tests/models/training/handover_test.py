"""Weights handed over: read by `models.convert`, with how pictures are prepared."""

import json
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from etils import epath

from eval import main as eval_main
from models import weights_file
from models.convert import match
from models.training import handover, main, run
from models.training.optimization import loop, state
from robust_tfds import errors, models
from tests import in_folder, in_process, tiny_files
from tests.models.training import tiny_trainings


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
