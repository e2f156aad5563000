"""What is read from torch's graphs."""

import contextlib
import io
from unittest import mock

import numpy as np
import pytest
from absl.testing import absltest

from robust_tfds import errors

try:
  import torch
  from torch import nn
except ImportError as _error:
  pytest.skip(f"torch is not installed: {_error}", allow_module_level=True)

from models.adapters.torch_graph import export


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
      (nn.ReLU(inplace=True), None, "changes the pixels"),
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
