"""Counts of multiply-adds: the rule, and the numbers of all models."""

import pathlib

import jax
import jax.numpy as jnp
import pytest
from absl.testing import parameterized

from models import catalogue, multiply_adds
from robust_tfds import models
from tools import count_models

# As torchvision 0.28 prints them (`_ops` of its weights; Mask R-CNN's leaves out
# the masks) and, of TimeSformer, Schiappa et al., Table 1; at our specs' sizes.
_PRINTED = pathlib.Path(__file__).parent / "printed_gflops.tsv"
_QUICK = ("alexnet", "digits_cnn", "resnet18", "tiny_r3d")


def _ones(*shape: int) -> jax.Array:
  return jnp.ones(shape)


def _convolve(x: jax.Array, kernel: jax.Array, groups: int = 1) -> jax.Array:
  return jax.lax.conv_general_dilated(
    x,
    kernel,
    (2, 2),
    "SAME",
    dimension_numbers=("NHWC", "HWIO", "NHWC"),
    feature_group_count=groups,
  )


def _loop(x: jax.Array) -> jax.Array:
  return jax.lax.scan(lambda c, _: (c @ c, None), x, length=5)[0]


def _forms(x: jax.Array) -> jax.Array:
  return jax.lax.platform_dependent(
    x, cpu=lambda x: x * 2, default=lambda x: x @ x
  )


class RuleTest(parameterized.TestCase):
  @parameterized.parameters(
    (lambda x, y: x @ y, (_ones(2, 3), _ones(3, 5)), 2 * 3 * 5),
    (
      lambda x, y: jnp.einsum("bij,bkj->bik", x, y),
      (_ones(7, 2, 3), _ones(7, 5, 3)),
      7 * 2 * 5 * 3,
    ),
    (_convolve, (_ones(1, 8, 8, 6), _ones(3, 3, 6, 4)), 4 * 4 * 4 * 9 * 6),
    (
      lambda x, k: _convolve(x, k, 6),
      (_ones(1, 8, 8, 6), _ones(3, 3, 1, 6)),
      4 * 4 * 6 * 9,
    ),
    (jax.jit(_loop), (_ones(4, 4),), 5 * 4**3),
    (_forms, (_ones(4, 4),), 4**3),
    (lambda x: jnp.tanh(x).sum() + x.max(), (_ones(4, 4),), 0),
  )
  def test_rule(self, function, arguments, count):
    self.assertEqual(multiply_adds.count(function, *arguments), count)


class ModelsTest(parameterized.TestCase):
  def test_counts_are_of_models(self):
    """A model that was not counted yet has no number in its card."""
    counts = catalogue.gflops()
    self.assertContainsSubset(
      counts, models.names(), "run python -m tools.count_models"
    )
    for name, count in counts.items():
      self.assertGreater(count, 0, name)
      self.assertEqual(models.get(name).spec.gflops, count)

  def test_as_printed(self):
    _, *lines = _PRINTED.read_text("utf-8").splitlines()
    for name, printed in (line.split("\t") for line in lines):
      with self.subTest(name):
        printed = float(printed)
        gflops = models.get(name).spec.gflops
        # Printed to three places behind the point.
        self.assertAlmostEqual(gflops, printed, delta=0.01 * printed + 0.0005)

  @parameterized.parameters(*_QUICK)
  def test_some_again(self, name):
    self.assertEqual(count_models.gflops(name), catalogue.gflops()[name])

  @parameterized.parameters(*(n for n in catalogue.gflops() if n not in _QUICK))
  @pytest.mark.slow
  def test_the_others_again(self, name):
    self.assertEqual(count_models.gflops(name), catalogue.gflops()[name])

  def test_the_file_is_as_the_tool_writes_it(self):
    text = count_models.FILE.read_text("utf-8")
    self.assertEqual(count_models.text(catalogue.gflops()), text)
