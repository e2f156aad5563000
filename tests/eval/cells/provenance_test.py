"""Fingerprints: equal for equal facts, different for different ones."""

import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.eval.cells import provenance


def _weights(**changes):
  return {"a": {"kernel": np.arange(6.0).reshape(2, 3)}, **changes}


class WeightsTest(parameterized.TestCase):
  def test_where_arrays_lie_does_not_matter(self):
    on_device = {"a": {"kernel": jnp.arange(6, dtype=jnp.float32)}}
    on_host = {"a": {"kernel": np.arange(6, dtype=np.float32)}}
    self.assertEqual(
      provenance.weights_sha256(on_device), provenance.weights_sha256(on_host)
    )
    transposed = np.asfortranarray(_weights()["a"]["kernel"])
    self.assertEqual(
      provenance.weights_sha256({"a": {"kernel": transposed}}),
      provenance.weights_sha256(_weights()),
    )

  @parameterized.named_parameters(
    ("value", {"a": {"kernel": np.arange(1.0, 7).reshape(2, 3)}}),
    ("shape", {"a": {"kernel": np.arange(6.0).reshape(3, 2)}}),
    ("dtype", {"a": {"kernel": np.arange(6).reshape(2, 3)}}),
    ("name", {"a": {"bias": np.arange(6.0).reshape(2, 3)}}),
    ("more", _weights(b=np.zeros(1))),
  )
  def test_everything_else_does(self, other):
    self.assertNotEqual(
      provenance.weights_sha256(other), provenance.weights_sha256(_weights())
    )


class FingerprintTest(absltest.TestCase):
  def test_stored_value(self):
    """A change of this makes every old workdir refuse its cells."""
    got = provenance.fingerprint({"seed": 0, "dataset": "digits_c"})
    self.assertEqual(got, "f7de8e3223fb")

  def test_order_of_the_facts_does_not_matter(self):
    one, two = {"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1}
    self.assertEqual(provenance.fingerprint(one), provenance.fingerprint(two))
    self.assertNotEqual(
      provenance.fingerprint(one), provenance.fingerprint({**one, "b": [2, 1]})
    )
