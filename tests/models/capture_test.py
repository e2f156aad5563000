"""Captured layers: their names, what is kept of them, what is refused."""

import importlib
import pkgutil

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from models import adapters, capture, classification, layers, video
from robust_tfds import errors, models
from tests import quick
from tests.models import drawn


def _smallest() -> dict[str, str]:
  """Family -> its model of the fewest parameters."""
  out = {}
  for package in (classification, video):
    for file in pkgutil.iter_modules(package.__path__):
      module = importlib.import_module(f"{package.__name__}.{file.name}")
      if hasattr(module, "FAMILY"):
        variants = module.FAMILY.variants
        size = {n: v.spec.parameters or 0 for n, v in variants.items()}
        out[file.name] = min(size, key=size.__getitem__)
  return out


class CaptureTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("digits_cnn")
    cls.variables = cls.model.init(jax.random.key(0))
    rng = np.random.default_rng(0)
    cls.images = rng.integers(0, 256, (5, 32, 32, 3), np.uint8)

  def test_names_are_paths_in_the_order_of_the_network(self):
    self.assertEqual(self.model.layers, ("conv1", "conv2", "conv3", "head"))
    of_tiny = models.get("tiny_r3d").layers
    self.assertEqual(of_tiny[:3], ("stem", "block1", "block1.space"))
    names = models.get("resnet50").layers
    self.assertContainsSubset(("layer4", "layer4.2.conv3", "fc"), names)

  def test_gives_the_logits_and_pooled_layers(self):
    wanted = ("conv1", "conv3", "features")

    @jax.jit
    def both(variables, images):
      return self.model.apply(variables, images, capture=wanted)

    logits, kept = both(self.variables, self.images)
    alone = self.model.apply(self.variables, self.images)
    np.testing.assert_allclose(logits, alone, rtol=1e-5, atol=1e-6)
    self.assertEqual(list(kept), list(wanted))
    network = self.model.merge(self.variables)
    x = network.conv1(self.model.preprocess(self.images))
    np.testing.assert_allclose(kept["conv1"], x.mean((1, 2)), atol=1e-5)
    x = network.conv3(layers.relu(network.conv2(layers.relu(x))))
    np.testing.assert_allclose(kept["conv3"], x.mean((1, 2)), atol=1e-5)
    read = layers.relu(x).reshape(5, -1)
    np.testing.assert_allclose(kept["features"], read, atol=1e-5)
    self.assertEqual(kept["conv1"].dtype, jnp.float32)

  def test_does_not_change_the_model(self):
    self.model.apply(self.variables, self.images, capture=self.model.layers)
    again = self.model.apply(self.variables, self.images)
    self.assertEqual(again.shape, (5, 10))
    self.assertEqual(self.model.layers, ("conv1", "conv2", "conv3", "head"))

  @parameterized.parameters("digits_linear", "digits_cnn", "tiny_r3d")
  def test_the_last_layer_on_the_features_gives_the_logits(self, name):
    model = models.get(name)
    variables = drawn.variables(model)
    shape = model.spec.batch_shape(3, model.spec.input_px)
    batch = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    logits, kept = model.apply(variables, batch, capture=["features"])
    last = variables["head"]
    again = kept["features"] @ last["kernel"] + last["bias"]
    np.testing.assert_allclose(again, logits, rtol=1e-4, atol=1e-4)

  @quick.cases(("alexnet", "squeezenet1_1"), sorted(_smallest().values()))
  def test_has_features(self, name):
    self._check_features(name)

  @parameterized.parameters(
    "deit_tiny_distilled_patch16_224",  # two heads
    "clip_vit_b_32",  # compares with words
  )
  def test_has_features_of_heads_of_its_own(self, name):
    self._check_features(name)

  def _check_features(self, name):
    model = models.get(name)
    shape = model.spec.batch_shape(2, model.spec.input_px)
    batch = jax.ShapeDtypeStruct(shape, jnp.uint8)
    variables = jax.eval_shape(lambda: model.init(jax.random.key(0)))
    logits, kept = jax.eval_shape(
      lambda v, b: model.apply(v, b, capture=("features",)), variables, batch
    )
    classes, width = model.spec.num_classes, kept["features"].shape[1]
    self.assertEqual(logits.shape, (2, classes))
    shapes = model.shapes().items()
    heads = [s for p, s in shapes if p[-1] == "kernel" and s[-1] == classes]
    # CLIP's words are no layer: [classes, width].
    heads = heads or [model.shapes()[("text",)][::-1]]
    widths = [shape[-2] for shape in heads]
    # Heads are read together; of a network of several exits one is.
    several = name.startswith("msdnet")
    self.assertEqual(width, widths[0] if several else sum(widths))

  def test_refuses(self):
    model = self.model

    def function(batch):
      return np.zeros((len(batch), 10), np.float32)

    ours = adapters.get("on_host")(function, model.spec, name="mine")
    traced = adapters.get("callable")(
      lambda pixels: jnp.zeros((len(pixels), 10)), model.spec, name="mine"
    )
    for of, wanted, message in (
      (model, ["conv4"], "layer of digits_cnn 'conv4'.*conv"),
      (model, "conv1", r"expected several names, e.g. \('conv1',\)"),
      (ours, ["features"], "mine names no layers"),
      (traced, ["features"], "mine names no layers"),
      (models.get("digits_cnn+clahe"), ["conv1"], r"\+clahe names no layers"),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        of.apply(self.variables, self.images, capture=wanted)
      self.assertEqual(bool(of.layers), of is model)

  def test_refuses_what_is_no_feature_of_the_batch(self):
    kept = capture.Capture(self.model.merge(self.variables), ("conv1",), 10)
    with self.assertRaisesRegex(errors.UserError, "'conv1' was not called"):
      kept.pooled(5)
    network = self.model.merge(self.variables)
    kept = capture.Capture(network, ("conv1",), 10)
    network(self.model.preprocess(self.images))
    with self.assertRaisesRegex(errors.UserError, r"no features of 7 examples"):
      kept.pooled(7)


if __name__ == "__main__":
  absltest.main()
