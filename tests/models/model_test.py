"""Models: variables, files of weights, specifications."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models import adapters, multiply_adds, variables, weights_file
from models import model as model_lib
from models import variables as variables_lib
from models.detection.spec import DetectorSpec
from models.spec import Spec
from models.video.spec import VideoSpec
from robust_tfds import errors, models
from robust_tfds.building import geometry
from robust_tfds.storage import npz
from tests import in_folder
from tests.models import drawn, with_norms


class ModelTest(parameterized.TestCase):
  """The contract of models: pure functions, dtypes, refusals."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("digits_cnn")
    cls.variables = cls.model.init(jax.random.key(0))
    rng = np.random.default_rng(0)
    cls.images = rng.integers(0, 256, (5, 32, 32, 3), np.uint8)

  def test_init_is_a_function_of_the_key(self):
    again = jax.jit(self.model.init)(jax.random.key(0))
    other = self.model.init(jax.random.key(1))
    same = jax.tree.map(np.array_equal, self.variables, again)
    self.assertTrue(all(jax.tree.leaves(same)))
    kernel = self.variables["head"]["kernel"]
    self.assertFalse(np.array_equal(kernel, other["head"]["kernel"]))
    self.assertGreater(float(jnp.std(kernel)), 0)

  def test_uint8_is_preprocessed_as_the_spec_says(self):
    spec = dataclasses.replace(
      self.model.spec,
      channel_order="bgr",
      scale=1.0,
      mean=(1.0, 2.0, 3.0),
      std=(2.0, 4.0, 8.0),
    )
    model = dataclasses.replace(self.model, spec=spec)
    pixels = model.preprocess(np.full((1, 1, 1, 3), (30, 20, 10), np.uint8))
    np.testing.assert_allclose(pixels[0, 0, 0], [4.5, 4.5, 3.375])
    np.testing.assert_allclose(
      model.apply(self.variables, self.images),
      model.apply(self.variables, model.preprocess(self.images)),
      rtol=1e-6,
    )

  def test_with_fields(self):
    fields = {"mean": (0.1, 0.2, 0.3), "interpolation": "bicubic"}
    model = models.get("digits_linear+clahe").with_fields(fields)
    for spec in (model.spec, model.model.spec):
      self.assertEqual(spec.mean, (0.1, 0.2, 0.3))
      self.assertEqual(spec.interpolation, "bicubic")
    self.assertEndsWith(model.spec.source, " + clahe")
    with self.assertRaisesRegex(ValueError, "field of a Spec 'men'"):
      model.with_fields({"men": 3})

  def test_a_function_of_bytes_prepares_them_itself(self):
    spec = self.model.spec
    host = adapters.get("on_host")
    mine = host(lambda x: x, spec, preprocessed=True)
    self.assertEqual(mine.with_fields({"scale": 1}).spec.scale, 1)
    mine = host(lambda x: x, spec)
    with self.assertRaisesRegex(ValueError, "spec.scale would change nothing"):
      mine.with_fields({"scale": 1})
    self.assertEqual(mine.with_fields({"resize": "squash"}).name, "on_host")

  def test_jit_and_batch_size_do_not_matter(self):
    whole = self.model.apply(self.variables, self.images)
    self.assertEqual(whole.dtype, jnp.float32)
    self.assertEqual(whole.shape, (5, 10))
    one = jax.jit(self.model.apply)(self.variables, self.images[3:4])
    np.testing.assert_allclose(one, whole[3:4], atol=1e-5)

  @pytest.mark.slow
  def test_bfloat16_computes_near_float32(self):
    model = models.get("digits_cnn", dtype="bfloat16")
    got = model.apply(self.variables, self.images)
    want = self.model.apply(self.variables, self.images)
    self.assertEqual(got.dtype, jnp.float32)
    scale = float(jnp.abs(want).max())
    self.assertLess(float(jnp.abs(got - want).max()), 0.03 * scale)
    self.assertFalse(np.array_equal(got, want))

  def test_bfloat16_keeps_statistics_wide(self):
    model = models.get("resnet18", dtype="bfloat16")
    batch = np.random.default_rng(0).standard_normal((2, 32, 32, 3), np.float32)
    variables = drawn.variables(model)
    got = jax.jit(model.apply)(variables, batch)
    want = jax.jit(models.get("resnet18").apply)(variables, batch)
    self.assertEqual(got.dtype, jnp.float32)
    scale = float(jnp.abs(want).max())
    self.assertLess(float(jnp.abs(got - want).max()), 0.05 * scale)

  def test_gradients_reach_every_variable(self):
    def loss(variables):
      return self.model.apply(variables, self.images)[:, 0].sum()

    gradient = jax.jit(jax.grad(loss))(self.variables)
    for path, leaf in variables_lib.flatten(gradient).items():
      self.assertGreater(float(jnp.abs(leaf).max()), 0, path)


@dataclasses.dataclass(frozen=True)
class _OfAUser(model_lib.Model):
  """As somebody may write one, with weights in a field."""

  weights: np.ndarray

  def init(self, key):
    return self.weights

  def apply(self, variables, batch):
    return batch


class ReprTest(parameterized.TestCase):
  @parameterized.parameters("callable", "on_host", "", "user", "clahe")
  def test_a_line_without_weights(self, kind):
    spec = models.spec.Spec(num_classes=10, mean=np.zeros(3), std=np.ones(3))
    if kind == "user":
      model = _OfAUser("user", spec, np.zeros((99, 99)))
    elif kind in adapters.names():
      model = adapters.get(kind)(lambda x: x, spec)
      model = dataclasses.replace(model, variables=np.zeros((99, 99)))
    else:
      model = models.get("+".join(("digits_cnn", *filter(None, [kind]))))
    text = repr(model)
    self.assertLess(len(text), 80)
    self.assertNotIn("\n", text)
    expected = f"({model.name!r}, classification, 10 classes)"
    self.assertEqual(text, type(model).__name__ + expected)
    self.assertNotIn("\n", repr(spec))


class TrainingTest(absltest.TestCase):
  def test_who_can_be_trained(self):
    for name, trainable in (
      ("digits_cnn", True),
      ("tiny_r3d", True),
      ("tiny_retinanet", True),
      ("fasterrcnn_resnet50_fpn", True),
      ("digits_cnn+clahe", False),
    ):
      self.assertEqual(models.get(name).trainable, trainable, name)
    spec = models.get("digits_cnn").spec
    model = adapters.get("callable")(lambda x: x, spec)
    self.assertIsInstance(model, model_lib.Model)
    self.assertFalse(model.trainable)

  def test_a_step_moves_statistics_alone(self):
    model = with_norms.model()
    variables = drawn.variables(model)
    images = np.random.default_rng(0).integers(
      0, 256, (5, 32, 32, 3), dtype=np.uint8
    )
    logits, after = jax.jit(model.apply_train)(
      variables, images, jax.random.key(0)
    )
    self.assertEqual(jax.tree.structure(after), jax.tree.structure(variables))
    pixels = np.asarray(model.preprocess(images), np.float64).reshape(-1, 3)
    for name, value in (
      ("mean", pixels.mean(0)),
      ("var", pixels.var(0, ddof=1)),  # torch keeps the unbiased one
    ):
      want = 0.9 * variables["norm"][name] + 0.1 * value
      np.testing.assert_allclose(after["norm"][name], want, rtol=1e-5)
      after["norm"][name] = variables["norm"][name]
    jax.tree.map(np.testing.assert_array_equal, after, variables)
    spread = np.sqrt(pixels.var(0) + 1e-5)  # and normalises by the biased one
    normal = (pixels - pixels.mean(0)) / spread
    norm, inner = variables["norm"], variables["inner"]
    mean = (normal * norm["scale"] + norm["bias"]).reshape(5, -1, 3).mean(1)
    mean = mean + mean @ inner["kernel"] + inner["bias"]
    want = mean @ variables["head"]["kernel"] + variables["head"]["bias"]
    np.testing.assert_allclose(logits, want, atol=1e-5)

  def test_frozen_norms_are_those_of_evaluation(self):
    model = with_norms.model()
    variables = drawn.variables(model)
    batch = np.random.default_rng(0).standard_normal((5, 32, 32, 3), np.float32)
    logits, after = model.apply_train(
      variables, batch, jax.random.key(0), frozen_norms=True
    )
    np.testing.assert_array_equal(logits, model.apply(variables, batch))
    jax.tree.map(np.testing.assert_array_equal, after, variables)

  def test_what_is_given_is_not_written_over(self):
    """Outside of programs, too, where weights are NumPy's."""
    model = with_norms.model()
    variables, before = drawn.variables(model), drawn.variables(model)
    batch = np.random.default_rng(0).standard_normal((5, 32, 32, 3), np.float32)
    _, after = model.apply_train(variables, batch, jax.random.key(0))
    jax.tree.map(np.testing.assert_array_equal, variables, before)
    for name in ("mean", "var"):
      self.assertFalse(np.allclose(after["norm"][name], before["norm"][name]))

  def test_statistics_have_no_gradient(self):
    model = with_norms.model(0.5)
    variables = drawn.variables(model)
    batch = np.random.default_rng(0).standard_normal((5, 32, 32, 3), np.float32)

    def loss(variables, frozen):
      logits, _ = model.apply_train(
        variables, batch, jax.random.key(1), frozen_norms=frozen
      )
      return logits.var()

    for frozen in (False, True):
      flat = variables_lib.flatten(jax.grad(loss)(variables, frozen))
      zero = {path for path, value in flat.items() if not value.any()}
      self.assertEqual(zero, model.statistics(), frozen)

  def test_frozen_stages_are_as_in_evaluation(self):
    """Their statistics, draws and gradients; the rest trains."""
    model = with_norms.model(0.5)
    variables = drawn.variables(model)
    batch = np.random.default_rng(0).standard_normal((5, 32, 32, 3), np.float32)

    def loss(variables, model, stages):
      logits, after = model.apply_train(
        variables, batch, jax.random.key(1), frozen_stages=stages
      )
      return logits.var(), (logits, after)

    for stages in (1, 2):
      gradient, (logits, after) = jax.grad(loss, has_aux=True)(
        variables, model, stages
      )
      jax.tree.map(np.testing.assert_array_equal, after, variables)
      flat = variables_lib.flatten(gradient)
      zero = {path for path, value in flat.items() if not value.any()}
      frozen = model.statistics() | model.frozen_paths(stages=stages)
      self.assertEqual(zero, frozen)
    # Two stages leave one layer that draws.
    calm = with_norms.model()
    same = calm.apply(variables, batch)
    _, (want, _) = loss(variables, calm, 2)
    np.testing.assert_array_equal(want, same)
    self.assertFalse(np.allclose(logits, same))
    with self.assertRaisesRegex(ValueError, "with_norms: got 3 stages to"):
      loss(variables, model, 3)

  def test_draws_follow_the_key_alone(self):
    model = with_norms.model(0.5)
    variables = drawn.variables(model)
    batch = np.ones((6, 32, 32, 3), np.float32)

    def logits(key, rows=6):
      return np.asarray(
        model.apply_train(
          variables, batch[:rows], jax.random.key(key), frozen_norms=True
        )[0]
      )

    np.testing.assert_array_equal(logits(0), logits(0))
    self.assertFalse(np.array_equal(logits(0), logits(1)))
    np.testing.assert_allclose(logits(0, 2), logits(0)[:2], atol=1e-6)
    self.assertGreater(np.ptp(logits(0), axis=0).max(), 0)

  def test_no_train_mode(self):
    for name in ("digits_cnn+clahe", "digits_linear+ten_crop"):
      model = models.get(name)
      with self.assertRaisesRegex(ValueError, "no train mode: networks of"):
        model.apply_train({}, {}, jax.random.key(0))

  def test_a_key_that_is_none(self):
    model = with_norms.model()
    with self.assertRaisesRegex(ValueError, "apply_train got 'None', expected"):
      model.apply_train({}, np.ones((1, 32, 32, 3), np.uint8), None)


_NESTED = {"a": {"0": {"kernel": np.ones((2, 3))}, "1": np.zeros(1)}, "b": 4.0}
_EXPECTED = {("a", "kernel"): (2, 3), ("a", "bias"): (3,)}


class VariablesTest(parameterized.TestCase):
  """Nested dicts of arrays: there and back, and what is not a model's."""

  def test_there_and_back(self):
    flat = variables.flatten(_NESTED)
    self.assertEqual(set(flat), {("a", "0", "kernel"), ("a", "1"), ("b",)})
    self.assertIs(flat["a", "0", "kernel"], _NESTED["a"]["0"]["kernel"])
    self.assertEqual(variables.nest(flat), _NESTED)

  def test_places_of_lists_become_text(self):
    self.assertEqual(variables.nest({("a", 0, "b"): 1}), {"a": {"0": {"b": 1}}})
    self.assertEqual(variables.as_text(("a", 12)), ("a", "12"))

  def test_arrays_that_fit(self):
    for array in (np.zeros, jnp.zeros):
      arrays = {path: array(shape) for path, shape in _EXPECTED.items()}
      variables.check_shapes("x", _EXPECTED, arrays)

  @parameterized.parameters(
    ({("a", "bias"): np.zeros(2)}, r"fit x: at a/bias got \(2,\), expected"),
    ({("a", "bias"): None}, "at a/bias got nothing, expected .3,"),
    ({("c", "bias"): np.zeros(3)}, "it has no c/bias .1 arrays too many"),
  )
  def test_arrays_that_do_not(self, change, message):
    arrays = {path: np.zeros(shape) for path, shape in _EXPECTED.items()}
    arrays |= change
    arrays = {p: a for p, a in arrays.items() if a is not None}
    with self.assertRaisesRegex(ValueError, message):
      variables.check_shapes("x", _EXPECTED, arrays)


def _arrays(**changes):
  return {"a": {"kernel": np.arange(6.0).reshape(2, 3)}, **changes}


class DigestTest(parameterized.TestCase):
  """Weights as a file: read back to the last bit, or refused."""

  def test_where_arrays_lie_does_not_matter(self):
    on_device = {"a": {"kernel": jnp.arange(6, dtype=jnp.float32)}}
    on_host = {"a": {"kernel": np.arange(6, dtype=np.float32)}}
    self.assertEqual(
      weights_file.sha256(on_device), weights_file.sha256(on_host)
    )
    transposed = np.asfortranarray(_arrays()["a"]["kernel"])
    self.assertEqual(
      weights_file.sha256({"a": {"kernel": transposed}}),
      weights_file.sha256(_arrays()),
    )

  @parameterized.named_parameters(
    ("value", {"a": {"kernel": np.arange(1.0, 7).reshape(2, 3)}}),
    ("shape", {"a": {"kernel": np.arange(6.0).reshape(3, 2)}}),
    ("dtype", {"a": {"kernel": np.arange(6).reshape(2, 3)}}),
    ("name", {"a": {"bias": np.arange(6.0).reshape(2, 3)}}),
    ("more", _arrays(b=np.zeros(1))),
  )
  def test_everything_else_does(self, other):
    self.assertNotEqual(
      weights_file.sha256(other), weights_file.sha256(_arrays())
    )


class FileTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    variables = models.get("digits_linear").init(jax.random.key(0))
    self.variables = jax.tree.map(np.asarray, variables)
    self.sha256 = weights_file.sha256(self.variables)
    self.path = self.root / "a" / weights_file.FILE

  def test_to_the_last_bit(self):
    weights_file.write(self.path, self.variables)
    again = weights_file.read(self.path, self.sha256)
    jax.tree.map(np.testing.assert_array_equal, again, self.variables)
    first = self.path.read_bytes()
    weights_file.write(self.path, again)
    self.assertEqual(self.path.read_bytes(), first)

  def test_other_weights(self):
    weights_file.write(self.path, jax.tree.map(lambda x: x + 1, self.variables))
    with self.assertRaisesRegex(
      errors.UserError, "npz: these weights have the"
    ):
      weights_file.read(self.path, self.sha256)

  @parameterized.parameters(
    ({"a": np.zeros(1), "a/b": np.zeros(1)}, "these are no variables"),
    ({"/".join("a" * 33): np.zeros(1)}, "a path of 1 to 32 names, got 33"),
    ({"a//b": np.zeros(1)}, "a path of 1 to 32 names"),
    ({"a": np.array([1, np.nan])}, "expected finite numbers"),
    ({"a": np.array(["x"])}, "finite numbers, got <U1"),
    ({"a": np.ones(2, complex)}, "finite numbers, got complex128"),
  )
  def test_arrays_that_are_no_variables(self, arrays, message):
    self.path.parent.mkdir(parents=True)
    self.path.write_bytes(npz.archived(arrays))
    with self.assertRaisesRegex(errors.UserError, message):
      weights_file.read(self.path, self.sha256)


class SpecTest(parameterized.TestCase):
  """What specs say and refuse."""

  def test_all_kinds_are_found_where_people_look(self):
    self.assertIs(models.spec.DetectorSpec, DetectorSpec)
    self.assertIs(models.spec.VideoSpec, VideoSpec)
    with self.assertRaisesRegex(AttributeError, "no attribute 'PoseSpec'"):
      models.spec.PoseSpec  # noqa: B018

  @parameterized.parameters(
    ({"mean": (0.5, 0.5)}, "Got mean .* three finite numbers, one per channel"),
    ({"mean": "abc"}, "Got mean 'abc'"),
    ({"mean": (0.5, float("nan"), 0.5)}, "Got mean"),
    ({"std": (1, 0, 1)}, "std .1, 0, 1., expected .* a positive value"),
    ({"scale": 0}, "Got scale 0"),
    ({"num_classes": 1}, "Got num_classes=1"),
    ({"input_px": -1}, "Got input_px -1, expected a whole number of 1"),
    ({"input_px": True}, "Got input_px True"),
    ({"flexible": 1}, "Got flexible 1, expected True or False"),
    ({"weights": 3}, "Got weights 3, expected a text"),
    ({"parameters": 0.5}, "Got parameters 0.5, expected .* or None"),
    ({"resize_px": "256"}, "Got resize_px '256'"),
    ({"interpolation": "nearest"}, "Got interpolation 'nearest'"),
    ({"resize": "stretch"}, "Got resize 'stretch', expected one of"),
    ({"input_px": 299, "resize_px": 256}, "crop must lie inside"),
    ({"channel_order": "gbr"}, "Got channel_order 'gbr', expected one of"),
    ({"resize": "fraction", "crop_fraction": 0}, "Got crop_fraction 0"),
    ({"resize": "centre_fraction", "crop_fraction": 0}, "Got crop_fraction 0"),
  )
  def test_refuses_odd_values_by_name(self, fields, words):
    with self.assertRaisesRegex(errors.UserError, words):
      Spec(**fields)

  def test_refuses_odd_values_of_other_kinds(self):
    for make, words in (
      (lambda: VideoSpec(frames=0), "Got frames 0"),
      (lambda: VideoSpec(rate=1.5), "Got rate 1.5"),
      (lambda: DetectorSpec(channel_order="gbr"), "expected one of"),
      (lambda: DetectorSpec(short_px=900, long_px=800), "below the shorter"),
      (lambda: DetectorSpec(detections=0), "Got detections 0"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        make()

  def test_lists_and_arrays_become_tuples(self):
    spec = Spec(mean=[0, 0.5, 1], std=np.array([1.0, 2.0, 3.0]))
    self.assertEqual((spec.mean, spec.std), ((0, 0.5, 1), (1.0, 2.0, 3.0)))
    hash(spec)
    spec = Spec(input_px=np.int64(8), scale=1, flexible=np.bool_(False))
    self.assertEqual(repr((spec.input_px, spec.scale)), "(8, 1)")
    self.assertIs(spec.flexible, False)
    self.assertEqual(repr(Spec(scale=np.float32(0.5)).scale), "0.5")

  @parameterized.parameters(
    (Spec(), "short256_crop224"),
    (
      Spec(resize="squash", interpolation="bicubic"),
      "squash256_crop224_bicubic",
    ),
    (Spec(resize="fraction", crop_fraction=0.875), "fraction0.875_224"),
    (
      Spec(
        resize="centre_fraction",
        crop_fraction=240 / 272,
        input_px=240,
        interpolation="bicubic",
      ),
      "centre15of17_240_bicubic",
    ),
    (
      Spec(resize="centre_fraction", crop_fraction=0.123456789),
      "centre123456789of1000000000_224",
    ),
    (Spec(resize="centre_fraction"), "centre1of1_224"),
    (VideoSpec(), "short256_crop224"),
  )
  def test_geometry_is_a_name_of_the_datasets(self, spec, name):
    self.assertEqual(spec.geometry, name)
    self.assertEqual(geometry.shape(name), (spec.input_px, spec.input_px, 3))

  @parameterized.parameters(
    (Spec(), {"mean": [0.5, 0.5, 0.5], "interpolation": "bicubic"}),
    (Spec(), {"input_px": 288, "resize_px": 320, "weights": "timm"}),
    (VideoSpec(), {"frames": 16, "rate": 4}),
    (DetectorSpec(), {"short_px": 600, "long_px": 1000}),
  )
  def test_with_fields(self, spec, fields):
    changed = spec.with_fields(fields)
    for name, value in fields.items():
      self.assertEqual(
        getattr(changed, name),
        tuple(value) if isinstance(value, list) else value,
      )
    self.assertEqual(spec.with_fields({}), spec)
    self.assertIs(type(changed), type(spec))

  @parameterized.parameters(
    (Spec(input_px=112), "short128_crop112"),
    (Spec(input_px=32), "short37_crop32"),
    (Spec(input_px=112, resize="squash"), "squash128_crop112"),
    (VideoSpec(input_px=112), "short128_crop112"),
    (Spec(input_px=112, resize_px=256), "short256_crop112"),
    (Spec().with_fields({"input_px": 112}), "short128_crop112"),
    (Spec(resize_px=232).with_fields({"input_px": 112}), "short116_crop112"),
  )
  def test_resize_px_follows_input_px(self, spec, name):
    self.assertEqual(spec.geometry, name)

  def test_with_another_number_of_classes(self):
    spec = Spec(parameters=7, gflops=2.0).with_fields({"num_classes": 10})
    self.assertEqual((spec.num_classes, spec.label_space), (10, "custom"))
    self.assertEqual((spec.parameters, spec.gflops), (None, 2.0))
    other = Spec(gflops=2.0).with_fields({"input_px": 192})
    self.assertIsNone(other.gflops)  # counted at the published size

  @parameterized.parameters(
    (
      Spec(),
      {"meen": 1},
      "Unknown field of a Spec 'meen'. Did you mean 'mean'",
    ),
    (Spec(), {"kind": "video"}, "Unknown field of a Spec 'kind'"),
    (Spec(), {"input_px": 300, "resize_px": 256}, "Got resize_px 256, exp"),
    (Spec(flexible=False), {"input_px": 192}, "only pictures of 224 px"),
    (Spec(flexible=False), {"flexible": True}, "Got flexible True, and this"),
    (VideoSpec(any_length=False), {"frames": 9}, "clips of 8 frames alone"),
  )
  def test_fields_that_cannot_be(self, spec, fields, words):
    with self.assertRaisesRegex(errors.UserError, words):
      spec.with_fields(fields)

  def test_shapes_of_inputs(self):
    for spec, frames, axes, shape in (
      (Spec(), 0, 3, (2, 64, 64, 3)),
      (Spec(flexible=False), 0, 3, (2, 224, 224, 3)),
      (VideoSpec(frames=5), 5, 4, (2, 5, 224, 224, 3)),
      (DetectorSpec(), 0, 3, (2, 64, 64, 3)),
    ):
      self.assertEqual(spec.clip_frames, frames)
      self.assertEqual(spec.item_axes, axes)
      self.assertEqual(spec.batch_shape(2, 64), shape)
    with self.assertRaisesRegex(ValueError, "kind detection resizes its pic"):
      _ = DetectorSpec().geometry

  def test_every_spec_knows_its_preprocessing(self):
    for name in models.names():
      spec = models.get(name).spec
      self.assertTrue(spec.weights, name)
      if spec.kind not in multiply_adds.CANVAS_PX:
        self.assertRegex(spec.geometry, r"_crop|^centre", name)
