"""Tests that write files: each has an empty folder of its own."""

import pathlib

from absl.testing import parameterized


class TestCase(parameterized.TestCase):
  """A test with a folder, `self.root`, that nobody else sees."""

  root: pathlib.Path

  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
