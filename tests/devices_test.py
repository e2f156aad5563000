"""Devices, hosts and shards."""

import importlib.util
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from absl import flags
from absl.testing import absltest, parameterized

from robust_tfds import corruptions, devices, errors, hosts, multihost, shards
from robust_tfds.corruptions import batching
from robust_tfds.corruptions.ops import jpeg
from tests import accelerators, quick


class MeshTest(parameterized.TestCase):
  """Batches onto the mesh and back, and batch sizes that do not divide."""

  def test_one_axis_over_all_or_some(self):
    whole = devices.mesh()
    self.assertEqual(whole.axis_names, ("data",))
    self.assertEqual(whole.size, jax.device_count())
    self.assertEqual(devices.mesh(jax.local_devices()[:1]).size, 1)

  @parameterized.parameters((100, 96), (7, 8), (0, 8))
  def test_batch_that_does_not_divide(self, batch_size, proposal):
    where = mock.Mock(size=8)
    with self.assertRaisesRegex(
      errors.UserError,
      f"{batch_size} does not divide over 8 devices; .*batch_size={proposal}",
    ):
      devices.check_batch_size(batch_size, where)

  def test_batch_that_divides(self):
    devices.check_batch_size(16, mock.Mock(size=8))


class RowsTest(absltest.TestCase):
  def test_shards_that_jax_lists_twice_count_once(self):
    shards = [
      mock.Mock(
        index=(slice(row, row + 2), slice(None)), data=np.arange(row, row + 2)
      )
      for row in (2, 0)
    ]
    array = mock.Mock(addressable_shards=[*shards, *shards])
    np.testing.assert_array_equal(devices.local_rows(array), range(4))


class InWordsTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      "gpu",
      "NVIDIA H100 80GB HBM3",
      "PJRT C API\ncuda 12090",
      8,
      "8 × H100 (cuda12), jax ",
    ),
    (
      "gpu",
      "NVIDIA RTX A6000",
      "cuda 13010",
      1,
      "1 × RTX A6000 (cuda13), jax ",
    ),
    (
      "tpu",
      "TPU v5 lite",
      "PJRT C API\nTFRT TPU v5",
      4,
      "4 × TPU v5 lite, jax ",
    ),
    ("cpu", "cpu", "cpu", 1, "1 CPU, jax "),
    ("cpu", "cpu", "cpu", 8, "8 CPUs, jax "),
  )
  def test_devices(self, platform, kind, version, count, words):
    self.assertEqual(
      self._words(platform, kind, version, count), words + jax.__version__
    )

  @parameterized.parameters(
    (None, None, "pip install 'robust_tfds[cuda12]'"),
    (object(), None, "jax_cuda12_plugin is installed"),
    (None, "cpu", None),
  )
  def test_a_gpu_that_is_not_used(self, plugin, chosen, words):
    folder = self.create_tempdir()
    folder.create_file("nvidia0")
    with (
      mock.patch.object(devices, "_GPUS", f"{folder.full_path}/nvidia[0-9]*"),
      mock.patch.object(importlib.util, "find_spec", return_value=plugin),
      mock.patch.object(devices.jax, "config", mock.Mock(jax_platforms=chosen)),
    ):
      said = self._words("cpu", "cpu", "cpu", 1)
    if words is None:
      self.assertEqual(said, f"1 CPU, jax {jax.__version__}")
    else:
      self.assertStartsWith(
        said, f"1 CPU; a GPU is here but jax cannot use it: {words}"
      )

  def _words(self, platform, kind, version, count) -> str:
    device = mock.Mock(
      platform=platform,
      device_kind=kind,
      client=mock.Mock(platform_version=version),
    )
    with (
      mock.patch.object(jax, "devices", return_value=[device] * count),
      mock.patch("shutil.which", return_value=None),
    ):
      return devices.description()


class PutTest(absltest.TestCase):
  def test_there_and_back(self):
    where = devices.mesh()
    rows = np.arange(6 * where.size).reshape(2 * where.size, 3)
    batch = devices.put_batch(rows, where)
    self.assertEqual(batch.sharding.spec, jax.sharding.PartitionSpec("data"))
    np.testing.assert_array_equal(devices.local_rows(batch), rows)

  def test_replicated_trees_are_whole_on_every_device(self):
    where = devices.mesh()
    tree = devices.put_replicated({"a": np.arange(3), "b": [2.0]}, where)
    self.assertTrue(tree["a"].sharding.is_fully_replicated)
    for shard in tree["a"].addressable_shards:
      np.testing.assert_array_equal(shard.data, np.arange(3))

  def test_shards_come_back_in_the_order_of_their_rows(self):
    shards = [
      mock.Mock(index=(slice(start, None),), data=np.array([start]))
      for start in (4, None, 2)
    ]
    shards[1].data = np.array([0])
    array = mock.Mock(addressable_shards=shards)
    self.assertEqual(devices.local_rows(array).tolist(), [0, 2, 4])


class HostsTest(absltest.TestCase):
  """Who goes first, and when all wait for all."""

  def test_this(self):
    host = hosts.this_host()
    self.assertEqual(host.index, jax.process_index())
    self.assertEqual(host.count, jax.process_count())

  def test_one_host_waits_for_nobody(self):
    with mock.patch(
      "jax.experimental.multihost_utils.sync_global_devices"
    ) as sync:
      hosts.barrier(hosts.Host(0, 1), "data")
      sync.assert_not_called()
      hosts.barrier(hosts.Host(1, 2), "data")
      sync.assert_called_once_with("data")

  def test_text_of_the_first(self):
    self.assertEqual(hosts.text_of_first_host(hosts.Host(0, 1), "a-1"), "a-1")
    first = np.frombuffer(b"b-2".ljust(128), np.uint8).astype(np.int32)
    with mock.patch(
      "jax.experimental.multihost_utils.broadcast_one_to_all",
      return_value=first,
    ):
      self.assertEqual(hosts.text_of_first_host(hosts.Host(1, 2), ""), "b-2")

  def test_the_first_makes_it_before_the_others(self):
    for index, order in ((0, ["make", "wait"]), (1, ["wait", "make"])):
      steps = []

      def make(steps=steps):
        steps.append("make")
        return "made"

      with mock.patch.object(
        hosts, "barrier", side_effect=lambda *_, s=steps: s.append("wait")
      ):
        got = hosts.first_host_first(hosts.Host(index, 2), "x", make)
      self.assertEqual((got, steps), ("made", order))

  def test_others_do_not_pass_where_the_first_fails(self):
    def broken():
      raise OSError("no disk")

    with mock.patch.object(hosts, "barrier") as barrier:
      with self.assertRaises(OSError):
        hosts.first_host_first(hosts.Host(0, 2), "x", broken)
    barrier.assert_not_called()


def _settings(*words: str) -> flags.FlagValues:
  values = flags.FlagValues()
  with mock.patch.object(flags, "FLAGS", values):
    names = ("DEFINE_bool", "DEFINE_string", "DEFINE_integer")
    made = {name: getattr(flags, name) for name in names}
    patches = {
      name: lambda *a, define=define: define(*a, flag_values=values)
      for name, define in made.items()
    }
    with mock.patch.multiple(flags, **patches):
      multihost.define_flags()
  values(["command", *words])
  return values


class MultihostTest(absltest.TestCase):
  """Flags of one process of many, and how it joins the others."""

  def test_refusals(self):
    for words, message in (
      (["--process_id=1"], "--process_id=1 needs --multihost"),
      (["--multihost", "--num_processes=0"], "expected at least 1"),
      (
        ["--multihost", "--num_processes=2", "--process_id=2"],
        "--process_id=2: expected 0 to 1",
      ),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        multihost.check(_settings(*words))
    multihost.check(_settings())

  def test_one_alone_meets_nobody(self):
    with mock.patch("jax.distributed.initialize") as initialize:
      multihost.join(_settings())
      initialize.assert_not_called()
      with mock.patch("robust_tfds.stopping.listen"):
        multihost.join(_settings("--multihost", "--process_id=1"))
    initialize.assert_called_once_with(None, None, 1)

  def test_a_process_that_is_alone_exits_with_the_words(self):
    with mock.patch.object(flags, "FLAGS", _settings()):
      with self.assertRaisesRegex(SystemExit, "Error: so"):
        multihost.fail("Error: so")


def _pictures(*shape: int) -> np.ndarray:
  """Gradients with grain."""
  y, x = np.mgrid[: shape[-2], : shape[-1]]
  grain = np.random.default_rng(0).integers(0, 60, (*shape, 3))
  smooth = np.stack([4 * x, 5 * y, 3 * (x + y)], axis=-1)
  return ((smooth + grain) % 256).astype(np.uint8)


def _keys(count: int) -> jax.Array:
  return jax.random.key_data(jax.random.split(jax.random.key(1), count))


class BranchesTest(parameterized.TestCase):
  """What accelerators run gives the bytes that the CPU's branch gives."""

  @quick.cases(["glass_blur"], ["jpeg_compression", "pixelate"])
  def test_pictures(self, name):
    images, keys = _pictures(2, 24, 36), _keys(2)
    sizes = np.array([[24, 17], [5, 36]], np.int32)

    def run() -> list[np.ndarray]:
      # A severity whose displacements are chained, and one that repeats.
      parts = []
      for severity, valid in ((3, sizes), (5, None)):
        got = corruptions.corrupt_batch(
          images, name, severity, edition="any", keys=keys, sizes=valid
        )
        parts.append(np.asarray(got))
      return parts

    in_turn = run()
    with accelerators.branches():
      together = run()
    np.testing.assert_array_equal(together, in_turn)

  @parameterized.parameters("static_rotation", "random_rotation", "translation")
  def test_videos(self, name):
    clip, key = _pictures(5, 32, 45), jax.random.key(1)

    def run() -> np.ndarray:
      return np.asarray(corruptions.perturb_video(clip, name, 2, key=key))

    in_turn = run()
    with accelerators.branches():
      together = run()
    np.testing.assert_array_equal(together, in_turn)

  @quick.cases([(3, 32, 48)], [(2, 2, 24, 17)])
  def test_the_codec_of_model_inputs(self, *shape):
    images = _pictures(*shape)
    in_turn = np.asarray(jpeg.roundtrip_batch(images, 85))
    with accelerators.branches():
      together = np.asarray(jpeg.roundtrip_batch(images, 85))
    self.assertEqual(in_turn.shape, images.shape)
    np.testing.assert_array_equal(together, in_turn)

  @parameterized.parameters(None, 2, 3, 8)
  def test_no_more_at_once_than_allowed(self, at_once):
    rows = jnp.arange(35).reshape(7, 5)
    with accelerators.branches():
      program = jax.make_jaxpr(
        lambda x: batching.over_batch(jnp.sort, x, at_once=at_once)
      )(rows)
      got = batching.over_batch(lambda x: x[::-1], rows, at_once=at_once)
    np.testing.assert_array_equal(got, np.asarray(rows)[:, ::-1])
    # As many rows are sorted together, the rest in the end.
    together = at_once if at_once is not None and at_once < 7 else 7
    self.assertIn(f"i32[{together},5]", str(program))
    if together < 7:
      self.assertIn("scan", str(program))


class ShardTest(parameterized.TestCase):
  """Every n-th item; refusals in words."""

  @parameterized.parameters(1, 2, 3, 7, 12)
  def test_all_shards_together_make_each_item_once(self, count):
    items = list(range(10))
    each = [shards.Shard(i, count).share(items) for i in range(1, count + 1)]
    self.assertCountEqual([x for share in each for x in share], items)
    sizes = [len(share) for share in each]
    self.assertLessEqual(max(sizes) - min(sizes), 1)

  @parameterized.parameters(
    "0/4", "5/4", "4", "", "a/b", "-1/4", "1/4/2", "1/0"
  )
  def test_refused(self, text):
    with self.assertRaisesRegex(errors.UserError, "expected i/n"):
      shards.Shard.parse(text)

  def test_text(self):
    self.assertEqual(str(shards.Shard.parse("2/4")), "2/4")
