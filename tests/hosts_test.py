"""Who goes first, and when all wait for all."""

from unittest import mock

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds import hosts


class HostsTest(absltest.TestCase):
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
        got = hosts.on_first_host(hosts.Host(index, 2), "x", make)
      self.assertEqual((got, steps), ("made", order))

  def test_others_do_not_pass_where_the_first_fails(self):
    def broken():
      raise OSError("no disk")

    with mock.patch.object(hosts, "barrier") as barrier:
      with self.assertRaises(OSError):
        hosts.on_first_host(hosts.Host(0, 2), "x", broken)
    barrier.assert_not_called()
