"""What TensorFlow says while it is imported."""

import pathlib
import tempfile

from absl.testing import absltest

from robust_tfds import datasets
from tests import in_process

_FALSE = """
import os
os.write(2, b"WARNING: ... before absl::InitializeLog() is called ...\\n")
os.write(2, b"I0000 port.cc] oneDNN custom operations are on. ...\\n")
os.write(2, b"something else\\n")
"""


class LinesTest(absltest.TestCase):
  def test_known_lines_are_left_out(self):
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "tensorflow.py").write_text(_FALSE)
    program = (
      f"import os, sys; sys.path.insert(0, {str(folder)!r});"
      " from robust_tfds import tensorflow_lines as lines; lines.leave_out();"
      " import importlib.util; importlib.util.find_spec('tensorflow');"
      " import tensorflow; os.write(2, b'after\\n')"
    )
    done = in_process.python("-c", program)
    self.assertEqual(
      (done.returncode, done.stderr), (0, "something else\nafter\n")
    )

  def test_a_config_that_tfds_does_not_list(self):
    folder = self.create_tempdir().full_path
    with self.assertNoLogs("absl", "WARNING"):
      made = datasets.builder("digits_c", "fog_1", seed=1, data_dir=folder)
    self.assertEqual(made.config.name, "fog_1_seed1")

  def test_where_there_is_none(self):
    program = (
      "import sys; from robust_tfds import tensorflow_lines as lines\n"
      "lines.leave_out(); sys.path[:] = [p for p in sys.path if 'site' not in p]\n"
      "try:\n  import tensorflow\nexcept ModuleNotFoundError as e:\n  print(e)\n"
    )
    done = in_process.python("-c", program)
    self.assertEqual(done.stdout, "No module named 'tensorflow'\n", done.stderr)
