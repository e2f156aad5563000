"""What is read from torch's graphs."""

import numpy as np
import pytest
from absl.testing import absltest

from robust_tfds import errors

try:
  import torch
  from torch import nn
except ImportError as _error:
  pytest.skip(f"torch is not installed: {_error}", allow_module_level=True)

from robust_tfds.models.adapters.torch_graph import export


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


class ExportTest(absltest.TestCase):
  def test_only_what_is_needed(self):
    program, weights = export.read(export.export(_Net().eval(), (2, 4)))
    self.assertSameElements(weights, ["head.weight", "head.bias", "places"])
    self.assertEqual(weights["places"].dtype, np.int32)
    (constant,) = program.constants.values()
    np.testing.assert_array_equal(constant, [1, 2])
    self.assertNotIn("exp", program.text())
    self.assertIsNone(program.rows)
    answer = program({**weights}, np.ones((5, 4), np.float32))
    self.assertSameElements(answer, ["logits", "input"])
    self.assertEqual(answer["logits"].shape, (5, 2))

  def test_one_output(self):
    exported = export.export(_Net().eval(), (2, 4), "logits")
    program, weights = export.read(exported)
    self.assertIn("head.weight", weights)
    answer = program(weights, np.ones((1, 4), np.float32))
    self.assertEqual(answer.shape, (1, 2))

  def test_weights_are_copies(self):
    net = _Net().eval()
    _, weights = export.read(export.export(net, (2, 4)))
    before = weights["head.bias"].copy()
    with torch.no_grad():
      net.head.bias.add_(1)
    np.testing.assert_array_equal(weights["head.bias"], before)

  def test_refused(self):
    with self.assertRaisesRegex(errors.UserError, "changes its buffers"):
      export.read(export.export(_Counts().eval(), (2, 4)))
    with self.assertRaisesRegex(errors.UserError, "changes the pixels"):
      export.read(export.export(nn.ReLU(inplace=True).eval(), (2, 4)))
    big = _Net().eval()
    big.places += 1 << 40
    with self.assertRaisesRegex(errors.UserError, "more than 32 bits"):
      export.read(export.export(big, (2, 4)))
    exported = torch.export.export(nn.Linear(4, 3), (torch.zeros(2, 4),))
    self.assertEqual(export.rows(exported), 2)
    with self.assertRaisesRegex(errors.UserError, "exported for inputs of"):
      export.export(exported, (2, 5))


if __name__ == "__main__":
  absltest.main()
