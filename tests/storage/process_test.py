"""Processes are told apart, and the dead from the living."""

import dataclasses
import multiprocessing
import os

from absl.testing import absltest

from robust_tfds.storage.process import Process


class ProcessTest(absltest.TestCase):
  def test_names(self):
    one, other = Process.this(), Process.this()
    self.assertNotEqual(one.name, other.name)
    self.assertEqual(Process.parse(one.name), one)
    self.assertEqual(one.pid, os.getpid())
    for name in ("", "notes.txt", "a-b-c-d", "a-1-2", "a-1-2-3-4"):
      self.assertIsNone(Process.parse(name))

  def test_here(self):
    this = Process.this()
    self.assertTrue(this.here)
    self.assertFalse(dataclasses.replace(this, system="elsewhere").here)

  def test_alive(self):
    this = Process.this()
    self.assertTrue(this.alive())
    earlier = dataclasses.replace(this, started=this.started - 60)
    self.assertFalse(earlier.alive())
    child = multiprocessing.get_context("fork").Process(target=os.getpid)
    child.start()
    child.join()
    self.assertFalse(dataclasses.replace(this, pid=child.pid).alive())
