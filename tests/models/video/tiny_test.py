"""The small network of moving digits: its contract, sharded, trained."""

import os
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from absl.testing import absltest, parameterized

from robust_tfds import models
from tests.models import drawn


class TinyTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("tiny_r3d")
    cls.variables = drawn.variables(cls.model)
    cls.apply = staticmethod(jax.jit(cls.model.apply))
    rng = np.random.default_rng(0)
    cls.clips = rng.integers(0, 256, (4, 8, 32, 32, 3), np.uint8)

  def test_uint8_is_preprocessed_as_the_spec_says(self):
    pixels = self.model.preprocess(self.clips)
    np.testing.assert_allclose(
      pixels, (self.clips / 255 - 0.5) / 0.5, atol=1e-6
    )
    np.testing.assert_allclose(
      self.apply(self.variables, self.clips),
      self.apply(self.variables, pixels),
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
    got = self.apply(self.variables, self.clips)
    turned = self.apply(self.variables, self.clips[:, ::-1])
    self.assertGreater(float(jnp.abs(got - turned).max()), 1e-3)

  def test_other_lengths_and_sizes(self):
    clips = np.zeros((1, 16, 48, 40, 3), np.uint8)
    got = jax.eval_shape(self.model.apply, self.variables, clips)
    self.assertEqual(got.shape, (1, 10))

  def test_bfloat16_computes_near_float32(self):
    model = models.get("tiny_r3d", dtype="bfloat16")
    got = jax.jit(model.apply)(self.variables, self.clips)
    want = self.apply(self.variables, self.clips)
    self.assertEqual(got.dtype, jnp.float32)
    scale = float(jnp.abs(want).max())
    self.assertLess(float(jnp.abs(got - want).max()), 0.03 * scale)

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


_SHARDED = """
import jax
import numpy as np
from jax.sharding import PartitionSpec as P
from robust_tfds import models
from tests.models import drawn

model = models.get("tiny_r3d")
variables = drawn.variables(model)
clips = np.random.default_rng(0).integers(0, 256, (4, 8, 32, 32, 3), np.uint8)
mesh = jax.make_mesh(
  (4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,)
)
step = jax.jit(jax.shard_map(
  model.apply, mesh=mesh, in_specs=(P(), P("data")), out_specs=P("data")
))
got = step(variables, clips)
assert len(got.sharding.device_set) == 4
np.testing.assert_allclose(got, jax.jit(model.apply)(variables, clips), atol=1e-5)
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
      cwd=pathlib.Path(__file__).resolve().parents[3],
    )
    self.assertIn("sharded", done.stdout, done.stderr[-2000:])


if __name__ == "__main__":
  absltest.main()
