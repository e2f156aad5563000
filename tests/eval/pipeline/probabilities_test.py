"""Probabilities and scores in place of logits: what a run makes of them."""

import contextlib
import io
import pathlib
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized
from flax import nnx
from PIL import Image

from eval.pipeline import probabilities
from models import adapters
from models.spec import Spec
from robust_tfds import errors, evaluate, models

_WEIGHTS = np.random.default_rng(0).normal(size=(10, 10)).astype(np.float32)
_SPEC = Spec(num_classes=10, input_px=32, resize_px=36, label_space="custom")


def logits(images):
  """Of the mean level of each tenth of the rows of pixels."""
  parts = np.array_split(images.astype(np.float32).mean((2, 3)), 10, axis=1)
  return (np.stack([p.mean(1) for p in parts], 1) - 128) / 20 @ _WEIGHTS


def softmax(images):
  """The same net with a softmax at its end."""
  return np.asarray(jax.nn.softmax(logits(images)))


def half(images):
  """As of a network in half precision."""
  return softmax(images).astype(np.float16)


def sigmoid(images):
  """The same net with sigmoids at its end."""
  return 1 / (1 + np.exp(-logits(images)))


class _Linear(nnx.Module):
  """A linear layer on the pixels' sums."""

  def __init__(self, last):
    self.layer = nnx.Linear(3, 10, rngs=nnx.Rngs(0))
    self._last = last

  def __call__(self, pixels):
    return self._last(self.layer(pixels.mean((1, 2)) * 9))


class RunTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(cls.folder.cleanup)

  def _run(self, model, **options):
    options = {"conditions": "none", "limit": 32, "batch_size": 16, **options}
    options["data_dir"] = self.folder.name
    with contextlib.redirect_stdout(io.StringIO()) as printed:
      result = evaluate(model, "digits_c", **options)
    return result, printed.getvalue()

  def _numbers(self, model, **options):
    result, _ = self._run(model, **options)
    return {r.metric: r.value for r in result.table if r.config == "clean"}

  def _assert_same(self, one, two, places=5):
    self.assertEqual(one.keys(), two.keys())
    for metric, value in one.items():
      self.assertAlmostEqual(value, two[metric], places, metric)

  def test_a_softmax_has_the_table_of_its_logits(self):
    expected = self._numbers(logits)
    self.assertAlmostEqual(expected["nll"], 12.558, 3)
    self._assert_same(self._numbers(softmax), expected)
    result, printed = self._run(softmax)
    self.assertIn("softmax: outputs are probabilities (rows of the", printed)
    (note,) = result.workdir.glob("cells/*/*/*/*/*.json")
    self.assertIn('"outputs": "probabilities"', note.read_text())
    _, printed = self._run(logits)
    self.assertNotIn("outputs", printed)

  def test_half_precision(self):
    got, expected = self._numbers(half), self._numbers(logits)
    self.assertEqual(got["error"], expected["error"])
    self.assertAlmostEqual(got["brier"], expected["brier"], 2)

  def test_what_somebody_says(self):
    taken = self._numbers(softmax, outputs="logits")
    self.assertLess(taken["nll"], 3)  # a softmax over a softmax
    self._assert_same(
      self._numbers(softmax, outputs="probabilities"), self._numbers(logits)
    )
    spec = Spec(**{**vars(_SPEC), "outputs": "logits"})
    self._assert_same(
      self._numbers(adapters.get("on_host")(softmax, spec)), taken
    )
    with self.assertRaisesRegex(
      errors.UserError, "of the probe have outputs that are not"
    ):
      self._run(logits, outputs="probabilities")
    with self.assertRaisesRegex(errors.UserError, "one of .'auto', 'logits'"):
      self._run(logits, outputs="chances")

  @parameterized.parameters("callable", "flax_module")
  def test_traced_models(self, kind):
    def made(last):
      thing = _Linear(last)
      if kind == "callable":
        thing = lambda x: last(x.mean((1, 2)) @ _WEIGHTS[:3] * 9)  # noqa: E731
      return adapters.get(kind)(thing, _SPEC)

    expected = self._numbers(made(lambda x: x))
    self._assert_same(self._numbers(made(jax.nn.softmax)), expected)

  def test_torch(self):
    try:
      import torch
    except ImportError:
      self.skipTest("torch is not installed")
    net = torch.nn.Sequential(
      torch.nn.AvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(48, 10)
    )
    last = torch.nn.Sequential(net, torch.nn.Softmax(-1))
    got, expected = (
      self._numbers(adapters.get("torch")(module.eval(), _SPEC, name="net"))
      for module in (last, net)
    )
    self._assert_same(got, expected)

  def test_several_outputs_of_a_class_are_added(self):
    """Of a cat four outputs of .05 are less than one of .8: error 0 %, not 50."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    for name, level in (("dog", 200), ("cat", 30)):
      (folder / name).mkdir()
      for i in range(4):
        picture = np.full((32, 32, 3), level + i, np.uint8)
        Image.fromarray(picture).save(folder / name / f"{i}.png")

    def predict(images):
      bright = images.mean((1, 2, 3), keepdims=True)[:, :, 0, 0] > 128
      return np.where(bright, [[0.25] * 4 + [0]], [[0.05] * 4 + [0.8]])

    classes = {"dog": [0, 1, 2, 3], "cat": 4}
    with contextlib.redirect_stdout(io.StringIO()):
      result = evaluate(
        predict, f"folder:{folder}", classes=classes, conditions="none", size=32
      )
    self.assertEqual(result.summary["clean_error"], 0)
    (brier,) = (r.value for r in result.table if r.metric == "brier")
    self.assertAlmostEqual(brier, (0 + 2 * 0.2**2) / 2, 5)

  def test_sigmoids_have_an_error_and_no_calibration(self):
    result, printed = self._run(sigmoid, conditions="fog", severities=3)
    self.assertIn("sigmoid: outputs of the probe lie in [0, 1]", printed)
    numbers = {r.metric: r for r in result.table if r.config == "clean"}
    self.assertEqual(numbers["error"].value, self._numbers(logits)["error"])
    for metric in ("ece", "nll", "brier"):
      self.assertFalse(numbers[metric].has_value)
      self.assertIn("no calibration", numbers[metric].note)
    self.assertIn("no calibration", result.missing["mean_ece"])

  def test_percentages_are_refused(self):
    def percent(images):
      return 100 * softmax(images)

    with self.assertRaisesRegex(errors.UserError, "sum to 100 .* Divide them"):
      self._run(percent)
    taken, _ = self._run(percent, outputs="logits")
    expected = self._numbers(logits)["error"]
    self.assertEqual(taken.summary["clean_error"], expected)

  @parameterized.parameters(
    (softmax, "non-negative with a sum of 1"), (sigmoid, "between 0 and 1")
  )
  def test_rows_that_stop_being_so(self, function, words):
    def few(images):  # the probe's batches have four pictures
      return function(images) * (1 if len(images) < 5 else 3)

    with self.assertRaisesRegex(
      errors.UserError, f"few, clean: 16 examples, the first.*not {words}"
    ):
      self._run(few)


class KindTest(parameterized.TestCase):
  @parameterized.parameters(
    ([[0.2, 0.8], [1, 0]], "probabilities"),
    ([[0.2, 0.8009], [1, 0]], "probabilities"),
    ([[0.2, 0.803], [1, 0]], "scores"),
    ([[0.2, 0.9], [0, 0]], "scores"),
    ([[0.2, 0.9], [0, 2]], "logits"),
    ([[-0.2, 1.2], [1, 0]], "logits"),
    ([[0, 0], [0, 0]], "logits"),  # says nothing
  )
  def test_rows(self, rows, expected):
    kind = probabilities.kind_of("net", "auto", np.float32(rows))
    self.assertEqual(kind.name, expected)

  @parameterized.parameters(jnp.float16, jnp.bfloat16)
  def test_half_precision_has_a_hundredth(self, dtype):
    rows = np.float32([[0.25, 0.7568]]).astype(dtype).astype(np.float32)
    kind = probabilities.kind_of("net", "auto", rows)
    self.assertEqual(kind.name, "probabilities")

  def test_networks_of_the_catalogue_have_logits(self):
    stated = models.get("digits_cnn").spec.outputs
    kind = probabilities.kind_of("net", stated, None)
    self.assertEqual((kind.name, kind.notes), ("logits", []))
