"""Moving aside; what counts as damage is in workdir_test.py at its doors."""

import pathlib

from absl.testing import absltest

from robust_tfds.eval.cells import damage


class DamageTest(absltest.TestCase):
  def test_nothing_is_overwritten(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    for number in ("1", "2", "3"):
      (root / "cells").mkdir()
      (root / "cells" / "x").write_text(number)
      damage.move_aside(root, root / "cells")
    kept = sorted((root / "damaged").glob("*/x"))
    self.assertEqual([p.read_text() for p in kept], ["1", "2", "3"])

  def test_says_what_to_do(self):
    error = damage.DamagedError("a/b: empty.", pathlib.Path("a"))
    self.assertStartsWith(str(error), "a/b: empty. Run eval.main again with")
    self.assertEqual(error.reason, "a/b: empty.")
