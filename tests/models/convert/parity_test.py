"""Our networks against the reference modules, all weights randomised.

Weights, biases and running statistics are all random: zero-initialised heads
and unit statistics would make the comparison vacuous. Inputs are real
photographs where they are there, else smooth seeded pictures.
"""

import functools
import zlib

import jax
import numpy as np
import pytest
from absl.testing import absltest
from absl.testing import parameterized

import models
from models.convert import match
from models.convert import oracle
from tests import shared_data

_TOLERANCE = 1e-5  # of the logits' scale
# Quick to build and compile, and between them every kind of layer.
_FAST = (
  "alexnet",
  "convnext_tiny",
  "densenet121",
  "resnet18",
  "resnet50",
  "se_resnet50",
  "squeezenet1_1_torchvision",
  "vit_tiny_patch16_224",
)


def _listed() -> tuple[str, ...]:
  return tuple(
    name
    for name in models.names()
    if name in getattr(models.family(name), "ORACLES", {})
  )


def _import_torch():
  try:
    import torch

    from tests.models.convert import torchvision_cpu
  except ImportError as error:
    raise absltest.unittest.SkipTest(
      f"The extra `convert` is not installed: {error}"
    ) from error
  torchvision_cpu.define()
  torch.set_num_threads(2)
  return torch


@functools.cache
def _photographs(side: int) -> np.ndarray:
  """uint8 `[2, side, side, 3]`."""
  try:
    folder = shared_data.path("data/imagenet_samples")
  except absltest.unittest.SkipTest:
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (2, 8, 8, 3), np.uint8)
    return np.kron(coarse, np.ones((1, side // 8 + 1, side // 8 + 1, 1)))[
      :, :side, :side
    ].astype(np.uint8)
  import PIL.Image

  pictures = []
  for path in sorted(folder.glob("*.JPEG"))[:2]:
    with PIL.Image.open(path) as picture:
      pictures.append(np.asarray(picture.convert("RGB").resize((side, side))))
  return np.stack(pictures)


def _randomise(torch, module, seed: int) -> None:
  generator = torch.Generator().manual_seed(seed)

  def draw(shape):
    return torch.randn(shape, generator=generator)

  for name, value in module.state_dict().items():
    if name.endswith("num_batches_tracked"):
      continue
    if name.endswith("running_var"):
      new = 0.5 + torch.rand(value.shape, generator=generator)
    elif name.endswith("running_mean") or value.ndim <= 1:
      new = 0.1 * draw(value.shape) + (0.7 if _is_gain(name, value) else 0.0)
    else:
      fan = max(value[0].numel(), 1)
      new = draw(value.shape) * (1.4 / fan) ** 0.5
    value.copy_(new)


def _is_gain(name: str, value) -> bool:
  return name.endswith(("weight", "gamma", "layer_scale")) and value.ndim <= 1


def parity(name: str) -> dict:
  """max |d|, the logits' scale and both parameter counts of one model."""
  torch = _import_torch()
  model = models.get(name)
  try:
    module = oracle.build(model)
  except ImportError as error:
    raise absltest.unittest.SkipTest(f"Not installed: {error}") from error
  _randomise(torch, module, zlib.crc32(name.encode()))
  arrays = {n: t.numpy() for n, t in module.state_dict().items()}
  family = models.family(name)
  loaded = match.bring(
    model,
    arrays,
    family.CHECKPOINTS,
    getattr(family, "IGNORED", ()),
  )
  batch = np.asarray(model.preprocess(_photographs(model.spec.input_px)))
  want = oracle.logits(module, batch)
  got = np.asarray(jax.jit(model.apply)(loaded.variables, batch))
  return {
    "difference": float(np.abs(got - want).max()),
    "scale": float(np.abs(want).max()),
    "spread": float(np.abs(want[0] - want[1]).max()),
    "style": loaded.style,
    "ours": model.count_parameters(),
    "theirs": sum(
      p.numel() for n, p in module.named_parameters() if n not in loaded.ignored
    ),
  }


class ParityTest(parameterized.TestCase):
  def _check(self, name):
    got = parity(name)
    print(name, got)
    self.assertGreater(got["scale"], 0)
    # The two photographs must not look the same to the network.
    self.assertGreater(got["spread"], 1e-3 * got["scale"])
    self.assertLessEqual(got["difference"], _TOLERANCE * got["scale"])
    self.assertEqual(got["ours"], got["theirs"])
    self.assertEqual(got["ours"], models.get(name).spec.parameters)

  @parameterized.parameters(*_FAST)
  def test_fast(self, name):
    self._check(name)

  @pytest.mark.slow
  @parameterized.parameters(*(n for n in _listed() if n not in _FAST))
  def test_whole_list(self, name):
    self._check(name)


if __name__ == "__main__":
  absltest.main()
