"""What kept traces and weights depend on."""

import pathlib
import tempfile
from unittest import mock

import jax
from absl.testing import absltest

from eval.pipeline import kept_traces
from eval.run.execution import run_cache
from robust_tfds import kept_programs


class KeptTest(absltest.TestCase):
  def test_options_that_change_numbers_count(self):
    before = run_cache.surroundings()
    with jax.enable_x64(True):
      self.assertNotEqual(run_cache.surroundings(), before)
    self.assertEqual(run_cache.surroundings(), before)

  def test_traces_lie_beside_the_programs_and_nowhere_else(self):
    folder = pathlib.Path(tempfile.mkdtemp())
    self.enter_context(mock.patch.object(kept_programs, "keep"))
    chosen = self.enter_context(mock.patch.object(kept_programs, "folder"))
    places = self.enter_context(mock.patch.object(kept_traces, "_places", []))
    chosen.return_value = None  # somebody else named a folder
    run_cache.keep()
    self.assertEmpty(places)
    chosen.return_value = folder
    run_cache.keep()
    self.assertEqual([place.folder for place in places], [folder])
