"""Models of a run: what names, objects, checkpoints and configs say of them."""

import json
import pathlib

import jax
import numpy as np
from absl.testing import absltest
from etils import epath
from safetensors import numpy as safetensors

from eval.run import spec as spec_lib
from eval.run.model import definitions
from models import variables as variables_lib
from models.convert import match, report
from models.enhancements import clahe
from models.training import handover
from models.training.optimization import state
from robust_tfds import errors, models
from tests.models.training import tiny_trainings

_TIMM = {
  "architecture": "resnet18",
  "pretrained_cfg": {
    "input_size": [3, 224, 224],
    "interpolation": "bicubic",
    "crop_pct": 0.95,
    "mean": [0.5, 0.5, 0.5],
    "std": [0.5, 0.5, 0.5],
  },
}


def _define(entry, given=None, kind="classification"):
  return definitions.define(
    {"mine": spec_lib.Model(**entry)}, {"mine": given} if given else {}, kind
  )["mine"]


class DefinitionsTest(absltest.TestCase):
  def _file(self) -> str:
    """A ResNet-18 under names that torchvision's and timm's files share."""
    model = models.get("resnet18")
    arrays = {
      match.torch_name(path): np.zeros(
        match.file_shape(shape, path, False), np.float32
      )
      for path, shape in model.shapes().items()
    }
    path = f"{self.create_tempdir().full_path}/model.safetensors"
    safetensors.save_file(arrays, path)
    return path

  def test_a_name(self):
    definition = _define(
      {"name": "resnet18", "spec": {"mean": (0.1, 0.2, 0.3)}}
    )
    self.assertEqual(definition.model.spec.mean, (0.1, 0.2, 0.3))
    self.assertIsNone(definition.checkpoint)
    with self.assertRaisesRegex(
      errors.UserError, "Model mine: spec: Got scale"
    ):
      _define({"name": "resnet18", "spec": {"std": (0, 0, 0)}})

  def test_tested_as_it_was_trained(self):
    """Behind CLAHE where its recipe was, once, and before what is asked for."""
    for recipe, asked, name in (
      ("clahe", "", "digits_linear+clahe"),
      ("clahe", "+clahe", "digits_linear+clahe"),
      ("clahe", "+ten_crop", "digits_linear+clahe+ten_crop"),
      ("standard", "", "digits_linear"),
    ):
      folder = epath.Path(self.create_tempdir().full_path)
      prepared = tiny_trainings.prepared(recipe={"name": recipe})
      model = models.get("digits_linear", 2)
      variables = model.init(jax.random.key(0))
      parts = state.parted(variables, model.statistics())
      last = state.State(jax.numpy.int32(12), *parts, (), {})
      weights, _ = handover.write(folder, model, last)
      prepared.disclosure(12, weights).write(folder)
      entry = {"name": f"digits_linear{asked}", "checkpoint": str(folder)}
      definition = _define(entry)
      self.assertEqual(definition.model.name, name)
      said = [note for note in definition.notes if "was trained" in note]
      self.assertLen(said, name != entry["name"])
    images = tiny_trainings.Source().image[:2]
    got = models.get("digits_linear+clahe", 2).apply(variables, images)
    want = model.apply(variables, clahe.equalize(images))
    np.testing.assert_array_equal(got, want)

  def test_an_object_of_another_kind(self):
    given = definitions.ModelObject(models.get("tiny_r3d"))
    with self.assertRaisesRegex(errors.UserError, "of kind video, expected"):
      _define({"name": "tiny_r3d"}, given)

  def test_a_doubt_is_refused_until_somebody_says_it(self):
    file = self._file()
    with self.assertRaisesRegex(errors.UserError, "Model mine: .*nothing says"):
      _define({"name": "resnet18", "checkpoint": file})
    entry = {"name": "resnet18", "checkpoint": file}
    said = _define({**entry, "spec": {"weights": "torchvision"}})
    self.assertEqual(said.model.spec.mean, models.get("resnet18").spec.mean)
    stated = _define({**entry, "spec": {"mean": (0.5, 0.5, 0.5)}})
    self.assertEqual(stated.model.spec.mean, (0.5, 0.5, 0.5))
    spec = models.get("resnet18").spec.with_fields({"resize_px": 240})
    given = definitions.ModelObject(
      models.get("resnet18").with_fields({"resize_px": 240})
    )
    self.assertEqual(_define(entry, given).model.spec, spec)

  def test_a_file_beside_it_says_it_and_the_config_has_the_last_word(self):
    file = self._file()
    beside = pathlib.Path(file).with_name("config.json")
    beside.write_text(json.dumps(_TIMM), "utf-8")
    entry = {"name": "resnet18", "checkpoint": file}
    definition = _define(entry)
    self.assertEqual(definition.model.spec.std, (0.5, 0.5, 0.5))
    self.assertEqual(definition.model.spec.interpolation, "bicubic")
    self.assertIn("config.json", " ".join(definition.notes))
    both = _define({**entry, "spec": {"mean": (0.4, 0.4, 0.4)}})
    self.assertEqual(both.model.spec.mean, (0.4, 0.4, 0.4))
    self.assertEqual(both.model.spec.std, (0.5, 0.5, 0.5))

  def test_our_own_files_leave_no_doubt(self):
    model = models.get("digits_linear")
    arrays = {p: np.zeros(s, np.float32) for p, s in model.shapes().items()}
    path = epath.Path(self.create_tempdir().full_path) / "own.npz"
    report.write_npz(variables_lib.nest(arrays), path)
    entry = {"name": "digits_linear", "checkpoint": str(path)}
    self.assertEqual(_define(entry).model.spec, model.spec)
