"""Train mode of real networks: a step is torch's, and all networks have one.

A step is of SGD, without dropout and stochastic depth on either side, with random
weights. A pass is: every array after the step, weights and running statistics,
within 1e-5 of its largest number of torch's. Where rounding grows beyond that in
a deep network, torch's own does: there our distance to torch's step in float64
must not exceed twice that of its step in float32.
"""

import copy
import zlib
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized

from robust_tfds import models
from robust_tfds.models import variables as variables_lib
from robust_tfds.models.convert import match
from robust_tfds.models.layers import train_mode
from tests.models import drawn, stages_test
from tests.models.convert import parity_test, torchvision_cpu

_TOLERANCE = 1e-5
_RATE = 0.05  # of learning
_ROWS = 6
# Name -> px of the pictures.
_PICTURES = {"resnet18": 64, "vit_tiny_patch16_224": 224}


def _picture_case(name):
  """Our model, the reference with random weights, pixels, and its axes' order."""
  model = models.get(name)
  module = parity_test._reference(model)
  side = _PICTURES[name]
  rng = np.random.default_rng(0)
  batch = rng.standard_normal((_ROWS, side, side, 3), np.float32)
  momenta = _momenta(module)
  parity_test._randomise(
    torchvision_cpu.package(), module, zlib.crc32(name.encode()), batch
  )
  _restore(module, momenta)
  return model, module, batch, (0, 3, 1, 2)


def _momenta(module):
  return [m.momentum for m in module.modules() if hasattr(m, "running_var")]


def _restore(module, momenta):
  norms = [m for m in module.modules() if hasattr(m, "running_var")]
  for norm, momentum in zip(norms, momenta, strict=True):
    norm.momentum = momentum


def _without_draws(module):
  """Dropout and stochastic depth at rate 0, of torch, torchvision and timm."""
  for part in module.modules():
    for name in ("p", "drop_prob"):
      if isinstance(getattr(part, name, None), float):
        setattr(part, name, 0.0)


def _torch_step(module, batch, labels, order):
  """The module's arrays after a step of SGD in its own precision."""
  torch = torchvision_cpu.package()
  module = copy.deepcopy(module).train()
  _without_draws(module)
  dtype = next(module.parameters()).dtype
  pixels = torch.from_numpy(np.ascontiguousarray(batch.transpose(order)))
  optimizer = torch.optim.SGD(module.parameters(), lr=_RATE)
  logits = module(pixels.to(dtype))
  torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels)).backward()
  optimizer.step()
  return {n: t.numpy() for n, t in module.state_dict().items()}


def _our_step(model, variables, batch, labels):
  """The variables after the same step; no layer draws."""

  @jax.jit
  def step(variables):
    def loss(variables):
      logits, after = model.apply_train(variables, batch, jax.random.key(0))
      rows = jnp.arange(len(labels))
      return -jax.nn.log_softmax(logits)[rows, labels].mean(), after

    gradient, after = jax.grad(loss, has_aux=True)(variables)
    return jax.tree.map(lambda x, g: x - _RATE * g, after, gradient)

  def drawn_nothing(layer, x):
    del layer
    return x

  with mock.patch.object(train_mode.Dropout, "__call__", drawn_nothing):
    return step(variables)


class StepTest(parameterized.TestCase):
  @parameterized.parameters(*_PICTURES)
  @pytest.mark.slow
  def test_a_step_is_torchs(self, name):
    torchvision_cpu.package()
    model, module, batch, order = _picture_case(name)
    labels = np.arange(_ROWS) * 7 % model.spec.num_classes
    before = {n: t.numpy().copy() for n, t in module.state_dict().items()}
    loaded = match.match_arrays(model, before).variables
    single = _torch_step(module, batch, labels, order)
    double = _torch_step(module.double(), batch, labels, order)
    start = variables_lib.flatten(loaded)
    want, exact = (
      variables_lib.flatten(match.match_arrays(model, arrays).variables)
      for arrays in (single, double)
    )
    got = variables_lib.flatten(_our_step(model, loaded, batch, labels))
    worst = amplified = 0.0
    for path, array in want.items():
      scale = np.abs(array).max()
      difference = np.abs(got[path] - array).max() / scale
      own = np.abs(array - exact[path]).max() / scale
      if difference > _TOLERANCE:
        difference = np.abs(got[path] - exact[path]).max() / scale
        amplified = max(amplified, own)
        self.assertLessEqual(difference, 2 * own, path)
        self.assertLess(own, 1e-3, path)
      worst = max(worst, difference)
      moved = np.abs(array - start[path]).max() / scale
      self.assertTrue(moved > 10 * _TOLERANCE or path[-1] == "bias", path)
    print(
      f"{name}: {len(want)} arrays after a step, worst {worst:.1e} of its"
      f" scale (torch's own in float32, where larger than 1e-5: {amplified:.1e})"
    )


_NAMES = tuple(
  n for kind in ("classification", "video") for n in models.names(kind=kind)
)


class CatalogueTest(parameterized.TestCase):
  @parameterized.parameters(*_NAMES)
  @pytest.mark.slow
  def test_every_network_has_a_train_mode(self, name):
    model = models.get(name)
    variables = drawn.abstract(model)
    shape = model.spec.batch_shape(2, model.spec.input_px)
    logits, after = jax.eval_shape(
      model.apply_train,
      variables,
      jax.ShapeDtypeStruct(shape, jnp.uint8),
      jax.random.key(0),
    )
    self.assertEqual(logits.shape, (2, model.spec.num_classes))
    self.assertEqual(logits.dtype, jnp.float32)
    self.assertEqual(jax.tree.structure(after), jax.tree.structure(variables))
    jax.tree.map(
      lambda a, b: self.assertEqual(a.shape, b.shape), after, variables
    )
    if model.family.stages:
      stages_test.check(self, model)
