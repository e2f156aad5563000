"""Layers of a model that are read or retrained."""

import importlib
import itertools
import pkgutil

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from models import (
  adapters,
  capture,
  classification,
  last_layer,
  layers,
  stages,
  video,
)
from robust_tfds import errors, models
from tests import quick
from tests.models import drawn


class LastLayerTest(absltest.TestCase):
  """A frozen network with another last layer: its answers, shapes, refusals."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.network = models.get("digits_cnn")
    cls.model = last_layer.LastLayer.from_network(cls.network, 3, "shapes")
    rng = np.random.default_rng(0)
    cls.images = rng.integers(0, 256, (4, 32, 32, 3), np.uint8)

  def test_the_networks_own_layer_gives_its_logits(self):
    of_network = drawn.variables(self.network)
    model = last_layer.LastLayer.from_network(self.network, 10, "digits")
    variables = {"network": of_network, "last_layer": of_network["head"]}
    np.testing.assert_allclose(
      model.apply(variables, self.images),
      self.network.apply(of_network, self.images),
      rtol=1e-5,
      atol=1e-5,
    )

  def test_init_and_spec(self):
    shapes = jax.eval_shape(self.model.init, jax.random.key(0))
    head = shapes["last_layer"]
    self.assertEqual(
      (head["kernel"].shape, head["bias"].shape), ((1024, 3), (3,))
    )
    spec = self.model.spec
    self.assertEqual((spec.num_classes, spec.label_space), (3, "shapes"))
    self.assertEqual(spec.mean, self.network.spec.mean)
    self.assertFalse(self.model.is_external)

  def test_with_fields_is_the_networks(self):
    other = self.model.with_fields({"mean": (0.1, 0.2, 0.3)})
    self.assertEqual(other.spec.mean, (0.1, 0.2, 0.3))
    self.assertEqual(other.network.spec.mean, (0.1, 0.2, 0.3))
    self.assertEqual(other.spec.num_classes, 3)

  def test_refuses_what_names_no_layers(self):
    mine = adapters.get("on_host")(
      lambda batch: np.zeros((len(batch), 10), np.float32),
      self.network.spec,
      name="mine",
    )
    with self.assertRaisesRegex(errors.UserError, "mine names no layers"):
      last_layer.LastLayer.from_network(mine, 3, "shapes")


_PATHS = [
  ("conv1", "kernel"),
  ("bn1", "scale"),
  ("layer1", "0", "conv1", "kernel"),
  ("layer2", "0", "conv1", "kernel"),
  ("layer10", "0", "conv1", "kernel"),
  ("fc", "kernel"),
]
_PATTERNS = ("conv1|bn1", r"layer(\d+)")


class StagesTest(parameterized.TestCase):
  """What a network's first stages hold, and what weight decay spares."""

  @parameterized.parameters((0, 0), (1, 2), (2, 3), (3, 4), (4, 5))
  def test_the_stem_is_the_first_stage(self, count, paths):
    got = stages.first("x", _PATTERNS, _PATHS, count)
    self.assertEqual(got, set(_PATHS[:paths]))

  @parameterized.parameters(-1, 5)
  def test_more_stages_than_there_are(self, count):
    with self.assertRaisesRegex(
      ValueError, f"x: got {count} stages to freeze, expected 0 to 4; the stem"
    ):
      stages.first("x", _PATTERNS, _PATHS, count)

  def test_a_family_that_names_none(self):
    with self.assertRaisesRegex(ValueError, "alexnet does not define its"):
      models.get("alexnet").frozen_paths(stages=1)
    self.assertEmpty(models.get("alexnet").frozen_paths())

  @parameterized.parameters("digits_cnn", "resnet18", "tiny_r3d")
  def test_networks(self, name):
    model = models.get(name)
    check(self, model)
    frozen = model.frozen_paths(stages=2)
    first = {"digits_cnn": "conv2", "resnet18": "layer1", "tiny_r3d": "block1"}
    self.assertIn(first[name], {path[0] for path in frozen})
    self.assertNotIn(("bn1", "mean"), frozen)

  def test_the_last_norm_is_no_stem(self):
    check(self, models.get("mvit_v1_b"))

  def test_decay_spares_norms_and_biases(self):
    paths = models.get("resnet18").decayed_paths()
    self.assertEqual({path[-1] for path in paths}, {"kernel"})
    self.assertLen(paths, 21)  # twenty convolutions, a linear layer


def check(test, model) -> None:
  """The sets of a network with stages are sound and grow by the stage.

  Args:
    test: whose assertions are used.
    model: with stages.
  """
  parameters = set(model.shapes()) - model.statistics()
  parts = stages.split(model.family.stages, parameters)
  before, count = frozenset(), len(parts)
  test.assertGreater(count, 1)
  # In the order in which the network is built, none among another's.
  place = {path: i for i, path in enumerate(model.shapes())}
  ends = [
    (min(places), max(places))
    for places in ([place[path] for path in part] for part in parts)
  ]
  for (_, last), (start, _) in itertools.pairwise(ends):
    test.assertLess(last, start)
  for n in range(1, count + 1):
    frozen = model.frozen_paths(stages=n)
    test.assertLess(before, frozen)
    before = frozen
  test.assertLess(before, parameters)
  test.assertIn(next(iter(model.shapes())), model.frozen_paths(stages=1))
  # The head is what differs where there are other classes.
  other = models.get(model.name, num_classes=7).shapes()
  head = {p for p, shape in model.shapes().items() if other[p] != shape}
  test.assertEmpty(head & before)
  test.assertLess(model.decayed_paths(), parameters)


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
  """Captured layers: their names, what is kept of them, what is refused."""

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
