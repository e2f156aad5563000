"""Files of convolutional networks and Mixers under their publishers' names."""

import re

import jax
import numpy as np
import pytest
from absl.testing import parameterized

from models.convert import match
from robust_tfds import models
from tests import quick
from tests.models.classification import transformer_files as files
from tests.models.convert import checkpoints, names, torchvision_cpu

_BIT, _MIXER = "resnetv2_50x1_bit", "mixer_s32_224"


def _as_google(flat):
  """Our variables of a BiT as its npz names them."""
  out = {}
  for path, array in flat.items():
    name = "/".join(path)
    block = re.match(r"stages/(\d)/blocks/(\d+)/(\D+)(\d?)/", name)
    if block:
      stage, unit, what, which = block.groups()
      letter = "abc"[int(which or 1) - 1]
      proj = "proj/" if what == "downsample/conv" else ""
      layer = "group_norm" if what == "norm" else "standardized_conv2d"
      prefix = f"block{int(stage) + 1}/unit{int(unit) + 1:02d}/{letter}/{proj}"
      name = f"{prefix}{layer}/{path[-1]}"
    name = re.sub("^stem/conv", "root_block/standardized_conv2d", name)
    name = re.sub("^norm/", "group_norm/", name)
    if name.startswith("head/fc"):
      name = name.replace("fc", "conv2d")
      array = array[None, None] if array.ndim == 2 else array
    if "group_norm/" in name:
      name = name.replace("scale", "gamma").replace("bias", "beta")
    out[f"resnet/{name}"] = array
  return out


def _as_flax(flat):
  """Our variables of a Mixer as its npz names them."""
  return names.arrays({"/".join(p): a for p, a in flat.items()}, "google mixer")


class NamesTest(checkpoints.Case):
  """Without torch: every array finds its place."""

  @parameterized.parameters((_MIXER, _as_flax), (_BIT, _as_google))
  def test_google(self, name, rename):
    flat = checkpoints.drawn(name)
    loaded = match.match_arrays(models.get(name), rename(flat))
    self.assertEqual(loaded.style, "google")
    self.same(loaded.variables, flat)


class SourcesTest(checkpoints.Case):
  """Logits of the reference whose names a file has, all arrays random."""

  @quick.cases(
    [
      (
        "resnet18",
        "ResNetForImageClassification",
        {
          "layer_type": "basic",
          "depths": [2, 2, 2, 2],
          "hidden_sizes": [64, 128, 256, 512],
        },
      ),
    ],
    [
      (
        "convnextv2_atto",
        "ConvNextV2ForImageClassification",
        {"depths": [2, 2, 6, 2], "hidden_sizes": [40, 80, 160, 320]},
      ),
    ],
  )
  def test_transformers(self, name, architecture, options):
    self._check_hf(name, architecture, options)

  @parameterized.parameters(
    ("convnext_tiny", "ConvNextForImageClassification"),
    ("resnet50", "ResNetForImageClassification"),
  )
  @pytest.mark.slow
  def test_transformers_larger(self, name, architecture):
    self._check_hf(name, architecture, {})  # the published one's by default

  def _check_hf(self, name, architecture, options):
    reference = files.hf(architecture, num_labels=1000, **options)
    self._check(name, reference, "hf")

  @parameterized.parameters("vgg16", "vgg16_bn", "vgg11")
  @pytest.mark.slow
  def test_timm_computes_linear_layers_as_convolutions(self, name):
    reference = torchvision_cpu.package("timm").create_model(name).eval()
    self._check(name, reference, "timm", 224)

  @pytest.mark.slow
  def test_timm_reads_google_as_we_do(self):
    reference = torchvision_cpu.package("timm").create_model(_BIT)
    flat = checkpoints.drawn(_BIT)
    path = f"{self.create_tempdir().full_path}/bit.npz"
    np.savez(path, **_as_google(flat))
    reference.load_pretrained(path)
    arrays = {n: t.numpy() for n, t in reference.state_dict().items()}
    loaded = match.match_arrays(models.get(_BIT), arrays)
    self.assertEqual(loaded.style, "timm")
    self.same(loaded.variables, flat)

  def _check(self, name, reference, style, side=64):
    arrays = files.randomised(reference)
    model, pixels = models.get(name), files.pixels(side)
    loaded = match.match_arrays(model, arrays)
    self.assertEqual(loaded.style, style)
    want = files.answer(reference, pixels)
    got = np.asarray(jax.jit(model.apply)(loaded.variables, pixels))
    files.assert_parity(self, got, want)
