"""A frozen network with another last layer: its answers, shapes, refusals."""

import jax
import numpy as np
from absl.testing import absltest

from models import adapters, last_layer
from robust_tfds import errors, models
from tests.models import drawn


class LastLayerTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.network = models.get("digits_cnn")
    cls.model = last_layer.LastLayer.on(cls.network, 3, "shapes")
    rng = np.random.default_rng(0)
    cls.images = rng.integers(0, 256, (4, 32, 32, 3), np.uint8)

  def test_the_networks_own_layer_gives_its_logits(self):
    of_network = drawn.variables(self.network)
    model = last_layer.LastLayer.on(self.network, 10, "digits")
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
      last_layer.LastLayer.on(mine, 3, "shapes")


if __name__ == "__main__":
  absltest.main()
