"""Operators that torch's exporter has not, taken apart."""

import jax
import numpy as np
import pytest
from absl.testing import parameterized

try:
  import torch
  import torch.nn.functional as F
  from torch import nn
except ImportError as _error:
  pytest.skip(f"torch is not installed: {_error}", allow_module_level=True)

from models.adapters.torch_graph import decompositions, export


class _Calls(nn.Module):
  def __init__(self, function):
    super().__init__()
    self.function = function

  def forward(self, x):
    return self.function(x)


class DecompositionsTest(parameterized.TestCase):
  @parameterized.parameters(
    (lambda x: F.adaptive_max_pool2d(x, [4, 3]), (2, 4, 9, 7)),
    (lambda x: F.adaptive_avg_pool3d(x, [1, 2, 3]), (2, 2, 5, 5, 5)),
    (lambda x: F.interpolate(x, (5, 9), mode="nearest-exact"), (2, 2, 4, 7)),
    (lambda x: F.scaled_dot_product_attention(x, x, x), (2, 5, 4)),
  )
  def test_equals_torch(self, function, shape):
    exported = export.export(_Calls(function).eval(), shape)
    program = export.read(exported)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, *shape[1:])).astype(np.float32)
    got = jax.jit(program)(program.variables, x)
    want = function(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(got, want, atol=1e-6)

  def test_a_view_of_what_lies_otherwise(self):
    x = torch.arange(24.0).view(2, 3, 4).transpose(1, 2)
    view = torch.ops.aten.view.default
    with self.assertRaises(RuntimeError):
      view(x, [2, 12])
    got = decompositions.table()[view](x, [2, 12])
    np.testing.assert_array_equal(got, x.reshape(2, 12))
