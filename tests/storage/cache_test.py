"""The folder of what is kept between commands."""

import os
import pathlib
from unittest import mock

from absl.testing import absltest

from robust_tfds.storage import cache


class FolderTest(absltest.TestCase):
  def test_the_variable_then_the_systems_place(self):
    for variables, expected in (
      ({cache.VARIABLE: "/kept"}, "/kept"),
      ({"XDG_CACHE_HOME": "/c"}, "/c/robust_tfds"),
      ({"HOME": "/home/me"}, "/home/me/.cache/robust_tfds"),
    ):
      with mock.patch.dict(os.environ, variables, clear=True):
        self.assertEqual(cache.folder(), pathlib.Path(expected))
