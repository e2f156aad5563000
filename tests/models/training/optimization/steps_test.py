"""A step: the gradient's part of the weights, the batch's of the statistics."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models.training.optimization import optimizers, state, steps
from tests.models import drawn
from tests.models.training import tiny_trainings


def _after(count: int = 1, model=None, variables=None, **changes):
  """States before and after some steps on one batch, and the last numbers."""
  prepared = tiny_trainings.prepared(recipe={"name": "standard"}, **changes)
  config, model = prepared.config, model or prepared.model
  optimizer = optimizers.make_optimizer(config.optimizer, model.decayed_paths())
  step = jax.jit(
    steps.Steps(model, prepared.recipe, optimizer, lambda i: 0.5, config)
  )
  variables = variables or prepared.variables
  before = now = state.first(model, variables, optimizer, config)
  batch = next(prepared.source.batches(batch_size=8, seed=0, epoch=0))
  del batch["id"]
  for _ in range(count):
    now, numbers = step(now, batch, jnp.float32(1))
  return before, now, numbers, batch


class StepsTest(absltest.TestCase):
  def test_one_step_of_sgd(self):
    """Weights move by the rate times the gradient of the loss, statistics by .1."""
    before, after, numbers, batch = _after()
    model = tiny_trainings.network()

    def loss(variables):
      logits, _ = model.apply_train(
        variables, batch["image"], jax.random.key(0)
      )
      log = jax.nn.log_softmax(logits)
      return -log[jnp.arange(8), batch["label"]].mean()

    value, gradient = jax.value_and_grad(loss)(before.variables)
    kernel = before.parameters["head/kernel"] - 0.5 * gradient["head"]["kernel"]
    np.testing.assert_allclose(
      after.parameters["head/kernel"], kernel, rtol=1e-5
    )
    np.testing.assert_allclose(numbers["loss"], value, rtol=1e-6)
    pixels = model.preprocess(batch["image"])
    mean = 0.1 * pixels.mean((0, 1, 2))
    np.testing.assert_allclose(after.statistics["norm/mean"], mean, rtol=1e-4)
    self.assertEqual(int(after.step), 1)

  def test_parts_of_a_batch_are_averaged(self):
    changes = {"model__frozen_norms": True, "model__checkpoint": ""}
    _, whole, numbers, _ = _after(3, **changes)
    _, parts, of_parts, _ = _after(3, optimizer__accumulate=4, **changes)
    for name, array in whole.parameters.items():
      np.testing.assert_allclose(
        parts.parameters[name], array, rtol=1e-4, atol=1e-6
      )
    np.testing.assert_allclose(of_parts["loss"], numbers["loss"], rtol=1e-5)
    np.testing.assert_array_equal(whole.statistics["norm/mean"], 0)

  def test_mean_of_the_weights(self):
    """Decays (1 + n) / (10 + n) at first, as TensorFlow's."""
    before, after, _, _ = _after(optimizer__ema=0.999)
    name = "head/kernel"
    want = 0.1 * before.parameters[name] + 0.9 * after.parameters[name]
    np.testing.assert_allclose(after.ema[name], want, rtol=1e-5)
    self.assertIn("norm/mean", after.ema)

  def test_a_mean_leaves_what_does_not_move(self):
    """Frozen norms to the last bit; their statistics too, under weight decay."""
    model = tiny_trainings.network()
    frozen = ("norm/scale", "norm/bias", "norm/mean", "norm/var")
    rng = np.random.default_rng(0)
    drawn = {p: rng.uniform(0.1, 3, 3).astype(np.float32) for p in frozen}
    changes = {"optimizer__ema": 0.7, "model__frozen_stages": 1}
    prepared = tiny_trainings.prepared(**changes)
    before = state.first(
      model,
      state.nested({**state.parted(prepared.variables, ())[0], **drawn}),
      optimizers.make_optimizer(
        prepared.config.optimizer, model.decayed_paths()
      ),
      prepared.config,
    )
    make = steps.Steps(
      model, prepared.recipe, None, lambda i: 0.5, prepared.config
    )
    now = before
    for n in range(40):
      ema = make._averaged(now, {**now.parameters, **now.statistics})
      now = dataclasses.replace(now, step=jnp.int32(n + 1), ema=ema)
    for name, array in drawn.items():
      np.testing.assert_array_equal(now.ema[name], array)

  def test_frozen_stages(self):
    more = {"weight_decay": 0.1, "ema": 0.999}
    before, after, _, _ = _after(
      30,
      variables=drawn.variables(tiny_trainings.network()),
      model__frozen_stages=1,
      **{f"optimizer__{name}": value for name, value in more.items()},
    )
    self.assertEqual(set(after.parameters), {"head/kernel", "head/bias"})
    for arrays in (after.statistics, after.ema):  # to the byte
      for name in ("norm/scale", "norm/bias", "norm/mean", "norm/var"):
        np.testing.assert_array_equal(arrays[name], before.statistics[name])
    self.assertFalse(
      np.array_equal(
        after.parameters["head/kernel"], before.parameters["head/kernel"]
      )
    )

  def test_bfloat16_on_float32_weights(self):
    model = dataclasses.replace(tiny_trainings.network(), dtype="bfloat16")
    _, after, numbers, _ = _after(2, model)
    kinds = {x.dtype for x in jax.tree.leaves(after.variables)}
    self.assertEqual(kinds, {jnp.dtype("float32")})
    self.assertTrue(np.isfinite(numbers["loss"]))
