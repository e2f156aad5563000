"""Vision transformers: sizes, and the names of those who publish them."""

import re
import warnings

import jax
import numpy as np
from absl.testing import parameterized

from models import variables as variables_lib
from models.convert import match
from robust_tfds import models
from tests.models.classification import transformer_files as files
from tests.models.convert import checkpoints, names, torchvision_cpu

_TINY = "vit_tiny_patch16_224"
_DISTILLED = "deit_tiny_distilled_patch16_224"
_HEADS = 3


class SizesTest(parameterized.TestCase):
  def test_refuses_other_sizes(self):
    model = models.get(_TINY)
    with self.assertRaisesRegex(ValueError, "expected 224 x 224"):
      model.apply({}, np.zeros((1, 256, 256, 3), np.uint8))

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

  def test_timm_reads_big_vision_as_we_do(self):
    timm = torchvision_cpu.package("timm")
    arrays = files.as_flax(files.moderate(checkpoints.drawn(_TINY)), _HEADS)
    path = f"{self.create_tempdir().full_path}/augreg.npz"
    np.savez(path, **arrays)
    reference = timm.create_model(_TINY).eval()
    reference.load_pretrained(path)
    self._check(_TINY, match.match_arrays(models.get(_TINY), arrays), reference)

  @parameterized.parameters(
    (_TINY, "ViTForImageClassification"),
    (_DISTILLED, "DeiTForImageClassificationWithTeacher"),
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
