"""Torch modules through the adapter: routes, answers, refusals."""

import dataclasses
import pathlib

import jax
import numpy as np
import pytest
from absl.testing import parameterized
from jax.sharding import PartitionSpec

from models import adapters
from models.spec import Spec
from models.video.spec import VideoSpec
from robust_tfds import errors
from tests.models.adapters import small, torch_routes

try:
  import torch
  from torch import nn
except ImportError as _error:
  pytest.skip(f"torch is not installed: {_error}", allow_module_level=True)

_SPEC = small.spec(32, classes=5)


class _Net(nn.Module):
  """A convolution, a norm, an index by a buffer, an operation in place."""

  def __init__(self):
    super().__init__()
    self.conv = nn.Conv2d(3, 8, 3, 2, 1)
    self.norm = nn.BatchNorm2d(8)
    self.head = nn.Linear(8, 5)
    self.register_buffer("order", torch.arange(8).flip(0))

  def forward(self, x):
    x = self.norm(self.conv(x)).relu_()
    return self.head(x[:, self.order].mean((2, 3)))


@dataclasses.dataclass
class _Output:
  logits: torch.Tensor
  loss: torch.Tensor | None = None


class _Named(_Net):
  """Answers as Hugging Face's networks do."""

  def forward(self, x):
    return _Output(super().forward(x))


def _net(kind=_Net):
  torch.manual_seed(0)
  net = kind()
  net.norm.running_mean.normal_()
  net.norm.running_var.uniform_(0.5, 2)
  return net.eval()


def _images(count=4, px=32):
  rng = np.random.default_rng(0)
  return rng.integers(0, 256, (count, px, px, 3), np.uint8)


def _of_torch(net, images):
  pixels = np.float32((images / 255 - 0.5) / 0.25)
  with torch.no_grad():
    return net(torch.from_numpy(np.moveaxis(pixels, -1, 1).copy()))


def _adapt(net, spec=_SPEC, **options):
  return adapters.get("torch")(net, spec, **options)


class TorchTest(parameterized.TestCase):
  def _check(self, model, want, images):
    got = jax.jit(model.apply)(model.variables, images)
    atol = 1e-5 * np.abs(want).max()
    np.testing.assert_allclose(got, want, rtol=0, atol=atol)

  def test_traced(self):
    net = _net()
    model = _adapt(net)
    self.assertEqual((model.route, model.on_host), ("traced", False))
    self.assertEqual(model.name, "_Net")
    self.assertSameElements(
      {n for n, v in net.state_dict().items() if v.is_floating_point()},
      model.variables,
    )
    self.assertIn("= Conv(", model.program)
    for count in (1, 2, 7):
      images = _images(count)
      self._check(model, _of_torch(net, images).numpy(), images)

  def test_weights_are_variables(self):
    model = _adapt(_net())
    other = {**model.variables, "head.bias": model.variables["head.bias"] + 1}
    got = model.apply(other, _images())
    np.testing.assert_allclose(
      got - model.apply(model.variables, _images()), 1, atol=1e-5
    )

  def test_sharded(self):
    net = _net()
    model = _adapt(net)
    mesh = jax.make_mesh(
      (jax.device_count(),), ("rows",), (jax.sharding.AxisType.Auto,)
    )
    rows = PartitionSpec("rows")
    images = _images(3 * jax.device_count())
    sharded = jax.jit(
      jax.shard_map(
        model.apply,
        mesh=mesh,
        in_specs=(PartitionSpec(), rows),
        out_specs=rows,
      )
    )
    want = _of_torch(net, images).numpy()
    got = sharded(model.variables, images)
    np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())

  def test_pictures_of_another_size(self):
    net = _net()
    images = _images(2, px=48)
    self._check(_adapt(net), _of_torch(net, images).numpy(), images)

  @parameterized.parameters("traced", "host")
  def test_bfloat16(self, route):
    net = _net()
    want = _of_torch(net, _images()).numpy()
    model = _adapt(net, route=route, dtype="bfloat16")
    got = np.asarray(model.apply(model.variables, _images()))
    self.assertEqual(got.dtype, np.float32)
    difference = np.abs(got - want).max() / np.abs(want).max()
    self.assertBetween(difference, 1e-5, 0.05)

  def test_host(self):
    net = _net()
    model = _adapt(net, route="host", name="mine")
    self.assertEqual((model.route, model.on_host), ("host", True))
    got = model.apply(None, _images())
    np.testing.assert_allclose(got, _of_torch(net, _images()), atol=1e-5)

  @parameterized.parameters("traced", "host")
  def test_named_output(self, route):
    """And as many classes as it has: Hugging Face's need no word."""
    net = _net(_Named)
    model = _adapt(net, Spec(mean=(0.5,) * 3, std=(0.25,) * 3), route=route)
    self.assertEqual((model.route, model.spec.num_classes), (route, 5))
    self.assertIn("head.bias", model.variables)
    got = np.asarray(model.apply(model.variables, _images()))
    want = _of_torch(net, _images()).logits
    np.testing.assert_allclose(got, want, atol=1e-5)

  def test_clips(self):
    net = nn.Sequential(
      nn.Conv3d(3, 4, 3, padding=1), nn.AdaptiveAvgPool3d(1), nn.Flatten()
    )
    spec = VideoSpec(
      input_px=16, resize_px=16, frames=4, num_classes=4, label_space="custom"
    )
    model = _adapt(net.eval(), spec)
    self.assertEqual(model.route, "traced")
    clips = np.random.default_rng(0).integers(0, 256, (2, 4, 16, 16, 3))
    clips = clips.astype(np.uint8)
    host = _adapt(net, spec, route="host")
    self._check(model, host.apply(None, clips), clips)

  def test_exported_program(self):
    net = _net()
    batch = torch.zeros(2, 3, 32, 32)
    for dynamic, rows in ((None, 2), (({0: torch.export.Dim("n")},), None)):
      exported = torch.export.export(net, (batch,), dynamic_shapes=dynamic)
      for route in ("traced", "host"):
        model = _adapt(exported, route=route)
        self.assertEqual(model.rows, rows)
        got = np.asarray(model.apply(model.variables, _images(3)))
        want = _of_torch(net, _images(3))
        np.testing.assert_allclose(got, want, atol=1e-5)

  def test_modules_that_run_on_the_host(self):
    hooked = _net()
    hooked.conv.register_forward_hook(lambda *_: None)
    idle = _net()
    for parameter in idle.head.parameters():
      nn.init.zeros_(parameter)

    class Branch(_Net):
      def forward(self, x):
        return super().forward(x) * (2 if x.sum() > 0 else 1)

    class Spectrum(_Net):
      def forward(self, x):
        return super().forward(torch.fft.fft(x).real)

    for net, words in (
      (torch.jit.trace(_net(), torch.zeros(2, 3, 32, 32)), "TorchScript"),
      (_net().half(), "float16: net.float"),
      (_net().double(), "float64: net.float"),
      (hooked, r"hooks \(on conv\)"),
      (idle, "all its logits are 0"),
      (_net(Branch), "data-dependent"),
      (_net(Spectrum), "DFT"),
    ):
      with self.subTest(words):
        model = _adapt(net)
        self.assertTrue(model.on_host)
        self.assertRegex(model.route, f"^host: .*({words})")
        with self.assertRaisesRegex(errors.UserError, "cannot be traced"):
          _adapt(net, route="traced")

  @parameterized.parameters(
    (lambda: _Net(), r"train mode.*net\.eval\(\)"),
    (lambda: _Net, "the class _Net.*build it first"),
    (lambda: "net.pth", r"^net.pth: .*weights_only=True"),
    (lambda: pathlib.Path("a/net.pt"), "^a/net.pt: .*pickles"),
    (lambda: _net().state_dict(), "load_state_dict"),
    (lambda: np.zeros, "on_host"),
    (lambda: nn.Sequential(_net(), nn.Linear(5, 7)).eval(), r"\(3, 7\)"),
    (lambda: nn.Sequential(nn.Conv2d(1, 5, 3)).eval(), "channels_first="),
    (lambda: _net().to("meta"), "without numbers"),
  )
  def test_refused(self, build, words):
    with self.assertRaisesRegex(errors.UserError, words):
      _adapt(build())

  def test_unknown_options(self):
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'traced'"):
      _adapt(_net(), route="trace")
    with self.assertRaisesRegex(errors.UserError, "Unknown dtype"):
      _adapt(_net(), dtype="float16")


class NetworksTest(parameterized.TestCase):
  def _check(self, name, px=0):
    row = torch_routes.measure(name, px)
    print(row)
    self.assertEqual(row.route, "traced")
    self.assertLessEqual(row.difference, 1e-5)

  @parameterized.parameters("mobilenet_v3_small", "shufflenet_v2_x0_5")
  def test_small(self, name):
    try:
      torch_routes.names()
    except ImportError as error:
      self.skipTest(f"torchvision is not installed: {error}")
    self._check(name, px=64)


@pytest.mark.slow
class AllNetworksTest(parameterized.TestCase):
  # All of them take most of an hour: in parts, which processes can share.
  @parameterized.parameters(*range(26))
  def test_all(self, part):
    for name in torch_routes.names()[part::26]:
      with self.subTest(name):
        row = torch_routes.measure(name)
        print(row)
        if row.route != "traced":
          self.assertIn("away from its own package's", row.route)
        # Random weights amplify rounding, in torch itself as well.
        self.assertLessEqual(row.difference, max(1e-5, 3 * row.rounding))
