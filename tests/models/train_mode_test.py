"""Train mode of real networks: a step is torch's, and all networks have one.

A step is of SGD, without dropout and stochastic depth on either side, with random
weights. In float64 on both sides every array, weights and running statistics,
moves as torch's: within 1e-5 of its own largest move (6e-8 was measured, of Swin
V2 1.3e-6). In float32, as networks are trained, every array after the step is
within 1e-5 of its largest number of torch's, or no further from it than twice
torch's own step in float32 is from its step in float64: of millions of relus some
lie within rounding of 0, and either library takes another side of them.
"""

import copy
import zlib
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized

from models import variables as variables_lib
from models.convert import match
from models.layers import train_mode
from robust_tfds import models
from tests import contracts
from tests.models import drawn, family_files, in_double, last_layer_test
from tests.models.convert import parity_test, torchvision_cpu
from tests.models.video import oracles
from tests.models.video import parity_test as video_parity

_TOLERANCE = 1e-5  # in float32, of an array's largest number
_RATE = 0.05  # of learning
_ROWS = 6
# Name -> px of the pictures.
_PICTURES = {
  "convnext_tiny": 64,
  "convnextv2_atto": 64,
  "densenet121": 64,
  "mnasnet0_5": 64,  # another momentum
  "regnet_y_400mf": 64,
  "resnet18": 64,
  "swin_t": 64,
  "swin_v2_t": 72,  # tokens of zeros, which have a length
  "vit_tiny_patch16_224": 224,
}
_CLIPS = ("r3d_18", "s3d")
_IN_FLOAT32 = ("convnext_tiny", "resnet18", "swin_v2_t", "vit_tiny_patch16_224")


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


def _clip_case(name):
  """The same of a video network and clips."""
  oracle = oracles.ORACLES[name]
  module = oracles.built(oracle)
  frames, side = oracle.clip
  rng = np.random.default_rng(0)
  batch = rng.standard_normal((_ROWS, frames, side, side, 3), np.float32)
  momenta = _momenta(module)
  oracles.randomise(oracle, module, name, batch)
  _restore(module, momenta)
  return video_parity._fitted(name, oracle), module, batch, (0, 4, 1, 2, 3)


def _case(name):
  return _clip_case(name) if name in _CLIPS else _picture_case(name)


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
  def setUp(self):
    super().setUp()
    torchvision_cpu.package()

  @parameterized.parameters(*_PICTURES, *_CLIPS)
  @pytest.mark.slow
  def test_arrays_move_as_torchs(self, name):
    model, module, batch, order = _case(name)
    labels = np.arange(_ROWS) * 7 % model.spec.num_classes
    before = in_double.arrays(module)
    end = _torch_step(module.double(), batch, labels, order)
    with in_double.entered(model) as exact:
      start = in_double.loaded(model, before)
      got = _our_step(exact, start, batch.astype(np.float64), labels)
      got = jax.tree.map(np.asarray, got)
    in_double.check_moves(self, model, got, (before, end))

  @parameterized.parameters(*_IN_FLOAT32)
  @pytest.mark.slow
  def test_a_step_in_float32_is_torchs(self, name):
    model, module, batch, order = _case(name)
    labels = np.arange(_ROWS) * 7 % model.spec.num_classes
    loaded = _loaded(model, in_double.arrays(module))
    in_float32 = _torch_step(module, batch, labels, order)
    in_float64 = _torch_step(module.double(), batch, labels, order)
    want = variables_lib.flatten(_loaded(model, in_float32))
    exact = variables_lib.flatten(_loaded(model, in_float64))
    got = variables_lib.flatten(_our_step(model, loaded, batch, labels))
    ours, torchs = (
      {path: _apart(other[path], want[path]) for path in want}
      for other in (got, exact)
    )
    limit = max(_TOLERANCE, 2 * max(torchs.values()))
    worst = max(ours, key=ours.__getitem__)
    print(
      f"{name}: {len(want)} arrays, {worst} {ours[worst]:.1e} of {limit:.1e}"
    )
    self.assertLess(ours[worst], limit, worst)


def _apart(got, want):
  """The largest difference, of the largest number."""
  return np.abs(got - want).max() / np.abs(want).max()


def _loaded(model, arrays):
  return match.match_arrays(model, arrays).variables


_NAMES = tuple(
  n for kind in ("classification", "video") for n in models.names(kind=kind)
)
_SMALLEST = tuple(n for n in family_files.SMALLEST if n in _NAMES)


class CatalogueTest(parameterized.TestCase):
  @contracts.cases(_SMALLEST, family_files.of)
  def test_every_family_has_a_train_mode(self, name):
    self._check_train_mode(name)

  @parameterized.parameters(*(n for n in _NAMES if n not in _SMALLEST))
  @pytest.mark.slow
  def test_every_other_network_has_a_train_mode(self, name):
    self._check_train_mode(name)

  def _check_train_mode(self, name):
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
      last_layer_test.check(self, model)
