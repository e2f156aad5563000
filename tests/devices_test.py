"""Batches onto the mesh and back, and batch sizes that do not divide."""

import importlib.util
from unittest import mock

import jax
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds import devices, errors


class MeshTest(parameterized.TestCase):
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
      return devices.in_words()


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
