"""Outputs in the order of the data set's classes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest

from eval.pipeline import on_host, relabel
from eval.tasks import detection, video
from eval.tasks.parts import top_k
from models import adapters
from robust_tfds import devices, models

_NEVER = -float("inf")
# Outputs: class 3, none, class 0, class 1; nothing is class 2 or 4.
_PART = relabel.Relabelling((3, -1, 0, 1), 5)


class RelabellingTest(absltest.TestCase):
  def test_logits(self):
    got = _PART.logits(jnp.array([[1.0, 2.0, 3.0, 4.0]]))
    self.assertEqual(got.tolist(), [[3.0, 4.0, _NEVER, 1.0, _NEVER]])
    self.assertEqual(_PART.without_output, 2)
    self.assertEqual(
      _PART.words("abcde"),
      "3 of 4 outputs are classes of the data set; 2 of its 5 classes have none:"
      " c, e",
    )
    self.assertEqual(relabel.Relabelling((1, 0), 2).without_output, 0)

  def test_several_outputs_are_one_class(self):
    several = relabel.Relabelling((1, 0, -1, 1), 3)
    logits = np.array([[[1.0, 2.0, 9.0, 400.0], [3.0, 2.0, 9.0, 3.0]]])
    got = np.asarray(several.logits(logits))
    expected = [[2, 400, _NEVER], [2, 3 + np.log(2), _NEVER]]
    np.testing.assert_allclose(got, [expected], rtol=1e-6)
    self.assertStartsWith(several.words(), "3 of 4 outputs are classes")

  @pytest.mark.slow
  def test_never_answered(self):
    logits = jax.random.normal(jax.random.key(0), (6, 4))
    top5 = np.asarray(top_k.best(_PART(logits))["top5"])
    self.assertEqual(set(top5[:, :3].ravel().tolist()), {0, 1, 3})
    self.assertTrue((top5[:, 3:] == -1).all())
    views = jnp.stack([logits, -logits], axis=1)
    labels = jnp.zeros(len(views), jnp.int32)
    top5 = np.asarray(video.reduce(_PART(views), labels)["top5"])
    self.assertTrue((top5[:, :3] >= 0).all() and (top5[:, 3:] == -1).all())

  def test_detections(self):
    outputs = {
      "boxes": jnp.zeros((1, 5, 4)),
      "scores": jnp.array([[0.9, 0.8, 0.7, 0.6, 0.5]]),
      "classes": jnp.array([[0, 1, 2, 3, 9]]),
      "valid": jnp.array([[True, True, True, False, True]]),
    }
    reduced = detection.reduce(_PART(outputs), jnp.array([-1]))
    # The second is none, the fourth was none; the fifth is refused later on.
    self.assertEqual(reduced["classes"].tolist(), [[3, 0, 9, -1, -1]])
    np.testing.assert_allclose(reduced["scores"], [[0.9, 0.7, 0.5, 0, 0]])


class PredictorTest(absltest.TestCase):
  def test_on_devices_and_on_the_host(self):
    spec = models.get("digits_linear", 4).spec
    mesh = devices.mesh()
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (2 * mesh.size, 32, 32, 3), np.uint8)
    labels = rng.integers(0, 4, len(pictures), np.int32)
    kinds = {
      "callable": lambda x: 9 * x[:, 0, :4, 0],
      "on_host": lambda x: 9 * spec.normalize_on_host(x)[:, 0, :4, 0],
    }
    expected = top_k.reduce(_PART(kinds["on_host"](pictures)), labels)
    for kind, function in kinds.items():
      model = adapters.get(kind)(function, spec)
      inner = on_host.predictor(model, model.init(None), mesh)
      predict = relabel.Predictor(inner, _PART.reducing)
      batch = devices.put_batch(pictures, mesh)
      true = devices.put_batch(labels, mesh)
      got = predict(batch, true, top_k.reduce).fetch()
      np.testing.assert_array_equal(got["top5"], expected["top5"])
      np.testing.assert_allclose(got["nll"], expected["nll"], rtol=1e-5)
      np.testing.assert_allclose(got["brier"], expected["brier"], rtol=1e-5)
      self.assertTrue(got["finite"].all())  # of the model's own logits
