"""MSDNet beside the network written out: every exit, from one checkpoint."""

import functools

import jax
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models.classification import msdnet
from models.convert import match, oracle
from robust_tfds import models
from tests.models import drawn
from tests.models.classification import by_hand
from tests.models.convert import parity_test, torchvision_cpu

_SMALL = {"steps": (2, 3, 2), "width": 4, "growth": 2, "stem_bias": True}


def _written_out(variables, x) -> list[np.ndarray]:
  """The logits of all exits."""
  answers, maps = [], []
  for number, block in variables["blocks"].items():
    for place in sorted(block, key=int):
      part = block[place]
      if number == place == "0":
        maps = _first(part["layers"], x)
      elif "m" in part:
        maps = [
          by_hand.unit(y, part["m"][str(i)]["net"]) for i, y in enumerate(maps)
        ]
      else:
        maps = _layer(part["layers"], maps)
    head = variables["classifier"][number]
    y = maps[-1]
    for step in ("0", "1"):
      y = by_hand.unit(y, head["m"][step]["net"], 2)
    answers.append(by_hand.linear(y[:, 0, 0], head["linear"]))
  return answers


def _first(scales, x) -> list[np.ndarray]:
  stem = scales["0"]
  x = by_hand.relu(by_hand.norm(by_hand.conv(x, stem["0"], 2, 3), stem["1"]))
  maps = [by_hand.max_pool(x, 3, 2, 1)]
  for i in range(1, 4):
    maps.append(by_hand.unit(maps[-1], scales[str(i)]["net"], 2))
  return maps


def _layer(scales, maps) -> list[np.ndarray]:
  gone = len(maps) - len(scales)
  out = []
  for i in range(len(scales)):
    scale, own = scales[str(i)], maps[i + gone]
    parts = [own]
    if "conv_down" in scale:
      parts.append(
        by_hand.unit(maps[i + gone - 1], scale["conv_down"]["net"], 2)
      )
    parts.append(by_hand.unit(own, scale["conv_normal"]["net"]))
    out.append(np.concatenate(parts, -1))
  return out


class MsdnetTest(parameterized.TestCase):
  @pytest.mark.slow
  def test_every_exit_of_one_checkpoint(self):
    model = models.get("msdnet_step4_exit1", num_classes=5)
    model = drawn.with_options(model, **_SMALL)
    variables = drawn.variables(model)
    x = np.random.default_rng(1).normal(size=(2, 64, 64, 3)).astype(np.float32)
    # The last map is 2 x 2: two strides leave one place.
    wanted = _written_out(variables, x)
    self.assertLen(wanted, 3)
    for i, want in enumerate(wanted):
      exit = drawn.with_options(model, exit=i)
      got = jax.jit(exit.apply)(variables, x)
      np.testing.assert_allclose(got, want, atol=1e-4 * np.abs(want).max())

  def test_the_plan_is_the_authors(self):
    # MSDNet-PyTorch prints "inScales, outScales, inChannels" of --nBlocks 5
    # --step 4 --base 4 --nChannels 32 --growthRate 16: 20 layers, 5 a scale.
    steps = [s for block in msdnet.plan((4,) * 5, 32, 16) for s in block]
    self.assertEqual([i for i, s in enumerate(steps) if s.drops], [5, 10, 15])
    self.assertEqual([s.dropped for s in steps], [i // 5 for i in range(20)])
    self.assertEqual([s.inputs for s in steps[4:7]], [96, 112, 64])

  def test_the_name_says_the_exit(self):
    names = models.names("msdnet*")
    self.assertLen(names, 15)
    options = models.get("msdnet22_exit10").variant.options
    self.assertEqual(options["exit"], 9)
    shapes = {name: models.get(name).shapes() for name in names[-2:]}
    self.assertEqual(*shapes.values())

  def test_layers_are_captured_but_not_lists_of_them(self):
    model = models.get("msdnet_step4_exit1", num_classes=5)
    model = drawn.with_options(model, **_SMALL)
    variables, x = drawn.abstract(model), np.zeros((2, 64, 64, 3), np.float32)

    def capture(name):
      return jax.eval_shape(
        lambda v: model.apply(v, x, capture=(name,)), variables
      )

    _, kept = capture("blocks.0.2.layers.3")
    self.assertEqual(kept["blocks.0.2.layers.3"].shape, (2, 32))
    with self.assertRaisesRegex(ValueError, "'blocks' was not called"):
      capture("blocks")

  @pytest.mark.slow
  def test_exits_of_pytorchcv(self):
    torch = torchvision_cpu.package()
    last = models.get("msdnet22_exit10")
    try:
      module = oracle.build(last)
    except ImportError as error:
      raise absltest.unittest.SkipTest(f"Not installed: {error}") from error
    x = np.random.default_rng(0).normal(size=(2, 224, 224, 3))
    x = x.astype(np.float32)
    parity_test._randomise(torch, module, 0, x)
    arrays = {n: t.numpy() for n, t in module.state_dict().items()}
    variables = match.match_arrays(last, arrays).variables
    module.forward = functools.partial(module.forward, only_last=False)
    with torch.no_grad():
      wanted = module(torch.from_numpy(x.transpose(0, 3, 1, 2).copy()))
    self.assertLen(wanted, 10)
    for i, want in enumerate(wanted):
      got = models.get(f"msdnet22_exit{i + 1}").apply(variables, x)
      scale = want.abs().max().item()
      np.testing.assert_allclose(got, want.numpy(), atol=2e-5 * scale)
