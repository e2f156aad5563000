"""The registry of video networks, and the contract of every one in it."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from absl.testing import absltest
from absl.testing import parameterized

from models import video
from models.video.spec import VideoSpec


def build_own():
  """A network of the user's own, as `module:function` names it."""
  return video.get("tiny_r3d")


def build_nothing():
  """Not a network."""
  return 3


class RegistryTest(parameterized.TestCase):
  def test_names(self):
    self.assertEqual(video.names(), tuple(sorted(video.names())))
    self.assertContainsSubset(
      (
        "i3d_r50",
        "mvit_base_16x4",
        "r2plus1d_18",
        "r2plus1d_r50",
        "slow_r50",
        "slowfast_r50",
        "timesformer_base",
        "tiny_r3d",
        "x3d_m",
        "x3d_s",
        "x3d_xs",
      ),
      video.names(),
    )

  @parameterized.parameters(*video.names())
  def test_published_size(self, name):
    model = video.get(name)
    self.assertEqual(model.count_parameters(), model.spec.parameters)
    self.assertTrue(model.spec.source)
    if name != "tiny_r3d":
      self.assertEqual(model.spec.label_space, "kinetics400")
      self.assertGreater(model.spec.gflops, 0)

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
    model = video.get(name)
    self.assertAlmostEqual(model.count_parameters() / 1e6, millions, delta=0.05)
    self.assertEqual((model.spec.frames, model.spec.rate), (frames, rate))

  @parameterized.parameters(*video.names())
  def test_whole_clips_give_logits(self, name):
    model = video.get(name, num_classes=7)
    spec = model.spec
    side = spec.input_px
    clips = jax.ShapeDtypeStruct((2, spec.frames, side, side, 3), np.uint8)
    variables = jax.eval_shape(model.init, jax.random.key(0))
    got = jax.eval_shape(model.apply, variables, clips)
    self.assertEqual((got.shape, got.dtype), ((2, 7), jnp.float32))

  def test_own_network_by_path(self):
    self.assertEqual(video.get(f"{__name__}:build_own").name, "tiny_r3d")
    with self.assertRaisesRegex(ValueError, "without name, spec"):
      video.get(f"{__name__}:build_nothing")
    with self.assertRaisesRegex(ValueError, "No video model at 'nowhere:x'"):
      video.get("nowhere:x")
    with self.assertRaisesRegex(ValueError, "has 10 classes"):
      video.get(f"{__name__}:build_own", num_classes=3)

  def test_unknown_name_is_answered_with_the_nearest(self):
    with self.assertRaisesRegex(ValueError, "Did you mean 'slow_r50'"):
      video.get("slow_r5O")

  def test_spec_refuses_what_cannot_be(self):
    with self.assertRaisesRegex(ValueError, "0 frames at rate 1"):
      VideoSpec(frames=0, rate=1)


class VideoModelTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.model = video.get("tiny_r3d")
    self.variables = self.model.init(jax.random.key(0))
    rng = np.random.default_rng(0)
    self.clips = rng.integers(0, 256, (4, 8, 32, 32, 3), np.uint8)

  def test_uint8_is_preprocessed_as_the_spec_says(self):
    pixels = self.model.preprocess(self.clips)
    np.testing.assert_allclose(
      pixels, (self.clips / 255 - 0.5) / 0.5, atol=1e-6
    )
    np.testing.assert_allclose(
      self.model.apply(self.variables, self.clips),
      self.model.apply(self.variables, pixels),
      rtol=1e-5,
    )

  def test_one_compilation_per_clip_shape(self):
    traced = []

    @jax.jit
    def apply(variables, clips):
      traced.append(clips.shape)
      return self.model.apply(variables, clips)

    whole = apply(self.variables, self.clips)
    apply(self.variables, self.clips[::-1])
    self.assertLen(traced, 1)
    one = apply(self.variables, self.clips[2:3])
    self.assertLen(traced, 2)
    np.testing.assert_allclose(one, whole[2:3], atol=1e-5)

  def test_order_of_frames_matters(self):
    got = self.model.apply(self.variables, self.clips)
    turned = self.model.apply(self.variables, self.clips[:, ::-1])
    self.assertGreater(float(jnp.abs(got - turned).max()), 1e-3)

  def test_other_lengths_and_sizes(self):
    clips = np.zeros((1, 16, 48, 40, 3), np.uint8)
    self.assertEqual(self.model.apply(self.variables, clips).shape, (1, 10))

  def test_bfloat16_computes_near_float32(self):
    model = video.get("tiny_r3d", dtype="bfloat16")
    got = model.apply(self.variables, self.clips)
    want = self.model.apply(self.variables, self.clips)
    self.assertEqual(got.dtype, jnp.float32)
    scale = float(jnp.abs(want).max())
    self.assertLess(float(jnp.abs(got - want).max()), 0.03 * scale)

  def test_refuses_clips_that_do_not_fit(self):
    def apply(name, clips):
      return video.get(name).apply({}, clips)

    with self.assertRaisesRegex(ValueError, r"expected \[B, T, H, W, 3\]"):
      apply("tiny_r3d", self.clips[0])
    with self.assertRaisesRegex(ValueError, "int32 pixels"):
      apply("tiny_r3d", self.clips.astype(np.int32))
    clips = np.zeros((1, 8, 112, 112, 3), np.uint8)
    with self.assertRaisesRegex(ValueError, "8 frames, expected 16"):
      apply("mvit_base_16x4", clips)
    with self.assertRaisesRegex(ValueError, "112 x 112, expected 224 x 224"):
      apply("timesformer_base", clips)
    variables = jax.eval_shape(
      video.get("slowfast_r50").init, jax.random.key(0)
    )
    with self.assertRaisesRegex(ValueError, "6 frames, expected a multiple"):
      jax.eval_shape(
        video.get("slowfast_r50").apply,
        variables,
        jax.ShapeDtypeStruct((1, 6, 64, 64, 3), np.uint8),
      )

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
    answer = np.argmax(self.model.apply(variables, clips), axis=1)
    self.assertLess(np.mean(losses[-10:]), 0.5)
    self.assertGreater(np.mean(answer == label), 0.8)


_SHARDED = """
import jax
import numpy as np
from jax.sharding import PartitionSpec as P
from models import video

model = video.get("tiny_r3d")
variables = model.init(jax.random.key(0))
clips = np.random.default_rng(0).integers(0, 256, (8, 8, 32, 32, 3), np.uint8)
mesh = jax.make_mesh(
  (4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,)
)
step = jax.jit(jax.shard_map(
  model.apply, mesh=mesh, in_specs=(P(), P("data")), out_specs=P("data")
))
got = step(variables, clips)
assert len(got.sharding.device_set) == 4
np.testing.assert_allclose(got, model.apply(variables, clips), atol=1e-5)
print("sharded")
"""


class ShardedTest(absltest.TestCase):
  def test_four_devices_answer_as_one(self):
    done = subprocess.run(
      [sys.executable, "-c", _SHARDED],
      env={
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
      },
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertIn("sharded", done.stdout, done.stderr[-2000:])


if __name__ == "__main__":
  absltest.main()
