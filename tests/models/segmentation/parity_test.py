"""Our segmenters against torchvision's and transformers' modules, randomised.

Two pictures of different sizes: the second is narrower than the canvas that ours
share, and the modules see it alone.
"""

import functools
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models import catalogue
from models.convert import match
from models.segmentation import deeplabv3, inference, segformer
from robust_tfds import models
from tests.models.convert import torchvision_cpu

_SIZES = np.array([[97, 128], [96, 100]], np.int32)
_CLASSES = 7
_TOLERANCE = 1e-5


def _picture():
  rng = np.random.default_rng(0)
  coarse = rng.standard_normal((2, 13, 16, 3), np.float32)
  fine = np.kron(coarse, np.ones((1, 8, 8, 1), np.float32))[:, :97, :128]
  return fine + 0.3 * rng.standard_normal(fine.shape, np.float32)


def _module(name):
  torch = torchvision_cpu.package()
  if name in segformer.VARIANTS:
    transformers = torchvision_cpu.package("transformers")
    options = segformer.VARIANTS[name].options
    config = transformers.SegformerConfig(
      depths=options["depths"],
      hidden_sizes=options["widths"],
      decoder_hidden_size=options["decoder"],
      num_labels=_CLASSES,
    )
    module = transformers.SegformerForSemanticSegmentation(config)
  else:
    library = torchvision_cpu.package("torchvision").models.segmentation
    aux = {} if "lraspp" in name else {"aux_loss": True}
    module = getattr(library, name)(
      weights=None, weights_backbone=None, num_classes=_CLASSES, **aux
    )
  return torch, module


def _randomise(torch, module, seed, answer):
  """Random weights, and statistics near those of the pictures."""
  generator = torch.Generator().manual_seed(seed)
  with torch.no_grad():
    for name, value in module.named_parameters():
      drawn = torch.randn(value.shape, generator=generator)
      if value.ndim > 1:
        value.copy_(drawn * (1.5 / value[0].numel()) ** 0.5)
      else:
        value.copy_(0.1 * drawn + (0.9 if name.endswith("weight") else 0.0))
  norms = [m for m in module.modules() if hasattr(m, "running_var")]
  for norm in norms:
    norm.momentum = 1.0
  answer(module.train())
  for norm in norms:
    norm.running_var.add_(norm.running_var.mean())


def _logits(torch, module, picture):
  with torch.no_grad():
    answer = module(torch.from_numpy(picture.transpose(0, 3, 1, 2).copy()))
  logits = answer["out"] if "out" in answer else answer.logits
  return logits.numpy().transpose(0, 2, 3, 1)


def _published(module):
  """A module's arrays by the names of published files."""
  state = module.state_dict()
  if "decode_head.linear_c.0.proj.weight" in state or hasattr(
    module, "backbone"
  ):
    return {n: t.numpy() for n, t in state.items()}
  import tempfile

  from safetensors import numpy

  with tempfile.TemporaryDirectory() as folder:
    module.save_pretrained(folder)
    return numpy.load_file(f"{folder}/model.safetensors")


@functools.cache
def parity(name):
  """max |d| by picture, the logits' scale, and the shares of equal classes."""
  torch, module = _module(name)
  pictures = _picture()
  _randomise(
    torch,
    module,
    zlib.crc32(name.encode()),
    lambda m: _logits(torch, m, pictures),
  )
  module.eval()
  model = models.get(name, _CLASSES)
  loaded = match.match_arrays(model, _published(module))
  canvas = np.array(pictures)
  for picture, (high, wide) in zip(canvas, _SIZES):
    picture[high:], picture[:, wide:] = 0, 0
  network = jax.jit(lambda v, x, s: model.merge(v)(x, s))
  with jax.default_matmul_precision("highest"):
    got, valid = network(loaded.variables, canvas, jnp.array(_SIZES))
  differences, scale = [], 0.0
  for i, (high, wide) in enumerate(_SIZES):
    want = _logits(torch, module, pictures[i : i + 1, :high, :wide])[0]
    part = got[i, : valid[i, 0], : valid[i, 1]]
    np.testing.assert_array_equal(part.shape, want.shape)
    differences.append(float(np.abs(part - want).max()))
    scale = max(scale, float(np.abs(want).max()))
  return differences, scale, loaded


def _auxiliary(name):
  """Multiply-adds of the auxiliary head, in billions: torchvision counts it."""
  inputs = {"lraspp": 0, "deeplabv3_mobilenet": 40}
  width = next((n for k, n in inputs.items() if name.startswith(k)), 1024)
  inner, places = width // 4, 65 * 65  # stride 8 of 520 px
  return places * (width * inner * 9 + inner * 21) / 1e9


class ParityTest(parameterized.TestCase):
  @parameterized.parameters(*deeplabv3.VARIANTS, *segformer.VARIANTS)
  @pytest.mark.slow
  def test_logits(self, name):
    differences, scale, loaded = parity(name)
    print(f"{name}: max |d| {differences} at scale {scale:.2f}")
    self.assertGreater(scale, 1e-2)
    self.assertLess(max(differences), _TOLERANCE * scale)
    auxiliary = [n for n in loaded.ignored if n.startswith("aux_classifier")]
    self.assertEqual(bool(auxiliary), name.startswith(("fcn", "deeplab")))


class LibraryTest(absltest.TestCase):
  def test_sizes_as_torchvision_counts(self):
    library = torchvision_cpu.package("torchvision").models
    for name, variant in deeplabv3.VARIANTS.items():
      (weights,) = library.get_model_weights(
        getattr(library.segmentation, name)
      )
      module = getattr(library.segmentation, name)(
        weights=None, weights_backbone=None, num_classes=21
      )
      count = sum(p.numel() for p in module.parameters())
      self.assertEqual(count, variant.spec.parameters, name)
      counted = catalogue.gflops()[name] + _auxiliary(name)
      allowed = 0.001 * weights.meta["_ops"]
      self.assertAlmostEqual(counted, weights.meta["_ops"], delta=allowed)
      self.assertEqual(
        weights.transforms().resize_size, [variant.spec.short_px]
      )

  def test_sizes_as_transformers_counts(self):
    torch = torchvision_cpu.package()
    transformers = torchvision_cpu.package("transformers")
    for name, variant in segformer.VARIANTS.items():
      options = variant.options
      config = transformers.SegformerConfig(
        depths=options["depths"],
        hidden_sizes=options["widths"],
        decoder_hidden_size=options["decoder"],
        num_labels=19,
      )
      with torch.device("meta"):
        module = transformers.SegformerForSemanticSegmentation(config)
      count = sum(p.numel() for p in module.parameters())
      self.assertEqual(count, variant.spec.parameters, name)

  def test_classes_as_post_process_semantic_segmentation(self):
    torch = torchvision_cpu.package()
    transformers = torchvision_cpu.package("transformers")
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((2, 9, 11, 5), np.float32)
    answer = transformers.modeling_outputs.SemanticSegmenterOutput(
      logits=torch.from_numpy(logits.transpose(0, 3, 1, 2).copy())
    )
    processor = transformers.SegformerImageProcessor()
    want = processor.post_process_semantic_segmentation(
      answer, target_sizes=[(40, 50)] * 2
    )
    got = inference.class_ids(logits, (40, 50))
    np.testing.assert_array_equal(got, np.stack([w.numpy() for w in want]))
