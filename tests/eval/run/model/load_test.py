"""Models of a run: their weights, another resize rule, a wrong label space."""

import types

import jax

from eval.cells.workdir import Workdir
from eval.run import plan as plan_lib
from eval.run.model import load as load_lib
from models import adapters, weights_file
from models.convert import report
from robust_tfds import devices, errors, hosts, models
from tests import in_folder
from tests.eval import tiny_config

_RECIPE = {
  "dataset": "digits",
  "split": "train",
  "steps": 1,
  "batch_size": 1,
  "learning_rate": 1e-3,
  "seed": 0,
}


def _model(function, variables=None, rows=None):
  spec = models.get("digits_linear").spec
  return adapters.Adapted("theirs", spec, function, variables, rows)


def build_with_text():
  """Something else than numbers among its variables."""
  return _model(lambda _, x: x[:, 0, :10, 0], {"w": "weights.npz"})


def build_with_key():
  """A key among its variables."""
  return _model(lambda _, x: x[:, 0, :10, 0], {"w": jax.random.key(0)})


def _clean(classes: int = 10):
  label = types.SimpleNamespace(num_classes=classes)
  info = types.SimpleNamespace(features={"label": label}, name="digits_c")
  builder = types.SimpleNamespace(info=info)
  return types.SimpleNamespace(builder=builder, shape=(32, 32, 3))


class ModelsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.workdir = Workdir(self.root / "run")
    self.variables = models.get("digits_linear").init(jax.random.key(3))

  def _load(self, clean=None, **entry) -> load_lib.LoadedModel:
    config = tiny_config.get_config()
    with config.unlocked():
      del config.models.digits_cnn
      config.models.mine = {"name": "digits_linear", **entry}
    return load_lib.load(
      plan_lib.make(config),
      "mine",
      clean or _clean(),
      self.workdir,
      devices.mesh(),
      hosts.Host(),
    )

  def _checkpoint(self) -> str:
    path = self.root / "weights.npz"
    report.write_npz(self.variables, path)
    return str(path)

  def test_a_checkpoint(self):
    loaded = self._load(checkpoint=self._checkpoint(), dtype="bfloat16")
    self.assertEqual(loaded.weights, weights_file.sha256(self.variables))
    self.assertEqual(loaded.dtype, "bfloat16")
    self.assertEqual(loaded.spec, models.get("digits_linear").spec)

  def test_variables_that_are_no_numbers(self):
    for key in ("text", "key"):
      with self.assertRaisesRegex(errors.UserError, r"variable \['w'\] is a"):
        self._load(name=f"{__name__}:build_with_{key}")

  def test_a_wrong_label_space(self):
    with self.assertRaisesRegex(
      errors.UserError, "Wrong label space: mine has 10 classes .* has 7"
    ):
      self._load(_clean(7), checkpoint=self._checkpoint())
    # Refused before any training.
    with self.assertRaisesRegex(errors.UserError, "mine has 1000 classes"):
      self._load(name="squeezenet1_1", train=_RECIPE)
