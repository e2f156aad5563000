"""Every corruption of pictures."""

import functools
import hashlib
import os
import pathlib
from unittest import mock

import hypothesis
import jax
import numpy as np
from absl.testing import absltest, parameterized
from hypothesis import strategies as st

from robust_tfds import conditions, corruptions
from robust_tfds.corruptions import (
  canvas,
  frost_pictures,
  plugins,
  seeding,
  spec,
)
from robust_tfds.corruptions import image as image_frame
from tests import contracts, frost_folder, in_process, quick
from tests.corruptions import canvas_test, replays

_NAMES = conditions.PICTURES.known_names
# One of each kind of operation; the others are slow tests. Fog: `padding_test.py`.
_KINDS = (
  "gaussian_noise",
  "motion_blur",
  "defocus_blur",
  "frost",
  "brightness",
)
_EIGHT_DEVICES = """
import hashlib, sys
import jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from robust_tfds import conditions
from robust_tfds import corruptions
mesh = jax.make_mesh((jax.device_count(),), ("data",))
put = lambda x: jax.device_put(x, NamedSharding(mesh, PartitionSpec("data")))
batch = np.random.default_rng(0).integers(0, 256, (8, 32, 32, 3), np.uint8)
digest = hashlib.sha256()
for name in sys.argv[1:]:
  keys = conditions.raw_keys(0, "d", name, 3, [str(i) for i in range(8)])
  step = jax.jit(jax.shard_map(
      lambda x, k, name=name: corruptions.corrupt_batch(
          x, name, 3, edition="cifar10", keys=k),
      mesh=mesh, in_specs=PartitionSpec("data"), out_specs=PartitionSpec("data"),
      check_vma=False))
  digest.update(np.asarray(step(put(batch), put(keys))).tobytes())
print(jax.device_count(), digest.hexdigest())
"""


def _image(height, width, seed=0) -> np.ndarray:
  rng = np.random.default_rng(seed)
  y, x = np.mgrid[:height, :width]
  smooth = (5 * x + 3 * y)[..., None] // np.array([1, 2, 3])
  return ((smooth + rng.integers(0, 30, (height, width, 3))) % 256).astype(
    np.uint8
  )


def plugin_file(name: str) -> pathlib.Path:
  return pathlib.Path(image_frame.__file__).parent / f"{name}.py"


def edition_of(name, wanted="cifar10"):
  """The edition, or one that a corruption of one's own has."""
  known, variant = plugins.picture(name).severities, spec.edition(wanted)
  return (
    wanted if {wanted, *variant.parents} & set(known) else next(iter(known))
  )


def _key(name, example="a.jpg"):
  return corruptions.example_key(0, "contract", name, 3, example)


class ShapeTest(absltest.TestCase):
  """What every corruption in the folder must do, whoever wrote it."""

  def test_a_batch_gets_its_shape_without_a_copy(self):
    images = jax.numpy.zeros((2, 8, 8, 3), np.uint8)
    keys = np.zeros((2, 2), np.uint32)
    made = []

    def flat(*args, **kwargs):
      made.append(corrupt_flat(*args, **kwargs))
      return made[0]

    corrupt_flat = image_frame.corrupt_flat
    with mock.patch.object(image_frame, "corrupt_flat", flat):
      done = corruptions.corrupt_batch(images, "contrast", 1, keys=keys)
    where = made[0].unsafe_buffer_pointer()
    self.assertEqual(done.unsafe_buffer_pointer(), where)
    self.assertEqual(done.shape, images.shape)


class NamesTest(absltest.TestCase):
  def test_paper_order(self):
    common = conditions.PICTURES.names("common")
    extra = conditions.PICTURES.names("extra")
    self.assertLen(common, 15)
    self.assertEqual(
      extra, ("speckle_noise", "gaussian_blur", "spatter", "saturate")
    )
    self.assertEqual(_NAMES[:19], common + extra)


class ContractTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    frost_folder.use_drawn()
    self.addCleanup(frost_pictures.use_folder, None)

  @contracts.cases(_NAMES, plugin_file, quick=_KINDS)
  def test_batch_order_jit_and_severity_type_change_nothing(self, name):
    batch = np.stack([_image(32, 32, i) for i in range(4)])
    ids = ["a", "b", "c", "d"]
    keys = conditions.raw_keys(0, "contract", name, 3, ids)

    def call(rows, severity=3):
      return np.asarray(
        corruptions.corrupt_batch(
          batch[rows], name, severity, edition=edition_of(name), keys=keys[rows]
        )
      )

    whole = call([0, 1, 2, 3])
    np.testing.assert_array_equal(call([2, 0]), whole[[2, 0]])
    np.testing.assert_array_equal(call([0, 1, 2, 3], np.int64(3)), whole)
    traced = jax.jit(
      lambda x, s, k: corruptions.corrupt_batch(
        x, name, s, edition=edition_of(name), keys=k
      )
    )(batch, 3, keys)
    np.testing.assert_array_equal(np.asarray(traced), whole)
    strided = np.repeat(batch, 2, axis=2)[:, :, ::2]
    self.assertFalse(strided.flags["C_CONTIGUOUS"])
    again = corruptions.corrupt_batch(
      strided, name, 3, edition=edition_of(name), keys=keys
    )
    np.testing.assert_array_equal(np.asarray(again), whole)

  @contracts.cases(_NAMES, plugin_file)
  def test_black_white_and_grey_of_a_fixed_size(self, name):
    self._check_flat_pictures(name, edition_of(name))

  @contracts.cases(_NAMES, plugin_file, quick=_KINDS)
  def test_flat_and_small_pictures(self, name):
    self._check_flat_pictures(name, edition_of(name, "any"))
    for height, width in ((1, 1), (1, 31), (7, 5), (31, 20)):
      image = _image(height, width)
      out = corruptions.corrupt(
        image, name, 3, edition=edition_of(name, "any"), key=_key(name)
      )
      self.assertEqual(out.shape, image.shape)

  def _check_flat_pictures(self, name, edition):
    for level in (0, 128, 255):
      for severity in (1, 5):
        image = np.full((32, 32), level, np.uint8)
        out = np.asarray(
          corruptions.corrupt(
            image, name, severity, edition=edition, key=_key(name)
          )
        )
        self.assertEqual((out.shape, out.dtype), ((32, 32, 3), np.uint8))
        same = corruptions.corrupt(
          np.repeat(image[..., None], 3, axis=2),
          name,
          severity,
          edition=edition,
          key=_key(name),
        )
        np.testing.assert_array_equal(out, np.asarray(same))

  @contracts.cases(_NAMES, plugin_file)
  def test_padding_changes_nothing(self, name):
    for height, width in ((333, 500), (60, 90), (129, 65)):
      image, key = _image(height, width), _key(name)
      padded = corruptions.corrupt(
        image, name, 3, edition=edition_of(name, "any"), key=key
      )
      plain = corruptions.corrupt_batch(
        image[None],
        name,
        3,
        edition=edition_of(name, "any"),
        keys=seeding.raw(key)[None],
      )[0]
      np.testing.assert_array_equal(np.asarray(padded), np.asarray(plain))

  @contracts.cases(_NAMES, plugin_file, quick=_KINDS[:1])
  def test_the_canvas_changes_nothing(self, name):
    image, key, edition = _image(33, 70), _key(name), edition_of(name, "any")
    # The next power of two, two beyond it, and a side that fits to the pixel.
    shapes = ((128, 128), (33, 300), (260, 70))
    for severity in (1, 2, 3, 4, 5):
      plain = corruptions.corrupt_batch(
        image[None], name, severity, edition=edition, keys=key[None]
      )
      for shape in shapes:
        padded = image_frame.corrupt_in_canvas(
          image, shape, name, severity, edition=edition, key=key
        )
        np.testing.assert_array_equal(padded, np.asarray(plain[0]))


class AnySizeTest(absltest.TestCase):
  def test_compiles_once_a_canvas(self):
    name, edition = "contrast", spec.edition("any")
    compiled = image_frame._compiled(name, edition, False)
    before = compiled._cache_size()
    sizes = sorted(canvas_test.coco_sizes())[::50]
    for height, width in sizes:
      corruptions.corrupt(
        _image(height, width), name, 3, edition="any", key=_key(name)
      )
    self.assertLessEqual(
      compiled._cache_size() - before,
      len({canvas.shape(*s) for s in sizes}),
    )


class DevicesTest(parameterized.TestCase):
  @quick.cases(
    [("gaussian_noise", "defocus_blur")],
    [("fog", "glass_blur", "elastic_transform", "spatter")],
  )
  def test_eight_devices_give_the_same_bytes(self, *names):
    """One process of eight devices against this one's single device."""
    batch = np.random.default_rng(0).integers(0, 256, (8, 32, 32, 3), np.uint8)
    digest = hashlib.sha256()
    for name in names:
      keys = conditions.raw_keys(0, "d", name, 3, [str(i) for i in range(8)])
      corrupted = corruptions.corrupt_batch(
        batch, name, 3, edition="cifar10", keys=keys
      )
      digest.update(np.asarray(corrupted).tobytes())
    flags = "--xla_force_host_platform_device_count=8"
    process = in_process.python(
      "-c",
      _EIGHT_DEVICES,
      *names,
      env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
      check=True,
    )
    self.assertEqual(process.stdout.split(), ["8", digest.hexdigest()])


class SeedTest(absltest.TestCase):
  def test_a_seed_draws_the_documented_key(self):
    image, name = _image(32, 32), "gaussian_noise"
    call = functools.partial(
      corruptions.corrupt, image, name, 3, edition="cifar10"
    )
    key = corruptions.example_key(7, "image", name, 3, "image")
    np.testing.assert_array_equal(call(seed=7), call(key=key))
    self.assertFalse((call(seed=8) == call(key=key)).all())
    for both, words in (({"key": key, "seed": 7}, "both"), ({}, "neither")):
      with self.assertRaisesRegex(ValueError, f"or seed=, got {words}. Give"):
        call(**both)
    with self.assertRaisesRegex(ValueError, "A seed is .* got -1"):
      call(seed=-1)
    with self.assertRaisesRegex(ValueError, "Did you mean 'fog'"):
      corruptions.corrupt(image, "fogg", 3, seed=0)
    with self.assertRaisesRegex(ValueError, "Severity .* got 6"):
      corruptions.corrupt(image, "fog", 6, seed=0)


class EditionTest(parameterized.TestCase):
  @parameterized.parameters(
    (224, 224, "imagenet"),
    (299, 299, "inception"),
    (64, 64, "imagenet64"),
    (32, 32, "cifar10"),
    (300, 401, "any"),
    (33, 32, "any"),
  )
  def test_without_one_it_is_that_of_the_size(self, height, width, edition):
    image = _image(height, width)
    for name in ("fog", "gaussian_noise"):
      np.testing.assert_array_equal(
        corruptions.corrupt(image, name, 3, seed=0),
        corruptions.corrupt(image, name, 3, seed=0, edition=edition),
      )

  def test_a_batch_by_its_sizes_is_corrupt_of_each(self):
    sizes = [(32, 32), (40, 61), (64, 64), (32, 32)]
    batch = np.zeros((4, 64, 64, 3), np.uint8)
    keys = conditions.raw_keys(0, "d", "fog", 3, list("abcd"))
    for row, (height, width) in enumerate(sizes):
      batch[row, :height, :width] = _image(height, width)
    done = corruptions.corrupt_batch(batch, "fog", 3, keys=keys, sizes=sizes)
    self.assertIsInstance(done, np.ndarray)
    for row, (height, width) in enumerate(sizes):
      alone = corruptions.corrupt(
        batch[row, :height, :width], "fog", 3, key=keys[row]
      )
      np.testing.assert_array_equal(done[row, :height, :width], alone)
      self.assertFalse(done[row, height:].any() or done[row, :, width:].any())
    whole = corruptions.corrupt_batch(batch, "fog", 3, keys=keys)
    named = corruptions.corrupt_batch(
      batch, "fog", 3, keys=keys, edition="imagenet64"
    )
    np.testing.assert_array_equal(whole, named)

  @parameterized.parameters((32, 32), (33, 40))
  def test_numpy_comes_back_of_numpy(self, height, width):
    image = _image(height, width)
    done = corruptions.corrupt(image, "fog", 3, seed=0)
    self.assertIs(type(done), np.ndarray)
    done[0] = 0  # somebody's to change
    of_jax = corruptions.corrupt(jax.numpy.asarray(image), "fog", 3, seed=0)
    self.assertIsInstance(of_jax, jax.Array)
    np.testing.assert_array_equal(done[1:], of_jax[1:])


class RefusalsTest(parameterized.TestCase):
  @parameterized.parameters(("fog", "imagenet"), ("frost", "cifar10"))
  def test_editions_refuse_pictures_beyond_their_data(self, name, edition):
    frost_folder.use_drawn()
    self.addCleanup(frost_pictures.use_folder, None)
    image = np.zeros((640, 640, 3), np.uint8)
    with self.assertRaisesRegex(ValueError, "edition='any'"):
      corruptions.corrupt(
        image, name, 1, edition=edition, key=np.zeros(2, np.uint32)
      )


class PropertyTest(absltest.TestCase):
  @hypothesis.settings(deadline=None, max_examples=25)
  @hypothesis.given(
    name=st.sampled_from(
      (
        "gaussian_noise",
        "shot_noise",
        "impulse_noise",
        "speckle_noise",
        "contrast",
        "brightness",
      )
    ),
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    severity=st.integers(1, 5),
    seed=st.integers(0, 2**31),
  )
  def test_any_size_any_severity(self, name, height, width, severity, seed):
    image = _image(height, width, seed)
    key = corruptions.example_key(seed, "h", name, severity, "x")
    one = corruptions.corrupt(image, name, severity, edition="any", key=key)
    two = corruptions.corrupt(
      image.copy(), name, severity, edition="any", key=key
    )
    self.assertEqual((one.shape, one.dtype), (image.shape, np.uint8))
    np.testing.assert_array_equal(np.asarray(one), np.asarray(two))


class NoDropsTest(absltest.TestCase):
  """Spatter without drops; with them: golden_test."""

  def test_changes_nothing(self):
    """Where the reference divides 0 by 0."""
    plugin, edition = plugins.picture("spatter"), spec.edition("cifar10")
    tables = plugin.tables(edition)
    picture = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    dry = np.full((32, 32), -9, np.float32)
    spattered = replays.applied(plugin, edition)
    for severity in (1, 2, 3, 4, 5):
      levels = spattered(picture, np.int32(severity), dry, tables, {})
      np.testing.assert_array_equal(
        np.asarray(levels).reshape(picture.shape), picture
      )
