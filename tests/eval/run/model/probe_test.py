"""The probe: its pictures, randomness of every kind, answers that are refused."""

import time
import types

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized
from flax import nnx

from eval.run.model import probe
from models import adapters
from models.detection.detector import DetectorSpec
from models.video.spec import VideoSpec
from robust_tfds import errors, models

SPEC = models.get("digits_cnn").spec
_BOXES = DetectorSpec(num_classes=2, short_px=0, label_space="custom")
_WEIGHTS = np.random.default_rng(0).normal(size=(3072, 10)).astype(np.float32)


def _linear(x):
  return x.reshape(len(x), -1) @ _WEIGHTS


def _on_host(function):
  shape = lambda x: jax.ShapeDtypeStruct((len(x), 10), jnp.float32)  # noqa: E731
  return lambda x: jax.pure_callback(function, shape(x), x)


def _noisy_host(x):
  rng = np.random.default_rng(time.perf_counter_ns())
  return np.float32(_linear(np.asarray(x)) + 9 * rng.normal(size=10))


def _fails(x):
  raise RuntimeError("the service is gone")


def _clean(*shape):
  picture = np.zeros((20, 30, 3), np.uint8)
  examples = [{"image": picture + i} for i in range(6)]
  return types.SimpleNamespace(shape=shape, metadata=lambda _: iter(examples))


def _answers(model, *clean, variables=None):
  rows = probe.batch(model, _clean(*clean or (32, 32, 3)), 224)
  return probe.answers("mine", model, variables, rows)


def _ask(function, kind="callable", **options):
  return _answers(adapters.get(kind)(function, SPEC, **options))


class BatchTest(parameterized.TestCase):
  @parameterized.parameters(
    ("digits_cnn", (32, 32, 3), (4, 32, 32, 3)),
    ("resnet18", (64, 48, 3), (4, 64, 48, 3)),
    ("resnet18", (None, None, 3), (4, 224, 224, 3)),
    ("tiny_r3d", (None, 90, 120, 3), (4, 8, 32, 32, 3)),
  )
  def test_shapes(self, name, clean, shape):
    (rows,) = probe.batch(models.get(name), _clean(*clean), 224)
    self.assertEqual((rows.shape, rows.dtype), (shape, np.uint8))
    (again,) = probe.batch(models.get(name), _clean(*clean), 224)
    np.testing.assert_array_equal(rows, again)
    self.assertGreater(rows.reshape(4, -1).std(axis=1).min(), 10)

  def test_detectors_see_the_first_pictures(self):
    model = models.get("tiny_retinanet")
    images, sizes = probe.batch(model, _clean(None, None, 3), 224)
    self.assertEqual(images.shape, (4, 32, 32, 3))
    self.assertEqual(images[:, 0, 0, 0].tolist(), [0, 1, 2, 3])
    self.assertEqual(sizes.tolist(), [[20, 30]] * 4)


class AnswersTest(parameterized.TestCase):
  def test_logits(self):
    answers, random = _ask(_linear)
    self.assertFalse(random)
    (rows,) = probe.batch(models.get("digits_cnn"), _clean(32, 32, 3), 0)
    want = _linear(np.asarray(SPEC.normalize(rows)))
    # Sums of 3,072 terms, in an order that the machine chooses.
    np.testing.assert_allclose(
      answers["logits"], want, atol=1e-5 * np.abs(want).max()
    )

  @parameterized.named_parameters(
    ("at_tracing", lambda x: _linear(x) + np.random.normal(size=10) * 9),
    (
      "a_scalar_at_tracing",
      lambda x: _linear(x) * (1 + np.random.uniform(0.5, 9)),
    ),
    (
      "a_key_of_the_time",
      lambda x: (
        _linear(x)
        + 9 * jax.random.normal(jax.random.key(time.time_ns() % 65521), (10,))
      ),
    ),
    ("on_the_host", _on_host(_noisy_host)),
  )
  def test_random_models(self, function):
    self.assertTrue(_ask(function)[1])

  @parameterized.named_parameters(
    ("nan", lambda x: _linear(x) * jnp.nan, "40 of 40 are NaN or infinite"),
    ("classes", lambda x: _linear(x)[:, :7], r"shape \(4, 7\), expected"),
    ("error", lambda x: x.reshape(5, 5), "TypeError: cannot reshape.*line"),
    ("host_error", _on_host(_fails), "RuntimeError: the service is gone"),
  )
  def test_refusals(self, function, words):
    with self.assertRaisesRegex(errors.UserError, f"(mine|callable) .*{words}"):
      _ask(function)

  @parameterized.named_parameters(
    ("mean_of_the_batch", lambda x: _linear(x - x.mean(0)), "without the oth"),
    ("softmax_over_it", lambda x: jax.nn.softmax(_linear(x), 0), "without the"),
    (
      "unless_alone",
      lambda x: _linear(x - x.mean(0) if len(x) > 1 else x),
      "without the others: its logits differ",
    ),
    (
      "its_place",
      lambda x: _linear(x) * jnp.arange(1.0, 1 + len(x))[:, None],
      "answers otherwise to the same inputs reordered",
    ),
    (
      "four_at_once",
      lambda x: x.reshape(4, -1) @ _WEIGHTS,
      "callable: TypeError: cannot reshape|fails on a batch of 1, .*rows=",
    ),
    (
      "squeezed",
      lambda x: _linear(x).squeeze(),
      r"shape \(10,\), expected \(1, 10\): keep the axis of the batch",
    ),
  )
  def test_what_depends_on_the_batch(self, function, words):
    for kind in ("callable", "on_host"):
      with self.assertRaisesRegex(errors.UserError, f"mine.*({words})"):
        _ask(function, kind)

  def test_another_rounding_alone_is_none(self):
    def rounded(x):
      return _linear(x) * (1 + 4e-3 * (len(x) == 1))

    self.assertFalse(_ask(rounded, "on_host")[1])
    with self.assertRaisesRegex(errors.UserError, "without the others"):
      _ask(lambda x: _linear(x) / len(x), "on_host")

  @parameterized.parameters("callable", "on_host")
  def test_a_fixed_batch_is_padded(self, kind):
    function = lambda x: x.reshape(6, -1) @ _WEIGHTS  # noqa: E731
    self.assertFalse(_ask(function, kind, rows=6)[1])
    with self.assertRaisesRegex(errors.UserError, "answers otherwise"):
      _ask(lambda x: function(x - x.mean(0)), kind, rows=6)

  def test_on_the_host(self):
    answers, random = _ask(_linear, "on_host")
    self.assertFalse(random)
    (rows,) = probe.batch(models.get("digits_cnn"), _clean(32, 32, 3), 0)
    np.testing.assert_array_equal(answers["logits"], _linear(rows))
    noisy = lambda x: _linear(x) + np.random.rand(10) * 1e5  # noqa: E731
    self.assertTrue(_ask(noisy, "on_host")[1])

  @parameterized.parameters("callable", "on_host")
  def test_clips(self, kind):
    spec = VideoSpec(input_px=8, resize_px=8, frames=2, num_classes=3)

    def ask(function):
      return _answers(adapters.get(kind)(function, spec), None, 90, 120, 3)

    self.assertFalse(ask(lambda x: x.mean((1, 2, 3)) + 0.0)[1])
    with self.assertRaisesRegex(errors.UserError, "without the others"):
      ask(lambda x: (x - x.mean(0)).mean((1, 2, 3)))

  def test_a_module_in_train_mode(self):
    class Net(nnx.Module):
      def __init__(self, rngs):
        self.head = nnx.Linear(3, 10, rngs=rngs)
        self.use_running_average = False

      def __call__(self, x):  # a norm of one's own: no layer tells its mode
        x = x if self.use_running_average else x - x.mean(0)
        return self.head(x.max((1, 2)))

    net = Net(nnx.Rngs(0))

    def ask():
      model = adapters.get("flax_module")(net, SPEC)
      return _answers(model, variables=model.init(jax.random.key(0)))

    with self.assertRaisesRegex(
      errors.UserError, r"train mode.* `module.eval\(\)`"
    ):
      ask()
    net.eval()
    self.assertFalse(ask()[1])

  def _detect(self, **change):
    def predict(picture):
      h, w = picture.shape[:2]
      boxes = {"boxes": [[0, 0, w, h]], "scores": [0.5], "classes": [1]}
      return {**boxes, **change}

    model = adapters.get("on_host")(predict, _BOXES, name="mine")
    return _answers(model, None, None, 3)

  def test_detectors(self):
    answers, random = self._detect()
    self.assertFalse(random)
    self.assertEqual(answers["valid"].sum(axis=1).tolist(), [1] * 4)

  @parameterized.parameters(
    ({"classes": [2]}, "gave classes 2..2, expected 0..1"),
    ({"classes": [0.5]}, "gave classes 0.5 for a picture, expected whole"),
    ({"scores": [np.nan]}, "scores for a picture with NaN"),
    ({"boxes": [[0, 0], [1, 1]]}, r"gave boxes of int64 \[2, 2\]"),
    ({"scores": [0.5, 0.2]}, "gave 1 boxes, 2 scores"),
    ({"scores": ["high"]}, "gave scores of <U4"),
  )
  def test_wrong_detections(self, change, words):
    with self.assertRaisesRegex(errors.UserError, words):
      self._detect(**change)

  def test_detectors_that_depend_on_the_batch(self):
    def traced(images, sizes):
      shape = (len(images), 3)
      levels = images.mean((1, 2, 3), dtype=jnp.float32)
      return {
        "boxes": jnp.zeros((*shape, 4)),
        "scores": jnp.broadcast_to((levels / levels.sum())[:, None], shape),
        "classes": jnp.zeros(shape, int),
        "valid": jnp.ones(shape, bool),
      }

    calls = []

    def on_host(picture):
      calls.append(picture)
      score = 0.5 if len(calls) < 9 else 0.25  # it remembers: otherwise later
      return {"boxes": [[0, 0, 1, 1]], "scores": [score], "classes": [1]}

    for kind, function, words in (
      ("callable", traced, "to an input without the others"),
      ("on_host", on_host, "after it was shown others"),
    ):
      model = adapters.get(kind)(function, _BOXES, name="mine")
      with self.assertRaisesRegex(
        errors.UserError, f"{words}: of picture 1, a detection of class"
      ):
        _answers(model, None, None, 3)

  def test_traced_detectors_of_classes_out_of_range(self):
    def predict(images, sizes):
      shape = (len(images), 3)
      return {
        "boxes": jnp.zeros((*shape, 4)),
        "scores": jnp.full(shape, 0.5),
        "classes": jnp.full(shape, -1),
        "valid": jnp.ones(shape, bool),
      }

    with self.assertRaisesRegex(
      errors.UserError, "classes -1..-1 on the set's"
    ):
      _answers(adapters.get("callable")(predict, _BOXES), None, None, 3)
