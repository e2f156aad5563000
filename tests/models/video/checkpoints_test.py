"""Names of public checkpoints: every array once, what is wrong in words.

The names are written down here from PySlowFast's and TimeSformer's sources,
independently of the rules: ours are renamed to theirs and brought back.
"""

import dataclasses
import functools
import pathlib
import re
import warnings

import jax
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from robust_tfds import models
from robust_tfds.models import variables as variables_lib
from robust_tfds.models.convert import match
from tests.models import drawn


def _model(name: str):
  """The network; of equal blocks two say as much as twelve."""
  model = models.get(name)
  if name != "timesformer_base":
    return model
  options = {**model.variant.options, "depth": 2}
  variant = dataclasses.replace(model.variant, options=options)
  return dataclasses.replace(model, variant=variant)


@functools.cache
def _random(name: str) -> dict:
  rng = np.random.default_rng(0)
  shapes = _model(name).shapes()
  return {p: rng.standard_normal(s, np.float32) for p, s in shapes.items()}


def _as_torch(name: str) -> dict[str, np.ndarray]:
  """Random variables as a torch state dict would name and lay them out."""
  return dict(_laid_out(name))


@functools.cache
def _laid_out(name: str) -> dict[str, np.ndarray]:
  arrays = {}
  for path, array in _random(name).items():
    if path[-1] == "kernel":
      array = np.moveaxis(array, (-1, -2), (0, 1))
    arrays[match.torch_name(path)] = np.ascontiguousarray(array)
  return arrays


def _bottleneck(name: str) -> str:
  name = re.sub(r"\.branch1_conv\.", ".branch1.", name)
  name = re.sub(r"\.branch1_norm\.", ".branch1_bn.", name)
  name = re.sub(r"\.branch2\.conv_(\w)\.", r".branch2.\1.", name)
  return re.sub(r"\.branch2\.norm_(\w)\.", r".branch2.\1_bn.", name)


def _slow(name: str, stages: tuple[int, ...] = (1, 2, 3, 4)) -> str:
  block, _, rest = name.removeprefix("blocks.").partition(".")
  if block == "0":
    rest = rest.replace("norm.", "bn.")
    return f"s1.pathway0_stem.{rest}"
  if int(block) in stages:
    stage = stages.index(int(block)) + 2
    rest = re.sub(r"^res_blocks\.(\d+)\.", r"pathway0_res\1.", rest)
    return _bottleneck(f"s{stage}.{rest}")
  return f"head.projection.{rest.removeprefix('proj.')}"


def _slowfast(name: str) -> str:
  block, _, rest = name.removeprefix("blocks.").partition(".")
  if block == "6":
    return f"head.projection.{rest.removeprefix('proj.')}"
  stage = int(block) + 1
  if rest.startswith("multipathway_fusion."):
    rest = rest.removeprefix("multipathway_fusion.")
    rest = rest.replace("conv_fast_to_slow.", "conv_f2s.")
    return f"s{stage}_fuse.{rest.replace('norm.', 'bn.')}"
  pathway, rest = re.match(r"multipathway_blocks\.(\d)\.(.*)", rest).groups()
  if stage == 1:
    return f"s1.pathway{pathway}_stem.{rest.replace('norm.', 'bn.')}"
  rest = re.sub(r"^res_blocks\.(\d+)\.", rf"pathway{pathway}_res\1.", rest)
  return _bottleneck(f"s{stage}.{rest}")


def _x3d(name: str) -> str:
  name = name.replace("blocks.0.conv.conv_t.", "s1.pathway0_stem.conv_xy.")
  name = name.replace("blocks.0.conv.conv_xy.", "s1.pathway0_stem.conv.")
  name = name.replace("blocks.5.pool.pre_conv.", "head.conv_5.")
  name = name.replace("blocks.5.pool.pre_norm.", "head.conv_5_bn.")
  name = name.replace("blocks.5.pool.post_conv.", "head.lin_5.")
  name = name.replace(".norm_b.1.block.0.", ".se.fc1.")
  name = name.replace(".norm_b.1.block.2.", ".se.fc2.")
  name = name.replace(".norm_b.0.", ".norm_b.")
  return _slow(name) if name.startswith("blocks.") else name


def _mvit(name: str) -> str:
  name = name.replace("patch_embed.patch_model.", "patch_embed.proj.")
  name = name.replace("cls_positional_encoding.", "")
  name = name.replace("norm_embed.", "norm.")
  return name.replace("head.proj.", "head.projection.")


def _torchvision_mvit(arrays: dict) -> dict:
  """Names of torchvision's MViT."""
  renamed = {}
  for name, array in arrays.items():
    name = name.replace("patch_embed.patch_model.", "conv_proj.")
    name = name.replace("cls_positional_encoding.cls_", "pos_encoding.class_")
    name = re.sub(
      r"^cls_positional_encoding\.pos_embed_(\w+)$",
      r"pos_encoding.\1_pos",
      name,
    )
    name = name.replace(".attn.proj.", ".attn.project.0.")
    name = re.sub(r"^(blocks\.\d+)\.proj\.", r"\1.project.", name)
    name = re.sub(r"\.pool_([qkv])\.", r".pool_\1.pool.", name)
    name = re.sub(r"\.norm_([qkv])\.", r".pool_\1.norm_act.0.", name)
    name = name.replace(".mlp.fc1.", ".mlp.0.").replace(".mlp.fc2.", ".mlp.3.")
    name = name.replace("norm_embed.", "norm.").replace("head.proj.", "head.1.")
    renamed[name] = array
  return renamed


_THEIRS = {
  "slow_r50": ("pyslowfast", _slow),
  "i3d_r50": (
    "pyslowfast i3d",
    functools.partial(_slow, stages=(1, 3, 4, 5)),
  ),
  "slowfast_r50": ("pyslowfast", _slowfast),
  "x3d_m_pyslowfast": ("pyslowfast", _x3d),
  "mvit_base_16x4": ("pyslowfast", _mvit),
  "timesformer_base": ("timesformer", lambda name: f"model.{name}"),
}


class NamesTest(parameterized.TestCase):
  def _same(self, loaded, name):
    got = variables_lib.flatten(loaded.variables)
    want = _random(name)
    self.assertEqual(set(got), set(want))
    for path, array in want.items():
      np.testing.assert_array_equal(got[path], array, err_msg=str(path))

  @parameterized.parameters(*_THEIRS)
  def test_repositories(self, name):
    style, rename = _THEIRS[name]
    arrays = {rename(n): a for n, a in _as_torch(name).items()}
    self.assertLen(arrays, len(_random(name)))
    loaded = match.match_arrays(_model(name), arrays)
    self.assertEqual(loaded.style, style)
    self.assertLen(loaded.sources, len(arrays))
    self._same(loaded, name)

  @parameterized.parameters("slow_r50", "slowfast_r50", "x3d_s", "r3d_18")
  def test_our_names_in_torch_words(self, name):
    loaded = match.match_arrays(_model(name), _as_torch(name))
    self.assertIn(loaded.style, ("torch", "torchvision"))
    self._same(loaded, name)

  def test_joint_query_key_value(self):
    arrays = {_mvit(n): a for n, a in _as_torch("mvit_base_16x4").items()}
    for name in [n for n in arrays if ".attn.q." in n]:
      parts = [arrays.pop(name.replace(".q.", f".{x}.")) for x in "qkv"]
      arrays[name.replace(".q.", ".qkv.")] = np.concatenate(parts)
    self._same(
      match.match_arrays(models.get("mvit_base_16x4"), arrays), "mvit_base_16x4"
    )

  def test_what_training_left_is_named(self):
    arrays = {_slow(n): a for n, a in _as_torch("slow_r50").items()}
    arrays["s1.pathway0_stem.bn.num_batches_tracked"] = np.int64(3)
    arrays["s1.pathway0_stem.bn.split_bn.running_mean"] = np.zeros(64)
    loaded = match.match_arrays(models.get("slow_r50"), arrays)
    self.assertLen(loaded.ignored, 2)
    self._same(loaded, "slow_r50")


class RefusalTest(absltest.TestCase):
  def test_the_other_x3d(self):
    name = "x3d_m_pyslowfast"
    arrays = {_x3d(n): a for n, a in _as_torch(name).items()}
    with self.assertRaisesRegex(
      ValueError, r"4 arrays are left over: s2\.pathway0_res0\.branch1_bn"
    ):
      match.match_arrays(models.get("x3d_m"), arrays)

  def test_another_network(self):
    with self.assertRaisesRegex(ValueError, "another architecture than i3d"):
      match.match_arrays(models.get("i3d_r50"), _as_torch("slow_r50"))

  def test_another_class_count(self):
    with self.assertRaisesRegex(ValueError, "has 400 classes.*num_classes="):
      match.match_arrays(models.get("slow_r50", 101), _as_torch("slow_r50"))

  def test_values_that_are_no_numbers(self):
    arrays = _as_torch("tiny_r3d")
    arrays["head.bias"] = np.full(10, np.nan, np.float32)
    with self.assertRaisesRegex(ValueError, "head.bias has 10 values"):
      match.match_arrays(models.get("tiny_r3d"), arrays)


class WarningTest(absltest.TestCase):
  def _load(self, name, arrays):
    path = self.create_tempfile("weights.npz").full_path
    np.savez(path, **arrays)
    return models.convert.load(name, path)

  def test_weights_of_another_library(self):
    arrays = _as_torch("r3d_18")
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      self._load("r3d_18", arrays)
      theirs = {_x3d(n): a for n, a in _as_torch("x3d_xs_pyslowfast").items()}
      self._load("x3d_xs_pyslowfast", theirs)
      # pytorchvideo's files are PySlowFast's, renamed.
      theirs = {_slow(n): a for n, a in _as_torch("slow_r50").items()}
      self._load("slow_r50", theirs)

  def test_torchvisions_mvit_has_its_own_name(self):
    arrays = _torchvision_mvit(_as_torch("mvit_v1_b"))
    with self.assertWarnsRegex(UserWarning, "Load it into mvit_v1_b"):
      self._load("mvit_base_16x4", arrays)


class FileTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def test_npz_of_trained_variables(self):
    model = models.get("tiny_r3d")
    variables = drawn.variables(model)
    flat = variables_lib.flatten(variables)
    path = self.folder / "tiny.npz"
    np.savez(path, **{"/".join(p): a for p, a in flat.items()})
    loaded = models.convert.load("tiny_r3d", path)
    same = jax.tree.map(np.array_equal, loaded, variables)
    self.assertTrue(all(jax.tree.leaves(same)))

  def test_pyth_as_pyslowfast_writes_it(self):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    arrays = {_slow(n): a for n, a in _as_torch("slow_r50").items()}
    state = {n: torch.from_numpy(a) for n, a in arrays.items()}
    path = self.folder / "SLOW_8x8_R50.pyth"
    written = {"epoch": 195, "model_state": state, "cfg": "TRAIN: ..."}
    torch.save(written, path)
    got = variables_lib.flatten(models.convert.load("slow_r50", path))
    want = _random("slow_r50")
    for name in want:
      np.testing.assert_array_equal(got[name], want[name])


if __name__ == "__main__":
  absltest.main()
