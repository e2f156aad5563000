"""Programs of a pass and what they predict."""

import concurrent.futures
import contextlib
import io
import os
import pathlib
import tempfile
import threading
import time
import types
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from flax import nnx
from PIL import Image

from eval.pipeline import (
  kept_traces,
  on_host,
  predict,
  probabilities,
  programs,
  relabel,
)
from eval.tasks import detection, video
from eval.tasks.parts import top_k
from models import adapters
from models.spec import Spec
from robust_tfds import (
  conditions,
  corruptions,
  devices,
  errors,
  evaluate,
  models,
)
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import plugins
from robust_tfds.corruptions.ops import jpeg
from tests.eval.pipeline import one_device


class _Step:
  """Counts how often it is traced."""

  def __init__(self, error: Exception | None = None, wait_s: float = 0.0):
    self._error, self._wait_s = error, wait_s
    self.traces = 0

  def __call__(self, scale: jax.Array, rows: jax.Array) -> jax.Array:
    self.traces += 1
    time.sleep(self._wait_s)
    if self._error:
      raise self._error
    return (rows.astype(jnp.float32) * scale).sum(axis=-1)


class ProgramTest(one_device.TestCase):
  """Programs: each compiled once, ahead or at its first use, in any thread."""

  def _program(self, step: _Step) -> programs.Program:
    return programs.Program(step, self.mesh, (jnp.float32(2),))

  def _rows(self, count: int = 3) -> jax.Array:
    rows = np.arange(count * 2, dtype=np.uint8).reshape(count, 2)
    return self.put(rows)

  def _shapes(self) -> jax.ShapeDtypeStruct:
    return self.shape(np.zeros((3, 2), np.uint8))

  def test_runs_and_compiles_once_a_shape(self):
    step = _Step()
    program = self._program(step)
    for _ in range(3):
      self.assertEqual(program(self._rows()).tolist(), [2, 10, 18])
    self.assertEqual(step.traces, 1)
    self.assertEqual(program(self._rows(1)).tolist(), [2])
    self.assertEqual(step.traces, 2)

  def test_shapes_give_shapes_and_compile_ahead(self):
    step = _Step()
    program = self._program(step)
    got = program(self._shapes())
    self.assertIsInstance(got, jax.ShapeDtypeStruct)
    self.assertEqual((got.shape, got.dtype), ((3,), np.float32))
    self.assertEqual(step.traces, 1)
    self.assertEqual(program(self._rows()).tolist(), [2, 10, 18])
    self.assertEqual(program(self._shapes()).shape, (3,))
    self.assertEqual(step.traces, 1)

  def test_a_chain_is_compiled_by_its_shapes(self):
    first, second = _Step(), _Step()
    one = programs.Program(lambda x: x[:, None] * x[:, None], self.mesh)
    last = self._program(second)
    chain = self._program(first)
    self.assertEqual(last(one(chain(self._shapes()))).shape, (3,))
    self.assertEqual(
      last(one(chain(self._rows()))).tolist(), [8.0, 200.0, 648.0]
    )
    self.assertEqual((first.traces, second.traces), (1, 1))

  @parameterized.parameters(0, 1)
  def test_threads_that_ask_at_once_compile_once(self, first_is_array):
    for _ in range(5):
      step = _Step(wait_s=0.01)
      program, start = self._program(step), threading.Barrier(8)

      def ask(i: int, program=program, start=start):
        start.wait()
        whole = i % 2 == first_is_array
        return program(self._rows() if whole else self._shapes())

      with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(ask, range(8)))
      self.assertEqual(step.traces, 1)
      for array in got[first_is_array::2]:
        self.assertEqual(array.tolist(), [2, 10, 18])

  def test_an_error_ahead_is_raised_at_the_use(self):
    program = self._program(_Step(ValueError("no such shape")))
    for rows in (self._shapes(), self._rows(), self._rows(), self._shapes()):
      with self.assertRaisesRegex(ValueError, "no such shape"):
        program(rows)

  def test_an_error_of_the_compiler_is_raised_at_the_use(self):
    step = _Step()
    program = self._program(step)
    broken = mock.patch.object(
      jax.stages.Lowered, "compile", side_effect=ZeroDivisionError
    )
    with broken:
      program(self._shapes())
      with self.assertRaises(ZeroDivisionError):
        program(self._rows())
    self.assertEqual(program(self._rows(1)).tolist(), [2])

  def test_two_threads_never_trace_at_once(self):
    inside, most = [], []

    def program(number: int) -> programs.Program:
      def step(rows: jax.Array) -> jax.Array:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()
        return rows + number

      return programs.Program(step, self.mesh)

    several = [program(i) for i in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
      list(pool.map(lambda p: p(self._shapes()), several))
    self.assertEqual(most, [1] * 4)


class CachedTest(absltest.TestCase):
  def test_threads_that_ask_at_once_get_the_same(self):
    made = []

    @programs.cached
    def make(name: str) -> object:
      """Says what it does."""
      time.sleep(0.01)
      made.append(name)
      return object()

    start = threading.Barrier(8)

    def ask(name: str) -> object:
      start.wait()
      return make(name)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
      got = list(pool.map(ask, "abababab"))
    self.assertCountEqual(made, ["a", "b"])
    self.assertLen(set(map(id, got)), 2)
    self.assertEqual(make.__doc__, "Says what it does.")


_CLEAN = conditions.Condition()


class _Model:
  """Mean levels as logits."""

  spec = types.SimpleNamespace(item_axes=3)
  traces = 0

  def apply(self, variables, images):
    type(self).traces += 1
    mean = images.astype(jnp.float32).mean((1, 2))
    return mean * variables["scale"]


class PredictorTest(one_device.TestCase):
  """The device side: one program a reduction, NaN seen, codecs, clean pixels."""

  def setUp(self):
    super().setUp()
    self.variables = {"scale": np.float32(2)}
    self.labels = self.put(np.array([5, -1], np.int32))

  def _outputs(self, predictor, images) -> dict[str, np.ndarray]:
    return predictor(self.put(images), self.labels, one_device.whole).fetch()

  def test_of_shapes_it_is_compiled_ahead_and_once(self):
    predictor = predict.Predictor(_Model(), self.variables, self.mesh)
    before = _Model.traces
    images = one_device.pixels(2, 4, 5, 3)
    shapes = self.shape(images), self.shape(self.labels)
    predictor(*shapes, one_device.whole)
    for _ in range(3):
      self.assertEqual(_Model.traces, before + 1)
      self._outputs(predictor, images)

  def test_logits_that_are_not_finite(self):
    variables = {"scale": np.array([1, np.nan, 1], np.float32)}
    predictor = predict.Predictor(_Model(), variables, self.mesh)
    got = self._outputs(predictor, one_device.pixels(2, 4, 5, 3))
    self.assertEqual(got["finite"].tolist(), [False, False])


class TransformTest(one_device.TestCase):
  def setUp(self):
    super().setUp()
    self.images = one_device.pixels(2, 32, 32, 3)
    self.batch = self.put(self.images)

  def _through(self, transform, condition=_CLEAN) -> np.ndarray:
    keys = condition.keys(0, "digits_c", ["a", "b"])
    return np.asarray(transform(self.batch, None, condition, keys))

  def test_clean_passes(self):
    for transform in (
      predict.corruptor(self.mesh, "cifar10", "raw"),
      predict.canvas_corruptor(self.mesh, "any"),
    ):
      np.testing.assert_array_equal(self._through(transform), self.images)

  def test_clean_passes_through_the_codec(self):
    transform = predict.corruptor(self.mesh, "cifar10", "jpeg85")
    want = jax.jit(lambda x: jpeg.roundtrip_batch(x, 85))(self.images)
    got = self._through(transform)
    np.testing.assert_array_equal(got, want)
    self.assertTrue((got != self.images).any())

  def test_corrupted_as_the_library_does(self):
    condition = conditions.Condition("gaussian_noise", 3)
    transform = predict.corruptor(self.mesh, "cifar10", "raw")
    want = [
      corruptions.corrupt(
        image,
        condition.name,
        condition.level,
        edition="cifar10",
        key=condition.key(0, "digits_c", name),
      )
      for image, name in zip(self.images, "ab")
    ]
    np.testing.assert_array_equal(self._through(transform, condition), want)


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
  """Probabilities and scores in place of logits: what a run makes of them."""

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


_NEVER = -float("inf")
# Outputs: class 3, none, class 0, class 1; nothing is class 2 or 4.
_PART = relabel.Relabelling((3, -1, 0, 1), 5)


class RelabellingTest(absltest.TestCase):
  """Outputs in the order of the data set's classes."""

  def test_logits(self):
    got = _PART.logits(jnp.array([[1.0, 2.0, 3.0, 4.0]]))
    self.assertEqual(got.tolist(), [[3.0, 4.0, _NEVER, 1.0, _NEVER]])
    self.assertEqual(_PART.without_output, 2)
    self.assertEqual(
      _PART.words("abcde"),
      "3 of 4 outputs are classes of the data set; 2 of its 5 classes have none:"
      " c, e",
    )
    self.assertEqual(relabel.Relabelling((1, 0), 2).without_output, 0)

  def test_several_outputs_are_one_class(self):
    several = relabel.Relabelling((1, 0, -1, 1), 3)
    logits = np.array([[[1.0, 2.0, 9.0, 400.0], [3.0, 2.0, 9.0, 3.0]]])
    got = np.asarray(several.logits(logits))
    expected = [[2, 400, _NEVER], [2, 3 + np.log(2), _NEVER]]
    np.testing.assert_allclose(got, [expected], rtol=1e-6)
    self.assertStartsWith(several.words(), "3 of 4 outputs are classes")

  @pytest.mark.slow
  def test_never_answered(self):
    logits = jax.random.normal(jax.random.key(0), (6, 4))
    top5 = np.asarray(top_k.best(_PART(logits))["top5"])
    self.assertEqual(set(top5[:, :3].ravel().tolist()), {0, 1, 3})
    self.assertTrue((top5[:, 3:] == -1).all())
    views = jnp.stack([logits, -logits], axis=1)
    labels = jnp.zeros(len(views), jnp.int32)
    top5 = np.asarray(video.reduce(_PART(views), labels)["top5"])
    self.assertTrue((top5[:, :3] >= 0).all() and (top5[:, 3:] == -1).all())

  def test_detections(self):
    outputs = {
      "boxes": jnp.zeros((1, 5, 4)),
      "scores": jnp.array([[0.9, 0.8, 0.7, 0.6, 0.5]]),
      "classes": jnp.array([[0, 1, 2, 3, 9]]),
      "valid": jnp.array([[True, True, True, False, True]]),
    }
    reduced = detection.reduce(_PART(outputs), jnp.array([-1]))
    # The second is none, the fourth was none; the fifth is refused later on.
    self.assertEqual(reduced["classes"].tolist(), [[3, 0, 9, -1, -1]])
    np.testing.assert_allclose(reduced["scores"], [[0.9, 0.7, 0.5, 0, 0]])


class RelabelPredictorTest(absltest.TestCase):
  def test_on_devices_and_on_the_host(self):
    spec = models.get("digits_linear", 4).spec
    mesh = devices.mesh()
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (2 * mesh.size, 32, 32, 3), np.uint8)
    labels = rng.integers(0, 4, len(pictures), np.int32)
    kinds = {
      "callable": lambda x: 9 * x[:, 0, :4, 0],
      "on_host": lambda x: 9 * spec.normalize_on_host(x)[:, 0, :4, 0],
    }
    expected = top_k.reduce(_PART(kinds["on_host"](pictures)), labels)
    for kind, function in kinds.items():
      model = adapters.get(kind)(function, spec)
      inner = on_host.predictor(model, model.init(None), mesh)
      predict = relabel.Predictor(inner, _PART.reducing)
      batch = devices.put_batch(pictures, mesh)
      true = devices.put_batch(labels, mesh)
      got = predict(batch, true, top_k.reduce).fetch()
      np.testing.assert_array_equal(got["top5"], expected["top5"])
      np.testing.assert_allclose(got["nll"], expected["nll"], rtol=1e-5)
      np.testing.assert_allclose(got["brier"], expected["brier"], rtol=1e-5)
      self.assertTrue(got["finite"].all())  # of the model's own logits


_ROWS = np.arange(6, dtype=np.uint8).reshape(3, 2)


class KeptTracesTest(one_device.TestCase):
  """Traced steps that a later run need not trace, and those that it must."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(
      self.enter_context(tempfile.TemporaryDirectory())
    )
    self.enter_context(mock.patch.object(kept_traces, "_places", []))
    kept_traces.keep_in(self.folder, "this code")
    self.traces = 0

  def _run(self, name: str = "a step", rows: np.ndarray = _ROWS) -> list:
    """As another process: a program of its own."""

    def step(rows: jax.Array) -> jax.Array:
      self.traces += 1
      return rows.astype(np.float32).sum(axis=1) / 3

    program = programs.Program(step, self.mesh, name=name)
    shapes, got = program(self.shape(rows)), program(self.put(rows))
    self.assertEqual((shapes.shape, shapes.dtype), (got.shape, got.dtype))
    self.assertTrue(shapes.sharding.is_equivalent_to(got.sharding, 1))
    return np.asarray(got).tolist()

  def test_the_second_run_traces_nothing(self):
    first = self._run()
    self.assertEqual((self._run(), self.traces), (first, 1))
    self.assertLen(list(self.folder.iterdir()), 1)

  @parameterized.parameters("name", "shapes", "code", "no name", "nowhere")
  def test_what_is_traced_anew(self, what):
    self._run()
    if what == "code":
      kept_traces.keep_in(self.folder, "other code")
    if what == "nowhere":
      kept_traces._places.clear()
    rows = _ROWS[:2] if what == "shapes" else _ROWS
    self._run({"name": "another", "no name": ""}.get(what, "a step"), rows)
    self.assertEqual(self.traces, 2)
    kept = 1 if what in ("no name", "nowhere") else 2
    self.assertLen(list(self.folder.iterdir()), kept)

  @parameterized.parameters(
    lambda data: b"", lambda data: data[:-1] + b"?", lambda data: b"cos\nsystem"
  )
  def test_files_that_are_not_what_was_written_are_removed(self, changed):
    first = self._run()
    (file,) = self.folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(changed(whole))
    self.assertEqual((self._run(), self.traces), (first, 2))
    (file,) = self.folder.iterdir()
    self.assertEqual(file.read_bytes()[:8], whole[:8])
    self.assertEqual((self._run(), self.traces), (first, 2))

  def test_a_folder_that_cannot_be_written(self):
    kept_traces.keep_in(self.folder / "gone", "this code")
    self.assertEqual(self._run(), self._run())
    self.assertEqual(self.traces, 2)

  def test_the_oldest_go(self):
    self.enter_context(mock.patch.object(kept_traces, "_MAX_FILES", 2))
    for second, name in enumerate("abc"):
      self._run(name)
      for file in self.folder.iterdir():
        if file.stat().st_mtime > 1000:
          os.utime(file, (second, second))
    self._run("a")
    self.assertEqual(self.traces, 4)

  def test_an_error_is_raised_at_the_use_and_not_kept(self):
    program = programs.Program(lambda x: x @ x, self.mesh, name="wrong")
    with self.assertRaisesRegex(TypeError, "dot_general"):
      program(self.put(_ROWS))
    self.assertEmpty(list(self.folder.iterdir()))

  def test_a_corruption_of_a_second_run(self):
    images = one_device.pixels(2, 32, 32, 3)
    keys = np.zeros((2, 2), np.uint32)
    condition = Condition("brightness", 3)
    got = []
    forgotten = predict._corrupt_step.__wrapped__
    self.enter_context(mock.patch.object(predict, "_corrupt_step", forgotten))
    for _ in range(2):
      with mock.patch.object(
        corruptions, "corrupt_batch", wraps=corruptions.corrupt_batch
      ) as traced:
        see = predict.corruptor(self.mesh, "cifar10", "raw")
        got.append(np.asarray(see(self.put(images), None, condition, keys)))
      self.assertEqual(traced.call_count, 1 - len(got) // 2)
    want = corruptions.corrupt_batch(
      images, "brightness", 3, edition="cifar10", keys=keys
    )
    for each in got:
      np.testing.assert_array_equal(each, want)

  def test_what_a_users_files_decide_is_not_kept(self):
    alone = [n for n in corruptions.names("all") if plugins.is_code_alone(n)]
    self.assertEqual({*corruptions.names("all")} - {*alone}, {"frost"})
    with mock.patch.object(
      plugins.own_corruptions, "sha256", return_value="of a file"
    ):
      self.assertFalse(plugins.is_code_alone("fog"))
