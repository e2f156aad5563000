"""Fingerprints: equal for equal facts, different for different ones."""

from absl.testing import absltest

from eval.cells import provenance


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
