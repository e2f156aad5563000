"""Adapters of other frameworks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
from absl.testing import absltest, parameterized
from flax import nnx

from models import adapters
from models.detection.detector import DetectorSpec
from models.spec import Spec
from models.video.spec import VideoSpec
from robust_tfds import errors
from tests.models.adapters import small, torch_routes


class TorchRoutesTest(absltest.TestCase):
  """The page of torch networks is what was measured, and says what is so."""

  def test_page_is_of_the_rows(self):
    rows = torch_routes.read()
    self.assertNotEmpty(rows)
    text = torch_routes.PAGE.read_text()
    self.assertEqual(text, torch_routes.page(text, rows))

  def test_rows(self):
    for row in torch_routes.read():
      if row.route == "traced":
        # The adapter's probe is held to 1e-5; the rows are of other pictures.
        self.assertLessEqual(row.difference, 3e-5, row.name)
      else:
        self.assertStartsWith(row.route, "host: ")

  def test_table(self):
    row = torch_routes.Row("net", 224, "host: why", 2e-5, 3e-5, 0)
    text = torch_routes.page("# Top\n\n## Routes\n\nold\n\n## Next\n", [row])
    self.assertStartsWith(text, "# Top\n\n## Routes\n\n0 of 1 networks")
    self.assertIn("| net | 224 | host | 2.0e-05 (torch's own", text)
    self.assertEndsWith(text, "\n## Next\n")
    self.assertNotIn("old", text)


_SPEC = small.spec(8)
_RNG = np.random.default_rng(0)
_WEIGHTS = _RNG.standard_normal((3, 4), np.float32)
_IMAGES = _RNG.integers(0, 256, (5, 8, 8, 3), np.uint8)
_BOTH = ("callable", "on_host")


def _net(x):
  return x.mean((1, 2)) @ _WEIGHTS


def _model(function, kind, spec=_SPEC, **options):
  return adapters.get(kind)(function, spec, name="mine", **options)


class DoorTest(parameterized.TestCase):
  """One door for every route: the same parts, the same refusals, in words."""

  def _refused(self, words, function, kind, batch=_IMAGES, **options):
    model = _model(function, kind, **options)
    with self.assertRaisesRegex(errors.UserError, f"^mine.*{words}"):
      model.apply(model.init(jax.random.key(0)), batch)

  @parameterized.product(kind=_BOTH, rows=(None, 2, 5, 8))
  def test_classifiers(self, kind, rows):
    options = {"preprocessed": True} if kind == "on_host" else {}
    sizes = []

    def net(x):
      sizes.append(len(x))
      return _net(x)

    model = _model(net, kind, rows=rows, **options)
    got = model.apply(model.init(jax.random.key(0)), _IMAGES)
    self.assertEqual(got.dtype, np.float32)
    self.assertIsInstance(got, np.ndarray if kind == "on_host" else jax.Array)
    expected = _net(np.asarray(_SPEC.normalize(_IMAGES)))
    np.testing.assert_allclose(got, expected, atol=1e-5)
    self.assertEqual(set(sizes), {rows or 5})
    self.assertEqual((model.kind, model.spec), ("classification", _SPEC))

  @parameterized.parameters(*_BOTH)
  def test_clips(self, kind):
    spec = VideoSpec(input_px=8, resize_px=8, frames=2, num_classes=4)
    clips = _IMAGES[:4].reshape(2, 2, 8, 8, 3)
    seen = []

    def net(x):
      seen.append(x.shape)
      return x.mean((2, 3, 4)) @ np.float32(_WEIGHTS)

    model = _model(net, kind, spec, channels_first=True)
    self.assertEqual(model.apply(None, clips).shape, (2, 4))
    self.assertEqual(seen, [(2, 3, 2, 8, 8)])
    with self.assertRaisesRegex(errors.UserError, "expected .B, T, H, W, 3."):
      model.apply(None, _IMAGES)

  @parameterized.parameters(*_BOTH)
  def test_detectors(self, kind):
    spec = DetectorSpec(num_classes=2, short_px=0, detections=1)

    def traced(images, sizes):
      boxes = jnp.tile(sizes[:, None, ::-1], (1, 1, 2)).astype(float)
      scores = jnp.ones((len(images), 1))
      classes = jnp.ones((len(images), 1), int)
      valid = jnp.ones((len(images), 1), bool)
      return {
        "boxes": boxes, "scores": scores, "classes": classes, "valid": valid
      }  # fmt: skip

    def on_host(picture):
      box = [*picture.shape[1::-1]] * 2
      return {"boxes": [box], "scores": [1], "classes": [1]}

    model = _model(traced if kind == "callable" else on_host, kind, spec)
    sizes = np.array([[3, 4]] * 5, np.int32)
    got = model.apply(model.init(jax.random.key(0)), _IMAGES, sizes)
    self.assertEqual(np.asarray(got["boxes"])[:, 0].tolist(), [[4, 3] * 2] * 5)
    got = model.apply(None, _IMAGES)
    self.assertEqual(np.asarray(got["boxes"])[0, 0].tolist(), [8] * 4)
    with self.assertRaisesRegex(errors.UserError, "^mine got int16"):
      model.apply(None, _IMAGES.astype(np.int16), sizes)
    self.assertEqual((model.kind, model.spec), ("detection", spec))

  @parameterized.product(
    kind=_BOTH,
    case=(
      (_IMAGES.astype(np.int16), "got int16"),
      (_IMAGES[..., :1], "got a batch of shape .5, 8, 8, 1., expected"),
      (_IMAGES[0], "got a batch of shape .8, 8, 3., expected .B, H, W, 3."),
      (_IMAGES[:, :4], "got pictures of 4 x 8, expected 8 x 8: resize"),
      ([[1], [2, 3]], "got a list"),
      (_IMAGES[:0], "got .*0"),
    ),
  )
  def test_batches_that_do_not_fit(self, kind, case):
    batch, words = case
    fixed = Spec(**{**vars(_SPEC), "flexible": False})
    model = _model(_net, kind, fixed)
    with self.assertRaisesRegex(errors.UserError, f"^mine {words}"):
      model.apply(None, batch)

  @parameterized.product(
    kind=_BOTH,
    case=(
      (
        lambda x: _net(x)[:, :3],
        r"shape \(5, 3\), expected \(5, 4\): return o",
      ),
      (lambda x: x[:, 0, :, 0][:, :5], r"shape \(5, 5\).* background, leave"),
      (lambda x: _net(x)[:, None], r"shape \(5, 1, 4\).*drop the axes of len"),
      (lambda x: _net(x).T, r"shape \(4, 5\), expected"),
      (lambda x: x @ _WEIGHTS, r"shape \(5, 8, 8, 4\).*metric of your own"),
      (lambda x: _net(x).argmax(1), r"shape \(5,\).*logits of all classes"),
      (lambda x: _net(x)[0], r"shape \(4,\).*keep the axis of the batch"),
      (lambda x: _net(x).astype("int16"), "int16 numbers, expected float log"),
      (lambda x: _net(x) > 0, "bool numbers, expected float logits"),
      (lambda x: _net(x) + 0j, "complex.* numbers, expected float logits"),
      (lambda x: None, "a NoneType, which is no array"),
      (lambda x: {"top": _net(x), "x": x}, "dict of .*'top'.*output='top"),
      (lambda x: (_net(x), x), "a tuple of the outputs 0, 1, .*output=0"),
      (lambda x: {}, "an empty dict, expected logits"),
    ),
  )
  def test_answers_that_do_not_fit(self, kind, case):
    function, words = case
    self._refused(words, function, kind)

  @parameterized.parameters(*_BOTH)
  def test_a_named_output(self, kind):
    for output, function in (
      ("logits", lambda x: {"features": x, "logits": _net(x)}),
      (1, lambda x: (x, _net(x))),
    ):
      model = _model(function, kind, output=output)
      self.assertEqual(model.apply(None, _IMAGES).shape, (5, 4))
      self._refused("output='other'", function, kind, output="other")
    self._refused("leave it out", _net, kind, output=0)

  @parameterized.product(kind=_BOTH, spec=(Spec, VideoSpec))
  def test_as_many_classes_as_are_answered(self, kind, spec):
    """Where the spec says nothing of them; `logits` is taken by its name."""
    usual = spec(input_px=8, resize_px=8)
    for count in (3, 4):
      function = lambda x: {
        "features": x,
        "logits": x.mean((1, 2, 3)[: x.ndim - 2]) @ _WEIGHTS[:, :count],
      }
      model = _model(function, kind, usual)
      self.assertEqual(model.spec.num_classes, count)
      self.assertEqual(model.spec.label_space, "custom")
    five = spec(input_px=8, resize_px=8, num_classes=5)
    self.assertEqual(_model(function, kind, five).spec, five)

  def test_lists_of_numbers(self):
    model = _model(lambda x: _net(x).tolist(), "on_host")
    np.testing.assert_allclose(
      model.apply(None, _IMAGES), _net(_IMAGES), rtol=1e-6
    )
    self._refused(
      "a list, which is no array", lambda x: [[1], [2, 3]], "on_host"
    )

  @parameterized.parameters(*_BOTH)
  def test_channels_that_come_first(self, kind):
    first = lambda x: x.mean((2, 3)) @ _WEIGHTS  # noqa: E731
    self._refused(".*It answers .* channels_first=True", first, kind)
    model = _model(first, kind, channels_first=True)
    self.assertEqual(model.apply(None, _IMAGES).shape, (5, 4))
    self._refused("channels_first=False", _net, kind, channels_first=True)

  def test_what_the_host_is_given(self):
    def net(x):
      if x.dtype != np.float32 or x.shape[1] != 3:
        raise RuntimeError("expected float channels")
      return x.mean((2, 3)) @ _WEIGHTS

    words = "float channels.* channels_first=True, preprocessed=True"
    self._refused(words, net, "on_host")

  def test_what_fails_in_any_way_raises_its_own_error(self):
    def broken(x):
      raise KeyError("weights")

    for kind in _BOTH:
      with self.assertRaisesRegex(KeyError, "weights"):
        _model(broken, kind).apply(None, _IMAGES)

  @parameterized.parameters(
    (lambda x: np.asarray(x).mean((1, 2)) @ _WEIGHTS,),
    (lambda x: _net(x) if x.mean() > 0 else _net(-x),),
    (lambda x: _net(x) * float(x.mean()),),
  )
  def test_what_jax_cannot_trace(self, function):
    model = _model(function, "callable")
    with self.assertRaisesRegex(
      errors.UserError, r"^mine cannot be traced.* adapters.get\('on_host'\)"
    ):
      jax.jit(model.apply)(None, _IMAGES)

  def test_keys_of_dropout_are_no_weights(self):
    net = nnx.Sequential(
      lambda x: x.mean((1, 2)),
      nnx.Dropout(0.5, rngs=nnx.Rngs(0)),
      nnx.Linear(3, 4, rngs=nnx.Rngs(0)),
    )
    net.eval()
    model = adapters.get("flax_module")(net, _SPEC)
    variables = model.init(jax.random.key(0))
    self.assertLen(jax.tree.leaves(variables), 2)
    self.assertEqual(jax.jit(model.apply)(variables, _IMAGES).shape, (5, 4))


_ROUTES_SPEC = Spec(
  input_px=8, resize_px=8, num_classes=4, label_space="custom"
)
_ROUTES_RNG = np.random.default_rng(0)
_ROUTES_IMAGES = _ROUTES_RNG.integers(0, 256, (3, 8, 8, 3), np.uint8)


class _Net(tf.Module):
  def __init__(self):
    super().__init__()
    self.kernel = tf.Variable(
      _ROUTES_RNG.standard_normal((3, 3, 3, 4), np.float32)
    )

  def __call__(self, x):
    y = tf.reduce_mean(tf.nn.conv2d(x, self.kernel, 1, "SAME"), (1, 2))
    return {"logits": y, "twice": 2 * y}


class RoutesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    pytest.importorskip("tf2jax", reason="the extra `savedmodel`")

  @parameterized.parameters("auto", "traced", "host")
  def test_agree(self, route):
    net = _Net()
    model = adapters.get("tfm")(net, _ROUTES_SPEC, route=route, output="twice")
    want = net(_ROUTES_SPEC.normalize_on_host(_ROUTES_IMAGES))["twice"].numpy()
    apply = model.apply if model.on_host else jax.jit(model.apply)
    np.testing.assert_allclose(
      apply(model.init(0), _ROUTES_IMAGES), want, atol=1e-5 * np.abs(want).max()
    )
    self.assertStartsWith(model.route, "host" if route == "host" else "traced")
    self.assertLen(jax.tree.leaves(model.variables), 1)

  def test_operators_that_jax_lacks(self):
    def net(x):
      pooled = tf.nn.avg_pool3d(x[:, None], 1, 1, "SAME")
      return tf.reduce_mean(pooled, (1, 2)) @ tf.ones((3, 4))

    pooled = lambda x: tf.reduce_mean(net(x), 1)
    model = adapters.get("tfm")(pooled, _ROUTES_SPEC)
    self.assertTrue(model.on_host)
    self.assertRegex(model.route, "^host: .*AvgPool3D")
    with self.assertRaisesRegex(errors.UserError, "AvgPool3D.*route='host'"):
      adapters.get("tfm")(pooled, _ROUTES_SPEC, route="traced")

  def test_refused(self):
    with self.assertRaisesRegex(errors.UserError, "Unknown route 'both'"):
      adapters.get("tfm")(_Net(), _ROUTES_SPEC, route="both")
    with self.assertRaisesRegex(errors.UserError, "got a int, expected"):
      adapters.get("tfm")(3, _ROUTES_SPEC)
