"""A user's own models, named module:function, and what is refused of them."""

import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models import adapters, own
from models.detection.spec import DetectorSpec
from models.model import Model
from robust_tfds import errors, models


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
