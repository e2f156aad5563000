"""Counts of multiply-adds: the rule, and the numbers of all models."""

import jax
import jax.numpy as jnp
import pytest
from absl.testing import absltest, parameterized

from robust_tfds import models
from robust_tfds.models import catalogue, multiply_adds
from tools import count_models

# As torchvision 0.28 prints them (`_ops` of its weights; Mask R-CNN's leaves out
# the masks) and, of TimeSformer, Schiappa et al., Table 1; at our specs' sizes.
_PRINTED = {
  "alexnet": 0.714,
  "convnext_base": 15.355,
  "convnext_large": 34.361,
  "convnext_small": 8.684,
  "convnext_tiny": 4.456,
  "densenet121": 2.834,
  "densenet161": 7.728,
  "densenet169": 3.36,
  "densenet201": 4.291,
  "efficientnet_b0": 0.386,
  "efficientnet_b1": 0.687,
  "efficientnet_b2": 1.088,
  "efficientnet_b3": 1.827,
  "efficientnet_b4": 4.394,
  "efficientnet_b5": 10.266,
  "efficientnet_b6": 19.068,
  "efficientnet_b7": 37.746,
  "efficientnet_v2_l": 56.08,
  "efficientnet_v2_m": 24.582,
  "efficientnet_v2_s": 8.366,
  "fasterrcnn_resnet50_fpn": 134.38,
  "googlenet": 1.498,
  "inceptionv3": 5.713,
  "maxvit_t": 5.558,
  "mc3_18": 43.343,
  "mnasnet0_5": 0.104,
  "mnasnet0_75": 0.215,
  "mnasnet1_0": 0.314,
  "mnasnet1_3": 0.526,
  "mobilenet_v2": 0.301,
  "mobilenet_v3_large": 0.217,
  "mobilenet_v3_small": 0.057,
  "mvit_v1_b": 70.599,
  "r2plus1d_18": 40.519,
  "r3d_18": 40.697,
  "regnet_x_16gf": 15.941,
  "regnet_x_1_6gf": 1.603,
  "regnet_x_32gf": 31.736,
  "regnet_x_3_2gf": 3.177,
  "regnet_x_400mf": 0.414,
  "regnet_x_800mf": 0.8,
  "regnet_x_8gf": 7.995,
  "regnet_y_128gf": 374.57,
  "regnet_y_16gf": 15.912,
  "regnet_y_1_6gf": 1.612,
  "regnet_y_32gf": 32.28,
  "regnet_y_3_2gf": 3.176,
  "regnet_y_400mf": 0.402,
  "regnet_y_800mf": 0.834,
  "regnet_y_8gf": 8.473,
  "resnet101": 7.801,
  "resnet152": 11.514,
  "resnet18": 1.814,
  "resnet34": 3.664,
  "resnet50": 4.089,
  "resnext101_32x8d": 16.414,
  "resnext101_64x4d_torchvision": 15.46,
  "resnext50_32x4d": 4.23,
  "retinanet_resnet50_fpn": 151.54,
  "shufflenet_v2_x0_5": 0.04,
  "shufflenet_v2_x1_0": 0.145,
  "shufflenet_v2_x1_5": 0.296,
  "shufflenet_v2_x2_0": 0.583,
  "squeezenet1_0_torchvision": 0.819,
  "squeezenet1_1_torchvision": 0.349,
  "swin_b": 15.431,
  "swin_s": 8.741,
  "swin_t": 4.491,
  "swin_v2_b": 20.325,
  "swin_v2_s": 11.546,
  "swin_v2_t": 5.94,
  "timesformer_base": 196,
  "vgg11": 7.609,
  "vgg11_bn": 7.609,
  "vgg13": 11.308,
  "vgg13_bn": 11.308,
  "vgg16": 15.47,
  "vgg16_bn": 15.47,
  "vgg19": 19.632,
  "vgg19_bn": 19.632,
  "vit_b_16": 17.564,
  "vit_b_32": 4.409,
  "vit_h_14": 167.295,
  "vit_h_14_518": 1016.717,
  "vit_l_16": 61.555,
  "vit_l_32": 15.378,
  "wide_resnet101_2": 22.753,
  "wide_resnet50_2": 11.398,
}
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
    self.assertEqual(multiply_adds.of(function, *arguments), count)


class ModelsTest(parameterized.TestCase):
  def test_every_model_is_counted(self):
    self.assertSameElements(catalogue.gflops(), models.names())
    for name in models.names():
      self.assertGreater(models.get(name).spec.gflops, 0, name)

  @parameterized.parameters(*_PRINTED.items())
  def test_as_printed(self, name, printed):
    gflops = models.get(name).spec.gflops
    # Printed to three places behind the point.
    self.assertAlmostEqual(gflops, printed, delta=0.01 * printed + 0.0005)

  @parameterized.parameters(*_QUICK)
  def test_some_again(self, name):
    self.assertEqual(count_models.gflops(name), catalogue.gflops()[name])

  @parameterized.parameters(*(n for n in models.names() if n not in _QUICK))
  @pytest.mark.slow
  def test_the_others_again(self, name):
    self.assertEqual(count_models.gflops(name), catalogue.gflops()[name])

  def test_the_file_is_as_the_tool_writes_it(self):
    text = count_models.FILE.read_text("utf-8")
    self.assertEqual(count_models.text(catalogue.gflops()), text)


if __name__ == "__main__":
  absltest.main()
