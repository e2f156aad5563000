"""Query, key and value are joined where a file parts them."""

import numpy as np
from absl.testing import parameterized

from models.layers import qkv

_THREE = [np.full((2, 4), i, np.float32) for i in range(3)]


class JoinTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      "vit.encoder.layer.0.attention.attention.{}.weight",
      ("query", "key", "value"),
    ),
    ("vit.layers.0.attention.{}_proj.weight", ("q", "k", "v")),
    ("vision_model.encoder.layers.0.self_attn.{}_proj.weight", ("q", "k", "v")),
  )
  def test_of_torch(self, pattern, which):
    backwards = dict(
      zip([pattern.format(w) for w in which], _THREE, strict=True)
    )
    backwards = dict(reversed(backwards.items()))
    ((name, array),) = qkv.join({**backwards}).items()
    self.assertEndsWith(name, ".0.attn.qkv.weight")
    np.testing.assert_array_equal(array, np.concatenate(_THREE))

  def test_of_flax(self):
    stem = "Transformer/encoderblock_0/MultiHeadDotProductAttention_1"
    kernels = {
      f"{stem}/{which}/kernel": np.full((6, 3, 2), i, np.float32)
      for i, which in enumerate(("query", "key", "value"))
    }
    kernels[f"{stem}/out/kernel"] = np.arange(36.0).reshape(3, 2, 6)
    got = qkv.join(kernels)
    self.assertEqual(got[f"{stem}/qkv/kernel"].shape, (6, 18))
    np.testing.assert_array_equal(
      got[f"{stem}/qkv/kernel"][0], np.repeat([0, 1, 2], 6)
    )
    np.testing.assert_array_equal(
      got[f"{stem}/out/kernel"], np.arange(36.0).reshape(6, 6)
    )

  def test_what_lacks_one_is_left_as_it_is(self):
    got = qkv.join({"a.attention.q_proj.weight": _THREE[0]})
    self.assertEqual(got["a.attn.qkv.weight"].shape, (2, 4))

  def test_others_pass(self):
    arrays = {"blocks.0.attn.qkv.weight": _THREE[0], "head.bias": _THREE[1]}
    self.assertEqual(list(qkv.join(arrays)), list(arrays))
