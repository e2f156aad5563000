"""Lets absl tests run under pytest: parsed flags, a fresh temporary folder."""

import atexit
import shutil
import tempfile

from absl import flags
from absl.testing import absltest

flags.FLAGS.mark_as_parsed()

# absl's default is one folder for every run; a run must not see another's files.
_folder = tempfile.mkdtemp(prefix="robust_tfds_tests")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
flags.FLAGS[absltest.TEST_TMPDIR.name].value = _folder
