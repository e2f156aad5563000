"""What public checkpoints of video networks hold beside what others do."""

import re
import warnings

import numpy as np
import pytest
from absl.testing import absltest

from models.convert import match
from robust_tfds import models
from tests import quick
from tests.models import drawn as drawn_models
from tests.models.convert import checkpoints, names


def _published(name: str, *publishers: str) -> dict[str, np.ndarray]:
  """Random variables under a publisher's names."""
  drawn = checkpoints.as_torch(checkpoints.drawn(name))
  return names.arrays(drawn, *publishers)


class NamesTest(checkpoints.Case):
  @quick.cases(["slow_r50", "r3d_18"], ["slowfast_r50", "x3d_s"])
  def test_our_names_in_torch_words(self, name):
    loaded = match.match_arrays(models.get(name), _published(name))
    self.assertIn(loaded.style, ("torch", "torchvision"))
    self.same(loaded.variables, checkpoints.drawn(name))

  @pytest.mark.slow
  def test_joint_query_key_value(self):
    name = "mvit_base_16x4"
    arrays = _published(name, "pyslowfast mvit")
    for key in [n for n in arrays if ".attn.q." in n]:
      parts = [arrays.pop(key.replace(".q.", f".{x}.")) for x in "qkv"]
      arrays[key.replace(".q.", ".qkv.")] = np.concatenate(parts)
    loaded = match.match_arrays(models.get(name), arrays)
    self.same(loaded.variables, checkpoints.drawn(name))

  def test_query_key_value_of_videomae(self):
    few = drawn_models.with_options(models.get("videomae_small"), depth=2)
    flat = checkpoints.drawn(few)
    arrays = checkpoints.as_torch(flat)
    for key in [n for n in arrays if ".attn.qkv." in n]:
      parts = np.split(arrays.pop(key), 3)
      for part, letter in zip(parts, ("query", "key", "value"), strict=True):
        arrays[key.replace(".qkv.", f".{letter}.")] = part
    authors = match.match_arrays(few, checkpoints.as_torch(flat))
    self.assertEqual(authors.style, "videomae")
    fourth = names.arrays(arrays, "transformers videomae")
    fifth = {
      re.sub(
        r"\.([qv])_bias$",
        lambda m: {"q": ".query.bias", "v": ".value.bias"}[m[1]],
        name,
      ): array
      for name, array in fourth.items()
    }
    for published in (fourth, fifth):
      loaded = match.match_arrays(few, published)
      self.assertEqual(loaded.style, "transformers")
      self.same(loaded.variables, flat)

  def test_what_training_left_is_named(self):
    arrays = _published("slow_r50", "pyslowfast")
    arrays["s1.pathway0_stem.bn.num_batches_tracked"] = np.int64(3)
    arrays["s1.pathway0_stem.bn.split_bn.running_mean"] = np.zeros(64)
    loaded = match.match_arrays(models.get("slow_r50"), arrays)
    self.assertLen(loaded.ignored, 2)
    self.same(loaded.variables, checkpoints.drawn("slow_r50"))

  def test_pyth_as_pyslowfast_writes_it(self):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    arrays = _published("slow_r50", "pyslowfast")
    state = {n: torch.from_numpy(a) for n, a in arrays.items()}
    path = self.folder / "SLOW_8x8_R50.pyth"
    written = {"epoch": 195, "model_state": state, "cfg": "TRAIN: ..."}
    torch.save(written, path)
    loaded = models.convert.load("slow_r50", path)
    self.same(loaded, checkpoints.drawn("slow_r50"))


class RefusalTest(absltest.TestCase):
  def test_the_other_x3d(self):
    arrays = _published("x3d_m_pyslowfast", "pyslowfast x3d", "pyslowfast")
    with self.assertRaisesRegex(
      ValueError, r"4 arrays are left over: s2\.pathway0_res0\.branch1_bn"
    ):
      match.match_arrays(models.get("x3d_m"), arrays)

  def test_another_network(self):
    with self.assertRaisesRegex(ValueError, "another architecture than i3d"):
      match.match_arrays(models.get("i3d_r50"), _published("slow_r50"))


class WarningTest(checkpoints.Case):
  @quick.cases(
    [("r3d_18",)],
    [
      ("x3d_xs_pyslowfast", "pyslowfast x3d", "pyslowfast"),
      ("slow_r50", "pyslowfast"),  # pytorchvideo's files, renamed
    ],
  )
  def test_no_word_where_pictures_are_prepared_alike(self, name, *publishers):
    path = self.npz(_published(name, *publishers))
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      models.convert.load(name, path)

  @pytest.mark.slow
  def test_torchvisions_mvit_has_its_own_name(self):
    path = self.npz(_published("mvit_v1_b", "torchvision mvit"))
    with self.assertWarnsRegex(UserWarning, "Load it into mvit_v1_b"):
      models.convert.load("mvit_base_16x4", path)
