"""Networks of videos."""

import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from absl.testing import absltest, parameterized
from flax import nnx

from models.convert import match
from models.video import volumes
from robust_tfds import models
from tests import quick
from tests.models import drawn
from tests.models import drawn as drawn_models
from tests.models.convert import checkpoints, names


def _published(name: str, *publishers: str) -> dict[str, np.ndarray]:
  """Random variables under a publisher's names."""
  drawn = checkpoints.as_torch(checkpoints.drawn(name))
  return names.arrays(drawn, *publishers)


class NamesTest(checkpoints.Case):
  """What public checkpoints of video networks hold beside what others do."""

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


class FramesTest(absltest.TestCase):
  """SlowFast takes a multiple of four frames."""

  def test_refuses_other_lengths(self):
    model = models.get("slowfast_r50")
    variables = jax.eval_shape(model.init, jax.random.key(0))
    clips = jax.ShapeDtypeStruct((1, 6, 64, 64, 3), np.uint8)
    with self.assertRaisesRegex(ValueError, "6 frames, expected a multiple"):
      jax.eval_shape(model.apply, variables, clips)


# One of each way to treat time: kernels, two pathways, tokens.
_QUICK = ("slowfast_r50", "timesformer_base", "x3d_xs")


class SpecTest(parameterized.TestCase):
  """Specs of clips, and what every video network makes of them."""

  def test_published_facts(self):
    for name in models.names(kind="video"):
      if name != "tiny_r3d":
        spec = models.get(name).spec
        self.assertEqual(spec.label_space, "kinetics400")
        self.assertGreater(spec.gflops, 0)

  @parameterized.parameters(
    # Table 1 of Schiappa et al.: parameters in millions, frames and rate.
    ("slow_r50", 32.5, 8, 8),
    ("i3d_r50", 28.0, 8, 8),
    ("slowfast_r50", 34.6, 32, 2),
    ("x3d_m", 3.8, 16, 5),
    ("mvit_base_16x4", 36.6, 16, 4),
    ("timesformer_base", 121.6, 8, 32),
  )
  def test_table_1(self, name, millions, frames, rate):
    model = models.get(name)
    self.assertAlmostEqual(model.spec.parameters / 1e6, millions, delta=0.05)
    self.assertEqual((model.spec.frames, model.spec.rate), (frames, rate))

  def test_refuses_clips_that_do_not_fit(self):
    clips = np.zeros((4, 8, 32, 32, 3), np.uint8)

    def apply(name, clips):
      return models.get(name).apply({}, clips)

    with self.assertRaisesRegex(ValueError, r"expected \[B, T, H, W, 3\]"):
      apply("tiny_r3d", clips[0])
    with self.assertRaisesRegex(ValueError, "int32 pixels"):
      apply("tiny_r3d", clips.astype(np.int32))
    clips = np.zeros((1, 8, 224, 224, 3), np.uint8)
    with self.assertRaisesRegex(ValueError, "8 frames, expected 16"):
      apply("mvit_base_16x4", clips)
    with self.assertRaisesRegex(ValueError, "112 x 112, expected 224 x 224"):
      apply("timesformer_base", clips[:, :, :112, :112])


class LogitsTest(parameterized.TestCase):
  @parameterized.parameters(*_QUICK)
  def test_whole_clips_give_logits(self, name):
    self._check_logits(name)

  @parameterized.parameters(
    *(n for n in models.names(kind="video") if n not in _QUICK)
  )
  @pytest.mark.slow
  def test_whole_clips_of_the_others(self, name):
    self._check_logits(name)

  def _check_logits(self, name):
    model = models.get(name, num_classes=7)
    spec = model.spec
    side = spec.input_px
    clips = jax.ShapeDtypeStruct((2, spec.frames, side, side, 3), np.uint8)
    got = jax.eval_shape(model.apply, drawn.abstract(model), clips)
    self.assertEqual((got.shape, got.dtype), ((2, 7), jnp.float32))


class TinyTest(absltest.TestCase):
  """The small network of moving digits: lengths, order of frames, training."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("tiny_r3d")
    cls.variables = drawn.variables(cls.model)
    cls.apply = staticmethod(jax.jit(cls.model.apply))
    rng = np.random.default_rng(0)
    cls.clips = rng.integers(0, 256, (4, 8, 32, 32, 3), np.uint8)

  def test_order_of_frames_matters(self):
    got = self.apply(self.variables, self.clips)
    turned = self.apply(self.variables, self.clips[:, ::-1])
    self.assertGreater(float(jnp.abs(got - turned).max()), 1e-3)

  def test_other_lengths_and_sizes(self):
    clips = np.zeros((1, 16, 48, 40, 3), np.uint8)
    got = jax.eval_shape(self.model.apply, self.variables, clips)
    self.assertEqual(got.shape, (1, 10))

  @pytest.mark.slow
  def test_learns_motion(self):
    """Left or right: no single frame tells. A few seconds of training."""

    def batch(rng):
      label = rng.integers(0, 2, 16)
      clips = np.zeros((16, 8, 24, 24, 3), np.uint8)
      for i in range(16):
        top, left = rng.integers(0, 16, 2)
        for t in range(8):
          x = (left + 2 * t * (1 if label[i] else -1)) % 18
          clips[i, t, top : top + 6, x : x + 6] = 255
      return clips, label

    optimizer = optax.adam(2e-3)

    @jax.jit
    def step(variables, state, clips, label):
      def loss(variables):
        logits = self.model.apply(variables, clips)
        chosen = jnp.take_along_axis(logits, label[:, None], 1)[:, 0]
        return (jax.nn.logsumexp(logits, axis=1) - chosen).mean()

      value, gradient = jax.value_and_grad(loss)(variables)
      updates, state = optimizer.update(gradient, state)
      return optax.apply_updates(variables, updates), state, value

    rng = np.random.default_rng(0)
    variables = self.variables
    state = optimizer.init(variables)
    losses = []
    for _ in range(120):
      variables, state, value = step(variables, state, *batch(rng))
      losses.append(float(value))
    clips, label = batch(rng)
    answer = np.argmax(self.apply(variables, clips), axis=1)
    self.assertLess(np.mean(losses[-10:]), 0.5)
    self.assertGreater(np.mean(answer == label), 0.8)


def _clips(shape, seed=0):
  return np.random.default_rng(seed).standard_normal(shape, np.float32)


class Conv3dTest(parameterized.TestCase):
  """Convolutions by frames against XLA's own of clips; windows against loops."""

  def test_gradient(self):
    layer = volumes.Conv3d(4, 4, 3, 2, 1, groups=4, rngs=nnx.Rngs(0))
    x = _clips((1, 5, 6, 6, 4))
    gradient = jax.jit(jax.grad(lambda x: layer(x).sum()))(x)
    self.assertEqual(gradient.shape, x.shape)
    self.assertGreater(float(np.abs(gradient).min()), 0)
