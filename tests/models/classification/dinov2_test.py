"""DINOv2 beside transformers, and its files' names."""

import dataclasses

import jax
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models.convert import match
from models.layers import positions
from robust_tfds import models
from tests.models import drawn
from tests.models.classification import transformer_files as files
from tests.models.convert import checkpoints, names, torchvision_cpu

_CLASSES = 5
_SMALL = {"width": 48, "depth": 2, "heads": 3}
_TRAINED_PX = 70


def _small(name):
  """A model with the same parts, in little."""
  model = models.get(name, num_classes=_CLASSES)
  return drawn.with_options(model, **_SMALL, trained_px=_TRAINED_PX)


def _reference(registers, gated):
  architecture = "Dinov2ForImageClassification"
  options = {}
  if registers:
    architecture = "Dinov2WithRegistersForImageClassification"
    options = {"num_register_tokens": registers}
  return files.hf(
    architecture,
    hidden_size=_SMALL["width"],
    num_hidden_layers=_SMALL["depth"],
    num_attention_heads=_SMALL["heads"],
    image_size=_TRAINED_PX,
    patch_size=14,
    num_labels=_CLASSES,
    use_swiglu_ffn=gated,
    **options,
  )


class ParityTest(parameterized.TestCase):
  @parameterized.parameters(
    ("dinov2_vits14_linear", _TRAINED_PX),
    ("dinov2_vitg14_linear", _TRAINED_PX),
    # With registers transformers interpolates as the authors do.
    ("dinov2_vits14_reg4_linear", 98),
    ("dinov2_vitg14_reg4_linear", 42),
  )
  def test_transformers(self, name, side):
    model = _small(name)
    options = model.variant.options
    reference = _reference(options["registers"], options["gated"])
    arrays = files.randomised(reference)
    loaded = match.match_arrays(model, arrays)
    batch = files.pixels(side)
    want = files.answer(reference, batch)
    got = np.asarray(jax.jit(model.apply)(loaded.variables, batch))
    files.assert_parity(self, got, want)

  @parameterized.parameters(False, True)
  def test_features_of_timm(self, registers):
    timm = torchvision_cpu.package("timm")
    middle = "_reg4" if registers else ""
    reference = timm.create_model(
      f"vit_small_patch14{middle}_dinov2",
      embed_dim=_SMALL["width"],
      depth=_SMALL["depth"],
      num_heads=_SMALL["heads"],
      img_size=_TRAINED_PX,
      global_pool="",
    ).eval()
    arrays = files.randomised(reference)
    # A head that shows the class token and the mean of the patches.
    width = _SMALL["width"]
    arrays["head.weight"] = np.eye(2 * width, dtype=np.float32)[: 2 * width]
    arrays["head.bias"] = np.zeros(2 * width, np.float32)
    model = _small(f"dinov2_vits14{middle}_linear")
    model = dataclasses.replace(model, spec=model.spec.with_classes(2 * width))
    loaded = match.match_arrays(model, arrays)
    batch = files.pixels(_TRAINED_PX)
    tokens = files.answer(reference, batch)
    first = 1 + model.variant.options["registers"]
    want = np.concatenate([tokens[:, 0], tokens[:, first:].mean(1)], axis=1)
    got = np.asarray(jax.jit(model.apply)(loaded.variables, batch))
    files.assert_parity(self, got, want)

  def test_the_authors_interpolation(self):
    torch = torchvision_cpu.package("torch")
    rng = np.random.default_rng(0)
    grid = rng.standard_normal((1, 37 * 37, 8), np.float32)
    for patches in (16, 24, 40):
      factor = float(patches + 0.1) / 37
      want = torch.nn.functional.interpolate(
        torch.from_numpy(grid).reshape(1, 37, 37, 8).permute(0, 3, 1, 2),
        scale_factor=(factor, factor),
        mode="bicubic",
      )
      matrix = positions.weights(37, patches, antialias=False, offset=0.1)
      got = positions.interpolate(grid, matrix, matrix)
      want = want.permute(0, 2, 3, 1).reshape(1, -1, 8).numpy()
      np.testing.assert_allclose(got, want, atol=3e-5)


class HeadTest(absltest.TestCase):
  def test_four_blocks_give_their_class_token(self):
    model = drawn.with_options(_small("dinov2_vits14_linear4"), depth=4)
    variables = drawn.variables(model)
    # What a block adds is scaled by 0: the class token never changes.
    for block in variables["blocks"].values():
      for name in ("ls1", "ls2"):
        block[name]["gamma"] = np.zeros(_SMALL["width"], np.float32)
    kernel = np.zeros((5 * _SMALL["width"], _CLASSES), np.float32)
    kernel[[i * _SMALL["width"] for i in range(5)], range(5)] = 1
    variables["head"]["kernel"] = kernel
    variables["head"]["bias"] = np.zeros(_CLASSES, np.float32)
    batch = files.pixels(_TRAINED_PX)
    logits = np.asarray(jax.jit(model.apply)(variables, batch))
    np.testing.assert_array_equal(logits[:, 0], logits[:, 3])
    self.assertGreater(np.abs(logits[:, 3] - logits[:, 4]).min(), 1e-3)

  def test_refuses_sides_that_patches_do_not_fill(self):
    model = _small("dinov2_vits14_linear")
    variables = drawn.variables(model)
    with self.assertRaisesRegex(ValueError, "expected a multiple of 14"):
      model.apply(variables, np.zeros((1, 72, 70, 3), np.uint8))


class FilesTest(checkpoints.Case):
  @pytest.mark.slow
  def test_backbone_and_head_of_two_files(self):
    name = "dinov2_vits14_linear"
    flat = checkpoints.drawn(name)
    arrays = checkpoints.as_torch(flat)
    head = {n: arrays.pop(f"head.{n}") for n in ("weight", "bias")}
    arrays["mask_token"] = np.zeros((1, 384), np.float32)
    backbone, linear = self.npz(arrays), self.npz(head, "head.npz")
    self.same(models.convert.load(name, backbone, head=linear), flat)
    with self.assertRaisesRegex(ValueError, r"head.npz has .* \(175 names"):
      models.convert.load(name, backbone, head=self.npz(arrays, "head.npz"))

  def test_the_hub_s_state_dict(self):
    model = _small("dinov2_vits14_reg4_linear4")
    flat = checkpoints.drawn(model)
    arrays = names.arrays(checkpoints.as_torch(flat), "facebook dinov2")
    self.same(match.match_arrays(model, arrays).variables, flat)
