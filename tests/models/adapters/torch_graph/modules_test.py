"""Which modules are taken; most of it is seen through the adapter."""

import collections
import dataclasses

import pytest
from absl.testing import absltest

try:
  import torch
  from torch import nn
except ImportError as _error:
  pytest.skip(f"torch is not installed: {_error}", allow_module_level=True)

from models.adapters.torch_graph import modules


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
