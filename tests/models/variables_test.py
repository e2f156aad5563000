"""Nested dicts of arrays: there and back, and what is not a model's."""

import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from models import variables

_NESTED = {"a": {"0": {"kernel": np.ones((2, 3))}, "1": np.zeros(1)}, "b": 4.0}
_EXPECTED = {("a", "kernel"): (2, 3), ("a", "bias"): (3,)}


class VariablesTest(parameterized.TestCase):
  def test_there_and_back(self):
    flat = variables.flatten(_NESTED)
    self.assertEqual(set(flat), {("a", "0", "kernel"), ("a", "1"), ("b",)})
    self.assertIs(flat["a", "0", "kernel"], _NESTED["a"]["0"]["kernel"])
    self.assertEqual(variables.nest(flat), _NESTED)

  def test_places_of_lists_become_text(self):
    self.assertEqual(variables.nest({("a", 0, "b"): 1}), {"a": {"0": {"b": 1}}})
    self.assertEqual(variables.as_text(("a", 12)), ("a", "12"))

  def test_arrays_that_fit(self):
    for array in (np.zeros, jnp.zeros):
      arrays = {path: array(shape) for path, shape in _EXPECTED.items()}
      variables.check_shapes("x", _EXPECTED, arrays)

  @parameterized.parameters(
    ({("a", "bias"): np.zeros(2)}, r"fit x: at a/bias got \(2,\), expected"),
    ({("a", "bias"): None}, "at a/bias got nothing, expected .3,"),
    ({("c", "bias"): np.zeros(3)}, "it has no c/bias .1 arrays too many"),
  )
  def test_arrays_that_do_not(self, change, message):
    arrays = {path: np.zeros(shape) for path, shape in _EXPECTED.items()}
    arrays |= change
    arrays = {p: a for p, a in arrays.items() if a is not None}
    with self.assertRaisesRegex(ValueError, message):
      variables.check_shapes("x", _EXPECTED, arrays)
