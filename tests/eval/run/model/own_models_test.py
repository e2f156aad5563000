"""Own models at the door of a run: continued when they are the same, else not."""

import os
import pathlib
import shutil
import sys
import tempfile
from unittest import mock

import numpy as np
import pytest
from absl.testing import parameterized

from eval.cells import table
from eval.cells.files import parts
from robust_tfds import errors
from tests import in_process
from tests.eval import tiny_config, tiny_runs

_ROOT = pathlib.Path(__file__).resolve().parents[4]
_MODULE = """
import pathlib
import numpy as np
from robust_tfds import models
from models import adapters

import their_head
SEED = 0

def _weights():
  file = pathlib.Path(__file__).with_name("weights.npy")
  return np.load(file) if SEED is None else (
      np.random.default_rng(SEED).normal(size=(3072, 10)).astype(np.float32))

def build():
  weights = _weights()
  return adapters.get("callable")(
      lambda x: x.reshape(len(x), -1) @ weights,
      models.get("digits_linear").spec, name="theirs")

def on_host():
  weights = _weights()
  return adapters.get("on_host")(
      lambda x: x.reshape(len(x), -1) / 255 @ weights,
      models.get("digits_linear").spec, name="theirs")

def random():
  weights = _weights()
  return adapters.get("callable")(
      lambda x: x.reshape(len(x), -1) @ weights + 9 * np.random.normal(size=10),
      models.get("digits_linear").spec, name="theirs")
"""


class OwnModelsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.base = pathlib.Path(tempfile.mkdtemp(prefix="own_models_test"))
    cls.addClassCleanup(shutil.rmtree, cls.base)
    cls.modules = cls.base / "modules"
    cls.modules.mkdir()
    sys.path.insert(0, str(cls.modules))
    cls.addClassCleanup(sys.path.remove, str(cls.modules))

  def setUp(self):
    super().setUp()
    self._write(_MODULE)
    (self.modules / "their_head.py").write_text("")
    self.workdir = pathlib.Path(tempfile.mkdtemp(dir=self.base))

  def _write(self, text):
    (self.modules / "their_model.py").write_text(text)
    for name in ("their_model", "their_head"):
      sys.modules.pop(name, None)
    shutil.rmtree(self.modules / "__pycache__", ignore_errors=True)

  def _write_weights(self, diagonal=0):
    """A module that reads its weights from a file."""
    weights = np.eye(3072, 10, diagonal, np.float32)
    np.save(self.modules / "weights.npy", weights)
    self._write(_MODULE.replace("SEED = 0", "SEED = None"))

  def _config(self, function="build", batch_size=32, **entry):
    config = tiny_config.get_config()
    with config.unlocked():
      config.batch_size = batch_size
      del config.models.digits_cnn
      config.models.mine = {"name": f"their_model:{function}", **entry}
      config.data.limit = 16
      config.data.corruptions = "none"
      config.data.data_dir = str(self.base / "data")
    return config

  def _run(self, *args, **entry):
    config = self._config(*args, **entry)
    return tiny_runs.start(config, self.workdir)

  def test_the_same_model_goes_on(self):
    rows = self._run()
    files = sorted(p.name for p in (self.workdir / "models/mine").iterdir())
    self.assertEqual(files, ["own.json", "probe.npz"])
    self._write(_MODULE)
    self.assertEqual([r.value for r in self._run()], [r.value for r in rows])

  @parameterized.parameters("build", "on_host")
  def test_weights_of_the_closure_that_change(self, function):
    self._write_weights()
    rows = self._run(function)
    self.assertEqual(
      [r.value for r in self._run(function)], [r.value for r in rows]
    )
    before = (self.workdir / "table.csv").read_bytes()
    self._write_weights(-1)
    with self.assertRaisesRegex(
      errors.UserError,
      f"1 finished cells of mine, and their_model:{function} is another model"
      " now: on the same 4 pictures its logits differ .* use another --workdir",
    ):
      self._run(function)
    self.assertEqual((self.workdir / "table.csv").read_bytes(), before)

  def test_a_source_that_changes(self):
    self._run()
    self._write(_MODULE + "\n# another word\n")
    with self.assertRaisesRegex(
      errors.UserError, "source of their_model chang"
    ):
      self._run()
    self._write(_MODULE)
    (self.modules / "their_head.py").write_text("another = 1")
    with self.assertRaisesRegex(errors.UserError, "source of their_head chang"):
      self._run()

  def test_a_new_model_where_no_cell_is_finished(self):
    self._run()
    shutil.rmtree(self.workdir / "cells")
    self._write(_MODULE.replace("SEED = 0", "SEED = 1"))
    self._run()
    self._write(_MODULE)
    with self.assertRaisesRegex(errors.UserError, "its logits differ"):
      self._run()

  def test_another_model_takes_nothing_of_a_run_that_was_stopped(self):
    self._write_weights()
    with mock.patch.object(parts.Parts, "cells", side_effect=KeyboardInterrupt):
      with self.assertRaises(KeyboardInterrupt):
        self._run()
    self.assertLen(list(self.workdir.glob("parts/*/*.npz")), 1)
    self._write_weights(-1)
    got = [r.value for r in self._run()]
    shutil.rmtree(self.workdir)
    self.assertEqual([r.value for r in self._run()], got)

  def test_a_probe_that_is_gone_or_damaged(self):
    self._run()
    path = self.workdir / "models" / "mine" / "probe.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with self.assertRaisesRegex(errors.UserError, "probe.npz: "):
      self._run()
    np.savez(path, logits=np.zeros(3))
    with self.assertRaisesRegex(errors.UserError, "probe.npz: no answers"):
      self._run()
    path.unlink()
    with self.assertRaisesRegex(errors.UserError, "probe.npz is not there"):
      self._run()
    path.write_bytes(whole)
    self._run()

  def test_random_models_say_so(self):
    with self.assertRaisesRegex(errors.UserError, "mine answers otherwise"):
      self._run("random")
    rows = self._run("random", allow_random=True)
    self.assertEqual({r.note for r in rows}, {"random model"})
    stored = table.read(self.workdir / "table.csv")
    self.assertEqual({r.note for r in stored}, {"random model"})
    self._run("random", allow_random=True)

  def test_a_model_that_fails_in_the_run(self):
    self._write(
      _MODULE
      + """
def fails():
  import jax
  seen = []
  def answer(x):
    seen.append(len(x))
    if len(seen) > 5:  # the probe asks four times
      raise RuntimeError("the service went away")
    return np.zeros((len(x), 10), np.float32)
  return adapters.get("callable")(
      lambda x: jax.pure_callback(
          answer, jax.ShapeDtypeStruct((len(x), 10), "float32"), x),
      models.get("digits_linear").spec, name="theirs")
"""
    )
    with self.assertRaisesRegex(
      errors.UserError,
      "mine fails on clean, in the batch of the examples '.*' to '.*':"
      " RuntimeError: the service went away",
    ):
      self._run("fails", batch_size=4)

  @pytest.mark.slow
  def test_eight_devices_see_the_same_model(self):
    self._run()
    (self.modules / "eight.py").write_text(
      "def get_config():\n"
      "  import ml_collections\n"
      f"  return ml_collections.ConfigDict({self._config().to_dict()!r})\n"
    )
    done = in_process.program(
      "eval.main",
      f"--config={self.modules / 'eight.py'}",
      f"--workdir={self.workdir}",
      env={
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(self.modules),
      },
    )
    self.assertEqual(done.returncode, 0, done.stderr)
