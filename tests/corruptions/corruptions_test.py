"""Corruptions in general: batches, plugins, seeds, specs."""

import dataclasses
import importlib
import inspect
import multiprocessing
import sys
import types
import unittest
import warnings
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds import conditions, corruptions, errors, own_corruptions
from robust_tfds.corruptions import batching, plugins, seeding, spec, trial
from robust_tfds.corruptions.ops import layout


class CorruptionsTest(absltest.TestCase):
  """The package's front: names in the paper's order, and what it offers."""

  def test_names(self):
    common, extra = (corruptions.names(b) for b in ("common", "extra"))
    self.assertEqual([len(common), len(extra)], [15, 4])
    self.assertEqual(corruptions.names(), common)
    self.assertEqual(corruptions.names("all"), common + extra)
    own = corruptions.names("own")  # of whoever added them
    bar = {*corruptions.names("c_bar"), *corruptions.names("c_bar_cifar")}
    known = conditions.PICTURES.known_names
    self.assertEqual(known[:19], common + extra)
    self.assertCountEqual(known[19:], [*bar, *own])
    self.assertEqual(common[0], "gaussian_noise")
    with self.assertRaisesRegex(ValueError, "Did you mean 'common'"):
      corruptions.names("comon")

  def test_it_offers_what_it_lists(self):
    for name in corruptions.__all__:
      self.assertTrue(callable(vars(corruptions)[name]), name)


class ImagesTest(parameterized.TestCase):
  """Which batches of pictures are refused, and grey ones."""

  @parameterized.parameters(
    (np.zeros((32, 32, 3), np.float32), "must be uint8"),
    (np.zeros((32, 32, 3), np.uint16), "x >> 8"),
    (np.zeros((32, 32, 4), np.uint8), r"an alpha channel.*\[..., :3\]"),
    (np.zeros((32, 32, 2), np.uint8), r"an alpha channel.*\[..., :1\]"),
    (np.zeros((32, 32, 3), bool), "must be uint8"),
    (np.zeros((32, 32, 3), np.int64), "must be uint8"),
    (np.zeros(32, np.uint8), r"\[H, W, 3\]"),
    (np.zeros((3, 32, 32), np.uint8), r"channels first.*\(1, 2, 0\)"),
    (np.zeros((2, 3, 32, 32), np.uint8), r"channels first.*\(0, 2, 3, 1\)"),
    (np.zeros((2, 32, 32, 3), np.uint8), "a batch. Use corruptions.corrupt_b"),
    (np.zeros((32, 32, 5), np.uint8), r"got shape \[32, 32, 5\]\.$"),
    (np.zeros((0, 32, 3), np.uint8), "Empty image"),
    (np.zeros((2, 32, 32, 3), np.uint8), r"\[H, W, 3\]"),
  )
  def test_refused(self, image, message):
    with self.assertRaisesRegex(errors.UserError, message):
      batching.three_channels(image)

  @parameterized.parameters(
    ((2, 3, 32, 32), r"channels first.*\(0, 2, 3, 1\)"),
    ((32, 32, 3), r"one picture.*images\[None\]"),
    ((2, 32, 32), r"grey ones.*images\[..., None\]"),
    ((2, 32, 32, 4), "an alpha channel"),
  )
  def test_refused_as_batches(self, shape, message):
    with self.assertRaisesRegex(errors.UserError, message):
      batching.three_channels(np.zeros(shape, np.uint8), batch=True)

  @parameterized.parameters(np.asarray, jnp.asarray, np.ndarray.tolist)
  def test_grey_has_three_equal_channels(self, form):
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3)
    if form is np.ndarray.tolist:
      with self.assertRaisesRegex(errors.UserError, "must be uint8"):
        batching.three_channels(form(grey))
      return
    colour = batching.three_channels(form(grey))
    np.testing.assert_array_equal(colour, np.stack([grey] * 3, axis=-1))
    self.assertEqual(isinstance(colour, jax.Array), form is jnp.asarray)


class KeysAndSizesTest(absltest.TestCase):
  def test_keys(self):
    with self.assertRaisesRegex(errors.UserError, "One key per image"):
      batching.checked_keys(np.zeros((2, 2), np.uint32), 1)
    with self.assertRaisesRegex(errors.UserError, "example_key"):
      batching.checked_keys(np.zeros((2, 2)), 2)

  def test_sizes(self):
    canvases = (2, 8, 9, 3)
    self.assertIsNone(batching.checked_sizes(None, canvases))
    for sizes in (
      [(3, 4)],
      [(3.0, 4.0)] * 2,
      [("3", "4")] * 2,
      [(True, True)] * 2,
      [(np.nan, 4)] * 2,
      [(3, 4, 3)] * 2,
      [3, 4, 3, 4],
      "x",
      32,
    ):
      sizes = np.array(sizes)
      message = r"sizes must be integers \[2, 2\]"
      with self.assertRaisesRegex(errors.UserError, message):
        batching.checked_sizes(sizes, canvases)
    for size in ((0, 4), (-1, 4), (9, 9), (8, 10), (2**40, 3)):
      for form in (list, np.array):
        with self.assertRaisesRegex(errors.UserError, "row 1: .* got"):
          batching.checked_sizes(form([(8, 9), size]), canvases)
    with self.assertRaisesRegex(errors.UserError, "row 0"):
      batching.checked_sizes([(8, 9), (8, 9)], canvases, least=9)
    for form in (list, lambda sizes: np.array(sizes, np.uint8)):
      got = batching.checked_sizes(form([(8, 9), (1, 1)]), canvases)
      np.testing.assert_array_equal(got, [(8, 9), (1, 1)])


class OverPicturesTest(absltest.TestCase):
  def test_sizes_and_rows_belong_to_their_pictures(self):
    images = np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3)
    sizes = jnp.array([[1, 2], [2, 1]])

    def described(image, size, row):
      return jnp.stack([image[0, 0, 0], size.h, size.w, row])

    got = batching.over_pictures(described, images, sizes, jnp.array([7, 8]))
    np.testing.assert_array_equal(got, [[0, 1, 2, 7], [12, 2, 1, 8]])

  def test_without_sizes_they_fill_their_canvases(self):
    seen = []

    def sizes(image, size):
      seen.append(size)
      return image

    images = np.zeros((2, 4, 5, 3), np.uint8)
    got = batching.over_pictures(sizes, images, None)
    self.assertEqual(got.shape, images.shape)
    self.assertIn(layout.Size(4, 5), seen)


_CLASSES = {
  "pictures": (plugins.Corruption,),
  "sequences": (plugins.FrameByFrame, plugins.Successive),
  "videos": (plugins.OfFrames, plugins.OfIndices),
}
_LOADERS = {
  "pictures": plugins.picture,
  "sequences": plugins.sequence,
  "videos": plugins.video,
}
_PLUGINS = [
  (kind, name)
  for kind, family in conditions.FAMILIES.items()
  for name in family.names()
  if not family.row(name).plugin  # a row that says it all has no file
]
_HOOKS = {
  field.name
  for classes in _CLASSES.values()
  for plugin_class in classes
  for field in dataclasses.fields(plugin_class)
  if "Callable" in str(field.type) or field.type in ("Draw", "Apply")
} | {"frames"}


def _module(kind: str, name: str) -> types.ModuleType:
  folder = plugins.FOLDERS[kind]
  return importlib.import_module(f"robust_tfds.corruptions.{folder}.{name}")


def _forgotten(kind: str, name: str) -> list[str]:
  """Hooks of a file that its PLUGIN does not name: they would not be called."""
  plugin = _LOADERS[kind](name)
  named = [getattr(plugin, f.name) for f in dataclasses.fields(plugin)]
  return [
    f"{kind} {name}: {hook}"
    for hook, function in vars(_module(kind, name)).items()
    if hook in _HOOKS and inspect.isfunction(function) and function not in named
  ]


class ContractTest(absltest.TestCase):
  """Every file of the three folders says one plugin of its kind, and no more."""

  def test_a_file_is_a_plugin_of_its_folder(self):
    for kind, name in _PLUGINS:
      plugin = _LOADERS[kind](name)
      self.assertIsInstance(plugin, _CLASSES[kind], name)
      self.assertIs(plugin, _module(kind, name).PLUGIN, name)

  def test_no_function_of_a_file_is_forgotten(self):
    self.assertEmpty(
      [hook for plugin in _PLUGINS for hook in _forgotten(*plugin)]
    )

  def test_every_edition_has_its_severities(self):
    own = conditions.PICTURES.names("own")
    for name in conditions.PICTURES.names():
      severities = plugins.picture(name).severities
      self.assertNotEmpty(severities, name)
      editions = severities if name in own else {*_FIVE, *severities}
      for edition in map(spec.edition, editions):
        self.assertLen(edition.row(severities), edition.levels, name)

  def test_editions_of_sequences_exist(self):
    for name in conditions.SEQUENCES.names():
      on_source = plugins.sequence(name).on_source
      self.assertLessEqual(set(on_source), set(spec.EDITIONS), name)

  def test_noise_sequences_draw_nothing_ahead(self):
    for name in conditions.SEQUENCES.members("noise"):
      self.assertIs(plugins.sequence(name).draw, plugins.no_draws)


_FIVE = [name for name, e in spec.EDITIONS.items() if e.levels == 5]


class RefusalsTest(absltest.TestCase):
  def test_a_file_without_a_plugin(self):
    path = "robust_tfds.corruptions.image.fog"
    empty = types.ModuleType(path)
    with mock.patch.dict(sys.modules, {path: empty}):
      with self.assertRaisesRegex(TypeError, r"must end in PLUGIN = plugins"):
        plugins.picture("fog")
      empty.PLUGIN = plugins.video("jpeg")
      with self.assertRaisesRegex(TypeError, "got OfImage"):
        plugins.picture("fog")


class KeysTest(parameterized.TestCase):
  """Keys: functions of what is named, and nothing else."""

  def test_a_list_of_keys_is_an_array_of_keys(self):
    keys = [
      corruptions.example_key(0, "d", "brightness", 1, name) for name in "ab"
    ]
    want = np.stack([np.asarray(jax.random.key_data(k)) for k in keys])
    for form in (keys, tuple(keys), jnp.stack(keys), want):
      np.testing.assert_array_equal(seeding.raw(form), want)
    with self.assertRaisesRegex(ValueError, "A key must be a JAX key"):
      seeding.raw([])

  def test_depend_on_everything_named_and_nothing_else(self):
    base = (0, "imagenet_c", "fog", 3, "a.jpg", 0)
    first = np.asarray(seeding.raw(corruptions.example_key(*base)))
    again = np.asarray(seeding.raw(corruptions.example_key(*base)))
    np.testing.assert_array_equal(first, again)
    for i, other in enumerate((1, "digits_c", "snow", 4, "b.jpg", 1)):
      changed = (*base[:i], other, *base[i + 1 :])
      key = np.asarray(seeding.raw(corruptions.example_key(*changed)))
      self.assertFalse((key == first).all())

  @parameterized.product(
    field=("seed", "frame"),
    value=(float("nan"), 1.5, -1, True, "0", None, np.array([1, 2])),
  )
  def test_numbers_that_are_refused(self, field, value):
    with self.assertRaisesRegex(errors.UserError, f"{field} is a whole number"):
      _changed(**{field: value})

  @parameterized.product(
    field=("dataset", "name", "example_id"),
    value=(None, 3, b"a", ["a"], np.array("a"), "", "a\x1fb"),
  )
  def test_texts_that_are_refused(self, field, value):
    with self.assertRaisesRegex(errors.UserError, field):
      _changed(**{field: value})

  def test_other_refusals(self):
    with self.assertRaisesRegex(errors.UserError, "2\\*\\*63 - 1"):
      _changed(seed=2**64)
    for severity in (0, 9, -3, np.array(9), jnp.array([3])):
      with self.assertRaisesRegex(errors.UserError, "Severity"):
        _changed(severity=severity)

  def test_forms_of_a_number_are_one_number(self):
    want = seeding.raw(_changed(seed=1))
    for seed in (np.int64(1), np.array(1), jnp.array(1)):
      np.testing.assert_array_equal(seeding.raw(_changed(seed=seed)), want)


class FramesTest(parameterized.TestCase):
  def test_keys_on_the_device_are_those_on_the_host(self):
    keys = np.random.default_rng(0).integers(0, 2**32, (3, 2), np.uint32)
    there = seeding.keys_of_frames(jnp.asarray(keys), 5)
    for key, of_frames in zip(keys, there):
      host = seeding.frame_keys(key, np.arange(5))
      np.testing.assert_array_equal(of_frames, host)


def _changed(**changes) -> jax.Array:
  base = {
    "seed": 0,
    "dataset": "imagenet_c",
    "name": "fog",
    "severity": 3,
    "example_id": "a.jpg",
  }
  return corruptions.example_key(**{**base, **changes})


class EditionTest(parameterized.TestCase):
  """Editions and severities."""

  def test_nearest_row(self):
    rows = {"imagenet": (1,), "tiny_imagenet": (2,)}
    self.assertEqual(spec.edition("inception").row(rows), (1,))
    self.assertEqual(spec.edition("imagenet64").row(rows), (2,))
    with self.assertRaisesRegex(
      errors.UserError, "has severities for 'imagenet'"
    ):
      spec.edition("cifar10").row(rows)

  @parameterized.parameters(
    (224, "imagenet"),
    (299, "inception"),
    (64, "imagenet64"),
    (32, "cifar10"),
    (227, "imagenet"),
    (331, "inception"),
    (96, "imagenet"),  # fog's map of 64 px does not cover it
    (9, "cifar10"),
    (512, "inception"),
  )
  def test_of_a_size(self, side, expected):
    self.assertEqual(spec.edition_for(side), expected)

  def test_of_no_size(self):
    with self.assertRaisesRegex(errors.UserError, "513 px; .* 512 px"):
      spec.edition_for(513)

  def test_side(self):
    self.assertEqual(spec.edition("imagenet64").side_px, 64)
    with self.assertRaisesRegex(errors.UserError, "no size of its own"):
      _ = spec.edition("any").side_px


class SeverityTest(parameterized.TestCase):
  @parameterized.parameters(
    (3,), (np.int64(3),), (np.array(3),), (np.uint8(3),)
  )
  def test_accepted(self, severity):
    self.assertEqual(spec.check_severity(severity), 3)
    self.assertEqual(spec.check_severity(jnp.asarray(severity)), 3)

  def test_traced(self):
    for bad in (np.zeros(2, np.int32), np.float32(3), np.array(True)):
      with self.assertRaisesRegex(errors.UserError, "got a traced"):
        jax.jit(spec.severity)(bad)
    self.assertEqual(jax.jit(spec.severity)(9), 9)
    with self.assertRaisesRegex(errors.UserError, "outside jit"):
      jax.jit(spec.check_severity)(3)


_FIFTHS = {"any": (1, 2, 3, 4, 5)}


class TrialTest(parameterized.TestCase):
  def _check(self, name, apply):
    tables = lambda edition: {"level": np.array(edition.row(_FIFTHS))}
    plugin = plugins.Corruption(severities=_FIFTHS, tables=tables, apply=apply)
    with (
      mock.patch.object(plugins, "picture", return_value=plugin),
      mock.patch.object(own_corruptions, "sha256", return_value="x"),
    ):
      trial.check(name, "any", "a set")

  def test_every_severity_is_tried(self):
    def last(scene, draws):
      return scene.image / (5.0 - scene.table["level"])  # 0 / 0 where black

    with self.assertRaisesRegex(errors.UserError, "last: last .*NaN, expected"):
      self._check("last", last)

  @parameterized.parameters(jnp.uint8, jnp.int32, jnp.float32)
  def test_what_is_right_passes(self, dtype):
    apply = lambda scene, draws: scene.image.astype(dtype)
    self._check(f"as_{np.dtype(dtype).name}", apply)

  def test_the_published_ones_are_not_tried(self):
    with mock.patch.object(trial, "_run", side_effect=AssertionError):
      trial.check("fog", "any", "a set")


_WAIT_S = 120  # before the fix it was for ever
_HAS_FORK = "fork" in multiprocessing.get_all_start_methods()


def _foggy(picture: np.ndarray) -> np.ndarray:
  return np.asarray(corruptions.corrupt(picture, "fog", 3, seed=0))


class ForksTest(parameterized.TestCase):
  """A process that was forked from one that uses JAX: refused, at once."""

  def setUp(self):
    super().setUp()
    self._picture = np.full((32, 32, 3), 128, np.uint8)
    self._foggy = _foggy(self._picture)  # this process uses JAX now

  def _in_worker(self, how):
    with warnings.catch_warnings():
      warnings.simplefilter("ignore")  # JAX warns of the fork
      with multiprocessing.get_context(how).Pool(1) as pool:
        return pool.apply_async(_foggy, (self._picture,)).get(_WAIT_S)

  @unittest.skipUnless(_HAS_FORK, "no fork on this system")
  def test_a_fork_is_refused(self):
    with self.assertRaisesRegex(errors.UserError, "context='spawn'"):
      self._in_worker("fork")

  @parameterized.parameters("spawn", "forkserver")
  def test_other_workers_give_the_same(self, how):
    np.testing.assert_array_equal(self._in_worker(how), self._foggy)
