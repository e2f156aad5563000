"""Our networks against the reference modules, all weights randomised.

A pass is max |d| <= 1e-5 of the logits' scale. In a few of the deepest networks
random weights amplify rounding beyond that, in the reference as well: there our
distance to the reference run in float64 must not exceed twice its own.

Weights, biases and running statistics are all random: zero-initialised heads
and unit statistics would make the comparison vacuous. Inputs are real
photographs where they are there, else smooth seeded pictures.
"""

import dataclasses
import functools
import json
import pathlib
import zlib

import jax
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models import catalogue
from models.convert import __main__ as command
from models.convert import match, oracle
from robust_tfds import models
from tests import in_process, quick, shared_data
from tests.models.convert import torchvision_cpu

_TOLERANCE = 1e-5  # of the logits' scale
# Quick to build and compile, one of each kind of network: name -> px.
_FAST = {
  "alexnet": 224,
  "convnextv2_atto": 64,
  "efficientnet_b0": 64,
  "googlenet": 64,
  "mixer_s32_224": 224,
  "mobilenet_v3_small": 64,
  "regnet_y_400mf": 64,
  "resnet18": 224,
  "shufflenet_v2_x0_5": 64,
  "squeezenet1_1_torchvision": 224,
  "swin_v2_t": 72,  # its windows need padding at every stage
  "vit_tiny_patch16_224": 224,
}
# Convolutional networks that take minutes at their own size; any size shows the
# same arithmetic: name -> px.
_SMALLER = {
  "efficientnet_b4": 128,
  "efficientnet_b5": 128,
  "efficientnet_b6": 128,
  "efficientnet_b7": 128,
  "efficientnet_v2_l": 128,
  "efficientnet_v2_m": 128,
  "regnet_x_32gf": 96,
  "regnet_y_128gf": 64,
  "regnet_y_32gf": 96,
}
# Networks whose files other libraries write under names of their own: name, px,
# that library's.
_ELSEWHERE = (
  ("mnasnet0_5", 64, "timm:mnasnet_050"),
  ("mobilenet_v2", 64, "timm:mobilenetv2_100"),
  ("regnet_y_400mf", 64, "timm:regnety_004"),
  ("swin_t", 224, "timm:swin_tiny_patch4_window7_224"),
  ("swin_v2_t", 256, "timm:swinv2_tiny_window8_256"),
)


def _listed() -> tuple[str, ...]:
  return tuple(
    name for name in models.names() if name in catalogue.family_of(name).oracles
  )


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


def _randomise(torch, module, seed: int, batch: np.ndarray) -> None:
  """Random weights; statistics near those of the batch, then disturbed.

  Statistics that fit the activations keep the signal alive in deep networks:
  with arbitrary ones all inputs give the same logits.
  """
  generator = torch.Generator().manual_seed(seed)

  def draw(shape):
    return torch.randn(shape, generator=generator)

  # Statistics follow below; tables of positions are no weights.
  buffers = {name for name, _ in module.named_buffers()}
  for name, value in module.state_dict().items():
    if name.endswith(".index"):  # which channels a CondenseNet chooses
      value.copy_(torch.randperm(len(value), generator=generator))
    if name in buffers:
      continue
    if value.ndim <= 1 or name.endswith("layer_scale"):
      new = 0.1 * draw(value.shape) + (0.8 if _is_gain(name) else 0.0)
    else:
      new = draw(value.shape) * (2 / max(value[0].numel(), 1)) ** 0.5
    value.copy_(new)
  norms = [m for m in module.modules() if hasattr(m, "running_var")]
  if norms:
    for norm in norms:
      norm.momentum = 1.0
    oracle.logits(module.train(), batch, as_array=False)
    module.eval()
  for norm in norms:
    # Quiet channels must not be blown up: rounding would grow with depth.
    spread = norm.running_var + norm.running_var.mean()
    norm.running_mean.add_(0.05 * draw(spread.shape) * spread.sqrt())
    norm.running_var.copy_(spread)
    if norm.affine:
      norm.weight.data.mul_(2**0.5)


def _is_gain(name: str) -> bool:
  return name.endswith(("weight", "gamma", "layer_scale"))


def _reference(model):
  """The torch module; skips the test where its package is missing."""
  try:
    return oracle.build(model)
  except ImportError as error:
    raise absltest.unittest.SkipTest(f"Not installed: {error}") from error


def parity(
  name: str, side: int | None = None, reference: str | None = None
) -> dict:
  """max |d|, the logits' scale and both parameter counts of one model.

  Args:
    name: of the catalogue.
    side: of the pictures in pixels; None for the model's own.
    reference: as in a family's `oracles`; None for what stands there.
  """
  torch = torchvision_cpu.package()
  model = models.get(name)
  if reference:
    family = dataclasses.replace(model.family, oracles={name: reference})
    model = dataclasses.replace(model, family=family)
  module = _reference(model)
  batch = np.asarray(
    model.preprocess(_photographs(side or model.spec.input_px))
  )
  _randomise(torch, module, zlib.crc32(name.encode()), batch)
  arrays = {n: t.numpy() for n, t in module.state_dict().items()}
  loaded = match.match_arrays(model, arrays)
  want = oracle.logits(module, batch)
  got = np.asarray(jax.jit(model.apply)(loaded.variables, batch))
  difference, allowed = np.abs(got - want).max(), _TOLERANCE
  if difference > _TOLERANCE * np.abs(want).max():
    exact = oracle.logits(module.double(), batch.astype(np.float64))
    difference = np.abs(got - exact).max()
    allowed = 2 * np.abs(want - exact).max() / np.abs(want).max()
  return {
    "difference": float(difference),
    "allowed": float(allowed),
    "scale": float(np.abs(want).max()),
    "spread": float(np.abs(want[0] - want[1]).max()),
    "style": loaded.style,
    "ours": model.count_parameters(),
    "theirs": sum(
      p.numel() for n, p in module.named_parameters() if n not in loaded.ignored
    ),
  }


class ParityTest(parameterized.TestCase):
  @parameterized.parameters(*_FAST.items())
  def test_fast(self, name, side):
    self._check(name, side)

  @quick.cases(_ELSEWHERE[:3], _ELSEWHERE[3:])
  def test_names_of_other_libraries(self, name, side, reference):
    self._check(name, side, reference)

  @parameterized.parameters(*(n for n in _listed() if n not in _FAST))
  @pytest.mark.slow
  def test_the_rest(self, name):
    self._check(name, _SMALLER.get(name))

  def _check(self, name, side=None, reference=None):
    got = parity(name, side, reference)
    print(
      f"{name}: {got['style']}, max |d| {got['difference']:.1e} at scale"
      f" {got['scale']:.2f} (allowed {got['allowed']:.1e}),"
      f" {got['ours']:,} parameters"
    )
    self.assertGreater(got["scale"], 0)
    # The two photographs must not look the same to the network.
    self.assertGreater(got["spread"], 1e-3 * got["scale"])
    self.assertLess(got["allowed"], 1e-3)
    self.assertLessEqual(got["difference"], got["allowed"] * got["scale"])
    self.assertEqual(got["ours"], models.get(name).spec.parameters)
    if reference:
      self.assertEqual(got["style"], reference.partition(":")[0])
    else:
      self.assertEqual(got["ours"], got["theirs"])


def _weights_of(torchvision, name: str):
  """The first of torchvision's weights for a model and its size."""
  member = catalogue.family_of(name).oracles[name].partition(":")[2]
  entries = torchvision.models.get_model_weights(member)
  side = models.get(name).spec.input_px
  return next(e for e in entries if e.transforms().crop_size == [side])


class PublishedSizeTest(absltest.TestCase):
  def test_as_torchvision_counts(self):
    torchvision = torchvision_cpu.package("torchvision")

    names = [
      n
      for n in _listed()
      if models.get(n).spec.weights == "torchvision"
      and models.get(n).kind == "classification"
    ]
    self.assertGreater(len(names), 70)
    for name in names:
      spec = models.get(name).spec
      meta = _weights_of(torchvision, name).meta
      with self.subTest(name):
        # torchvision counts Inception's auxiliary classifier.
        if name != "inceptionv3":
          self.assertEqual(spec.parameters, meta["num_params"])
        # One counts a few cheap things more than the other.
        if spec.gflops is not None:
          allowed = max(0.001, 0.01 * meta["_ops"])
          self.assertAlmostEqual(spec.gflops, meta["_ops"], delta=allowed)


class ReportTest(absltest.TestCase):
  def test_command_measures_parity(self):
    torch = torchvision_cpu.package()
    model = models.get("resnet18")
    module = _reference(model)
    batch = np.asarray(model.preprocess(_photographs(224)))
    _randomise(torch, module, 0, batch)
    folder = pathlib.Path(self.create_tempdir().full_path)
    torch.save(module.state_dict(), folder / "resnet18.pth")
    out = folder / "resnet18.npz"
    source = str(folder / "resnet18.pth")
    done = in_process.run(command, "resnet18", source, str(out))
    self.assertEqual(done.returncode, 0, done.stderr)
    facts = json.loads((folder / "resnet18.npz.report.json").read_text())
    scale = facts["parity"]["logit_scale"]
    self.assertLessEqual(facts["parity"]["max_difference"], 1e-5 * scale)
    self.assertEqual(facts["style"], "torch")
    self.assertNotEmpty(facts["ignored"])
