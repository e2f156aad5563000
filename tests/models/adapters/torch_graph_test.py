"""Torch modules: checks, exported graphs, decomposed operators."""

import collections
import contextlib
import dataclasses
import io
from unittest import mock

import jax
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from robust_tfds import errors

try:
  import torch
  import torch.nn.functional as F
  from torch import nn
except ImportError as _error:
  pytest.skip(f"torch is not installed: {_error}", allow_module_level=True)

from models.adapters.torch_graph import decompositions, export, modules


class _Net(nn.Module):
  """With what is not needed: a buffer, an output, a whole number of 64 bits."""

  def __init__(self):
    super().__init__()
    self.head = nn.Linear(4, 3)
    self.register_buffer("unused", torch.zeros(7))
    self.register_buffer("places", torch.tensor([2, 0]), persistent=False)

  def forward(self, x):
    table = torch.tensor([1.0, 2.0])
    dead = x.exp()
    del dead
    return {"logits": self.head(x)[:, self.places] * table, "input": x}


class _Counts(_Net):
  def forward(self, x):
    self.unused.add_(1)
    return super().forward(x)["logits"] + self.unused[0]


class _Inverse(nn.Module):
  def forward(self, x):
    return torch.linalg.inv(x[:, :, None] + torch.eye(4))[:, 0]


def _read(net, output=None):
  return export.read(export.export(net.eval(), (2, 4), output))


class ExportTest(absltest.TestCase):
  def test_only_what_is_needed(self):
    program = _read(_Net(), "logits")
    (constant,) = program.variables.keys() - {"head.weight", "head.bias"}
    np.testing.assert_array_equal(program.variables[constant], [1, 2])
    np.testing.assert_array_equal(program.constants["places"], [2, 0])
    self.assertNotIn("unused", program.constants)
    self.assertNotIn("Exp(", program.text())
    for count in (1, 5):
      answer = program(program.variables, np.ones((count, 4), np.float32))
      self.assertEqual(answer.shape, (count, 2))

  def test_text_tells_numbers_that_are_no_weights(self):
    other = _Net()
    other.places += 1
    other.head.weight.data.add_(1)
    texts = {_read(net, "logits").text() for net in (_Net(), _Net(), other)}
    self.assertLen(texts, 2)

  def test_weights_are_copies(self):
    net = _Net()
    weights = _read(net, "logits").variables
    before = weights["head.bias"].copy()
    with torch.no_grad():
      net.head.bias.add_(1)
    np.testing.assert_array_equal(weights["head.bias"], before)

  def test_refused(self):
    big = _Net()
    big.places += 1 << 40
    for net, output, words in (
      (_Counts(), None, "changes its buffers"),
      (nn.ReLU(inplace=True), None, "changes its input"),
      (big, "logits", "places holds whole numbers of more than 32 bits"),
      (_Net(), None, "has 2 outputs"),
      (_Inverse(), None, "operators aten.linalg_inv_ex.default are not known"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        _read(net, output)
    exported = torch.export.export(nn.Linear(4, 3), (torch.zeros(2, 4),))
    self.assertEqual(export.rows(exported), 2)
    with self.assertRaisesRegex(errors.UserError, "exported for inputs of"):
      export.export(exported, (2, 5))

  def test_says_what_is_not_installed_and_prints_nothing(self):
    exported = export.export(_Net().eval(), (2, 4), "logits")
    words = io.StringIO()
    with (
      contextlib.redirect_stdout(words),
      contextlib.redirect_stderr(words),
    ):
      export.read(exported)
    self.assertEmpty(words.getvalue())
    with (
      mock.patch("importlib.util.find_spec", return_value=None),
      self.assertRaisesRegex(ImportError, r"robust_tfds\[torch\]"),
    ):
      export.read(exported)


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


@dataclasses.dataclass
class _Output:
  logits: torch.Tensor
  loss: torch.Tensor | None = None


class ModulesTest(absltest.TestCase):
  def test_plain_answers(self):
    one = torch.ones(2)
    pair = collections.namedtuple("Pair", "a b")
    for answer, want in (
      (one, 2),
      (_Output(one), {"logits": 2, "loss": None}),
      ({"x": one, "y": None}, {"x": 2}),
      ((one, [one]), [2, [2]]),
      (pair(one, 3), {"a": 2, "b": 3}),
    ):
      want = (
        want
        if not isinstance(want, dict)
        else {k: v for k, v in want.items() if v is not None}
      )
      self.assertEqual(modules.plain(answer, len), want)

  def test_obstacles(self):
    self.assertEqual(modules.obstacle(nn.Linear(2, 2)), "")
    quantised = nn.Linear(2, 2)
    quantised.register_buffer("packed", torch.zeros(2, dtype=torch.int8))
    self.assertIn("quantised (torch.int8)", modules.obstacle(quantised))
    self.assertIn("hooks (on itself)", modules.obstacle(_hooked()))

  def test_compiled_modules_are_unwrapped(self):
    net = nn.Linear(2, 2)
    self.assertIs(modules.unwrapped(torch.compile(net)), net)
    self.assertIs(modules.unwrapped(net), net)


def _hooked():
  net = nn.Linear(2, 2)
  net.register_forward_pre_hook(lambda *_: None)
  return net
