"""Transformers of pictures."""

import dataclasses
import re
import warnings

import jax
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models import variables as variables_lib
from models.convert import match
from models.layers import positions
from models.spec import Variant
from robust_tfds import models
from tests import quick
from tests.models import drawn
from tests.models.classification import transformer_files as files
from tests.models.convert import checkpoints, names, torchvision_cpu

_TINY = "vit_tiny_patch16_224"
_DISTILLED = "deit_tiny_distilled_patch16_224"
_HEADS = 3


class SizesTest(parameterized.TestCase):
  """Vision transformers: sizes, and the names of those who publish them."""

  def test_a_spec_of_another_size_makes_a_network_of_it(self):
    shapes = _of_side(_TINY, 96).shapes()
    self.assertEqual(shapes["pos_embed",], (1, 37, 192))

  def test_refuses_sides_that_patches_do_not_fill(self):
    with self.assertRaisesRegex(
      ValueError, "100 px, expected a multiple of 16"
    ):
      _of_side(_TINY, 100).shapes()


class PositionsTest(parameterized.TestCase):
  @parameterized.parameters(_TINY, _DISTILLED)
  def test_of_another_size_are_interpolated_and_said(self, name):
    flat = checkpoints.drawn(name)
    loaded = match.match_arrays(_of_side(name, 384), checkpoints.as_torch(flat))
    got = variables_lib.flatten(loaded.variables)
    tokens = flat["pos_embed",].shape[1] - 14 * 14
    self.assertEqual(got["pos_embed",].shape, (1, 24 * 24 + tokens, 192))
    np.testing.assert_array_equal(
      got["pos_embed",][:, :tokens], flat["pos_embed",][:, :tokens]
    )
    self.assertRegex(loaded.notes[0], "14 x 14 patches .* to 24 x 24")

  def test_load_warns(self):
    path = f"{self.create_tempdir().full_path}/weights.npz"
    shapes = models.get("vit_tiny_patch16_384").shapes()
    np.savez(
      path,
      **{match.torch_name(p): _ones(p, s) for p, s in shapes.items()},
    )
    with warnings.catch_warnings(record=True) as caught:
      warnings.simplefilter("always")
      variables = models.convert.load(_TINY, path, input_px=160)
    self.assertIn(
      "24 x 24 patches were interpolated to 10 x 10",
      " ".join(str(w.message) for w in caught),
    )
    self.assertEqual(variables["pos_embed"].shape, (1, 101, 192))
    np.testing.assert_allclose(variables["pos_embed"], 1, atol=1e-6)

  def test_load_refuses_a_side_that_changes_nothing(self):
    with self.assertRaisesRegex(ValueError, "the same at every side"):
      models.convert.load("resnet18", "x.npz", input_px=160)

  def test_of_another_network_are_refused(self):
    arrays = checkpoints.as_torch(checkpoints.drawn(_TINY))
    arrays["pos_embed"] = arrays["pos_embed"][:, :150]
    with self.assertRaisesRegex(ValueError, "another architecture"):
      match.match_arrays(models.get(_TINY), arrays)

  def test_as_timm(self):
    timm = torchvision_cpu.package("timm")
    flat = checkpoints.drawn(_TINY)
    state = files.tensors(checkpoints.as_torch(flat))
    reference = timm.create_model(_TINY, img_size=160)
    state = timm.models.vision_transformer.checkpoint_filter_fn(
      state, reference
    )
    loaded = match.match_arrays(
      _of_side(_TINY, 160), checkpoints.as_torch(flat)
    )
    np.testing.assert_allclose(
      loaded.variables["pos_embed"], state["pos_embed"].numpy(), atol=1e-5
    )


class NamesTest(checkpoints.Case):
  """Without torch: every array finds its place."""

  @parameterized.parameters(
    ("google vit", False), ("big_vision", False), ("big_vision", True)
  )
  def test_big_vision(self, publisher, stacked):
    flat = checkpoints.drawn(_TINY)
    arrays = files.as_flax(flat, _HEADS, publisher)
    if stacked:
      arrays = files.stacked(arrays)
    loaded = match.match_arrays(models.get(_TINY), arrays)
    self.assertEqual(loaded.style, "big_vision")
    self.same(loaded.variables, flat)

  def test_what_is_left_of_an_attention_is_refused(self):
    flat = checkpoints.drawn(_TINY)
    arrays = files.as_flax(flat, _HEADS)
    del arrays[
      "Transformer/encoderblock_3/MultiHeadDotProductAttention_1/key/bias"
    ]
    with self.assertRaises(ValueError):
      match.match_arrays(models.get(_TINY), arrays)

  @parameterized.product(name=(_TINY, _DISTILLED), version=(4, 5))
  def test_hf(self, name, version):
    flat = checkpoints.drawn(name)
    loaded = match.match_arrays(models.get(name), _as_hf(flat, version))
    self.assertEqual(loaded.style, "hf")
    self.same(loaded.variables, flat)


class SourcesTest(parameterized.TestCase):
  """Logits of the reference whose names a file has, all arrays random."""

  @pytest.mark.slow
  def test_timm_reads_big_vision_as_we_do(self):
    timm = torchvision_cpu.package("timm")
    arrays = files.as_flax(files.moderate(checkpoints.drawn(_TINY)), _HEADS)
    path = f"{self.create_tempdir().full_path}/augreg.npz"
    np.savez(path, **arrays)
    reference = timm.create_model(_TINY).eval()
    reference.load_pretrained(path)
    self._check(_TINY, match.match_arrays(models.get(_TINY), arrays), reference)

  @quick.cases(
    [(_TINY, "ViTForImageClassification")],
    [(_DISTILLED, "DeiTForImageClassificationWithTeacher")],
  )
  def test_transformers(self, name, architecture):
    reference = files.hf(
      architecture,
      hidden_size=192,
      num_attention_heads=_HEADS,
      intermediate_size=768,
      num_labels=1000,
    )
    arrays = files.randomised(reference)
    self._check(name, match.match_arrays(models.get(name), arrays), reference)

  def _check(self, name, loaded, reference):
    pixels = files.pixels(224)
    want = files.answer(reference, pixels)
    got = np.asarray(jax.jit(models.get(name).apply)(loaded.variables, pixels))
    files.assert_parity(self, got, want)


def _of_side(name, side):
  return models.get(name).with_fields({"input_px": side, "resize_px": side})


def _ones(path, shape):
  return np.ones(match.file_shape(shape, path, False), np.float32)


def _as_hf(flat, version):
  """Our variables as a file of transformers."""
  out = {}
  for name, array in checkpoints.as_torch(flat).items():
    parts = {name: array}
    if ".attn.qkv." in name:
      parts = {
        name.replace(".attn.qkv.", f".attention.attention.{which}."): part
        for which, part in zip(
          ("query", "key", "value"), np.split(array, 3), strict=True
        )
      }
    publishers = ("transformers 4 vit", "transformers 5 vit")[: version - 3]
    out |= names.arrays(parts, *publishers)
  if "distillation_classifier.weight" in out:
    for leaf in ("weight", "bias"):
      out[f"cls_classifier.{leaf}"] = out.pop(f"classifier.{leaf}")
    out = {re.sub(r"^vit\.", "deit.", n): a for n, a in out.items()}
  return out


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
  """DINOv2 beside transformers, and its files' names."""

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


_CLIP_SMALL = {
  "width": 48,
  "depth": 2,
  "heads": 3,
  "embedding": 24,
  "patch": 16,
  "side": 64,
}
_TOWER = {
  "hidden_size": 48,
  "num_hidden_layers": 2,
  "num_attention_heads": 3,
  "intermediate_size": 192,
}


def _clip_small(name):
  model = models.get(name, num_classes=_CLASSES)
  spec = dataclasses.replace(model.spec, input_px=64)
  variant = Variant(spec, {**model.variant.options, **_CLIP_SMALL})
  return dataclasses.replace(model, variant=variant, spec=spec)


class ClipParityTest(parameterized.TestCase):
  """CLIP beside transformers and OpenAI's names."""

  @quick.cases(
    [("clip_vit_b_16", "quick_gelu")], [("openclip_vit_b_16", "gelu")]
  )
  def test_transformers(self, name, activation):
    vision = {"hidden_act": activation, "image_size": 64, "patch_size": 16}
    reference = files.hf(
      "CLIPModel",
      vision_config={**_TOWER, **vision},
      text_config={
        **_TOWER,
        "vocab_size": 50,
        "bos_token_id": 1,
        "eos_token_id": 2,
      },
      projection_dim=_CLIP_SMALL["embedding"],
    )
    arrays = files.randomised(reference)
    rng = np.random.default_rng(2)
    text = rng.standard_normal((_CLASSES, _CLIP_SMALL["embedding"]), np.float32)
    model = _clip_small(name)
    loaded = match.match_arrays(model, {**arrays, "text": text})
    self.assertIn("text_projection.weight", loaded.ignored)
    batch = files.pixels(64)
    want = _by_hand(reference, batch, text, arrays["logit_scale"])
    got = np.asarray(jax.jit(model.apply)(loaded.variables, batch))
    files.assert_parity(self, got, want)


def _by_hand(reference, batch, text, logit_scale):
  """exp(scale) times cosines, of the reference's embeddings of pictures."""
  torch = torchvision_cpu.package("torch")
  pixels = torch.from_numpy(np.ascontiguousarray(batch.transpose(0, 3, 1, 2)))
  with torch.no_grad():
    pooled = reference.vision_model(pixels).pooler_output
    pictures = reference.visual_projection(pooled).numpy()
  pictures /= np.linalg.norm(pictures, axis=1, keepdims=True)
  text = text / np.linalg.norm(text, axis=1, keepdims=True)
  return np.exp(logit_scale) * pictures @ text.T


class ClipNamesTest(checkpoints.Case):
  def test_openai_s_file(self):
    model = _clip_small("clip_vit_b_32")
    flat = checkpoints.drawn(model)
    arrays = _as_openai(checkpoints.as_torch(flat)) | {
      "positional_embedding": np.zeros((77, 512), np.float32),
      "transformer.resblocks.0.ln_1.weight": np.zeros(512, np.float32),
      "token_embedding.weight": np.zeros((9, 512), np.float32),
      "ln_final.bias": np.zeros(512, np.float32),
      "text_projection": np.zeros((512, 512), np.float32),
    }
    self.same(match.match_arrays(model, arrays).variables, flat)
    del arrays["text"]
    with self.assertRaisesRegex(
      ValueError, "1 arrays are not in the file: tex"
    ):
      match.match_arrays(model, arrays)


def _as_openai(arrays):
  """Names and shapes as OpenAI's state dict has them."""
  out = names.arrays(arrays, "openai clip")
  out["visual.class_embedding"] = out["visual.class_embedding"].reshape(-1)
  out["visual.positional_embedding"] = out["visual.positional_embedding"][0]
  out["visual.proj"] = out.pop("visual.proj.weight").T
  return out
