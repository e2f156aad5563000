"""Networks of users."""

import sys

import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models import adapters, own
from models.detection.spec import DetectorSpec
from models.model import Model
from models.own import source as own_source
from robust_tfds import errors, models
from tests import in_folder


def build_own():
  """A model of the user's own, as `module:function` names it."""
  return adapters.get("callable")(
    lambda x: x.mean((1, 2, 3))[:, None] * jnp.arange(10.0),
    models.get("digits_cnn").spec,
    name="mine",
  )


class _Detector:
  """A user's detector that knows nothing of our classes."""

  name = "theirs"
  spec = DetectorSpec(num_classes=3, short_px=0)

  def init(self, key):
    return {"key": key}

  def apply(self, variables, images, sizes):
    boxes = jnp.zeros((len(images), 2, 4)) + sizes[:, None, :1]
    scores = boxes[..., 0]
    return {
      "boxes": boxes,
      "scores": scores,
      "classes": scores.astype(int),
      "valid": scores > 0,
    }


def build_detector():
  """An object with a model's parts."""
  return _Detector()


def build_nothing():
  """Not a model."""
  return 3


def build_with_an_error():
  """Fails."""
  raise KeyError("weights.npz")


def build_with_an_argument(folder):
  """Needs more than nothing."""


a_number = 7


def build_without_a_spec():
  """A model whose spec is none."""
  detector = _Detector()
  detector.spec = {"num_classes": 3}
  return detector


def predict(batch):
  """A function of batches."""
  return batch


def build_of_anything(*args, **kwargs):
  """Gives a function, and hides that it needs nothing."""
  del args, kwargs
  return predict


def hidden_predict(*args, **kwargs):
  """A function of batches, as a decorator hides it."""
  return predict(*args, **kwargs)


def build_with_defaults(weights="a"):
  """Gives a function."""
  del weights
  return predict


class OwnTest(absltest.TestCase):
  """A user's own models, named module:function, and what is refused of them."""

  def test_functions_of_batches_and_what_builds_them(self):
    made = []
    for name, wanted in (
      ("predict", predict),
      ("build_of_anything", predict),
      ("build_with_defaults", predict),
      ("hidden_predict", hidden_predict),
      ("build_with_an_argument", build_with_an_argument),
    ):
      model = build_own()
      with self.subTest(name):
        own.from_user(
          f"{__name__}:{name}", None, lambda f: made.append(f) or model
        )
        self.assertIs(made[-1], wanted)
    with self.assertRaisesRegex(errors.UserError, "without arguments: KeyErr"):
      own.from_user(f"{__name__}:build_with_an_error", None, made.append)

  def test_by_path(self):
    model = models.get(f"{__name__}:build_own+clahe")
    self.assertEqual(model.name, "mine+clahe")
    with self.assertRaisesRegex(
      ValueError, "has 10 classes, got num_classes=3"
    ):
      models.get(f"{__name__}:build_own", num_classes=3)
    with self.assertRaisesRegex(ValueError, "brings its own variables"):
      models.convert.load(f"{__name__}:build_own", "x.npz")

  def test_an_object_with_the_parts(self):
    model = models.get(f"{__name__}:build_detector", kind="detection")
    self.assertIsInstance(model, Model)
    self.assertIsInstance(model, own.OwnModel)
    self.assertEqual(model.init(7), {"key": 7})
    images, sizes = jnp.zeros((1, 8, 8, 3), jnp.uint8), jnp.array([[5, 6]])
    scores = model.apply({}, images, sizes)["scores"]
    self.assertEqual(scores.tolist(), [[5, 5]])
    for wrong in (images.astype(jnp.int16), images[0]):
      with self.assertRaisesRegex(errors.UserError, "^theirs got .*, expected"):
        model.apply({}, wrong, sizes)
    model.thing.apply = lambda variables, images, sizes: {"boxes": sizes}
    with self.assertRaisesRegex(
      ValueError, "theirs gave boxes, without scores"
    ):
      model.apply({}, images, sizes)

  def test_an_object_on_the_host(self):
    detector = _Detector()
    detector.on_host = True
    detector.apply = lambda variables, images, sizes: {
      "boxes": np.zeros((len(images), 2, 4), np.float32),
      "scores": np.zeros((len(images), 2), np.float32),
      "classes": np.zeros((len(images), 2), np.int32),
      "valid": np.zeros((len(images), 2), bool),
    }
    model = own.OwnModel("theirs", detector.spec, detector)
    self.assertTrue(model.on_host)
    images, sizes = np.zeros((1, 8, 8, 3), np.uint8), np.array([[5, 6]])
    got = model.apply({}, images, sizes)
    self.assertEqual({type(value) for value in got.values()}, {np.ndarray})
    for wrong in (images.astype(np.int16), images[0]):
      with self.assertRaisesRegex(errors.UserError, "^theirs got .*, expected"):
        model.apply({}, wrong, sizes)

  def test_refusals(self):
    for name, message in (
      ("nowhere:build", "No model at 'nowhere:build'"),
      (f"{__name__}:nothing_there", "has no 'nothing_there'"),
      (f"{__name__}:", "that is no module:function"),
      (":build", "that is no module:function"),
      ("..up:build", "that is no module:function"),
      (f"{__name__}:a_number", "'a_number' is a int"),
      (f"{__name__}:build_with_an_error", "KeyError: 'weights.npz' .*line"),
      (f"{__name__}:build_with_an_argument", "without arguments: TypeError"),
      (f"{__name__}:build_nothing", "returned a int without name, spec"),
      (f"{__name__}:build_without_a_spec", "a spec of type dict, expected"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        models.get(name)


class OwnSourceTest(in_folder.TestCase):
  """The files that a user's own model consists of."""

  def setUp(self):
    super().setUp()
    sys.path.insert(0, str(self.root))
    self.addCleanup(sys.path.remove, str(self.root))
    self._write("source_model.py", "import json, jax\nimport source_net.parts")
    self._write("source_net/__init__.py", "")
    self._write(
      "source_net/parts.py",
      "from models import own\n\n"
      "def f():\n  from . import head\n  from .deep.er import thing\n",
    )
    self._write("source_net/head.py", "import source_model")
    self._write("source_net/deep/er.py", "thing = = 1")  # does not even parse
    self._write("source_net/other.py", "")

  def _write(self, name, text):
    path = self.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)

  def test_the_module_and_the_local_ones_it_imports(self):
    self.assertEqual(
      list(own_source.hashes("source_model:build")),
      [
        "source_model",
        "source_net",
        "source_net.deep.er",
        "source_net.head",
        "source_net.parts",
      ],
    )
    self.assertNotIn("source_net", sys.modules)

  def test_an_edit_changes_its_file_alone(self):
    before = own_source.hashes("source_model:build")
    self._write("source_net/head.py", "import source_model  # another head")
    after = own_source.hashes("source_model:build")
    changed = [m for m in before if before[m] != after[m]]
    self.assertEqual(changed, ["source_net.head"])

  def test_what_is_not_local(self):
    for name in ("json:load", "models.own:x", "models.own:x"):
      self.assertEqual(own_source.hashes(name), {})
    self.assertEqual(own_source.hashes("jax:x"), {})
    self.assertEqual(own_source.hashes("not_there_at_all:x"), {})
