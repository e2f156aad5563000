"""Moving aside; what counts as damage is in workdir_test.py at its doors."""

import pathlib

from eval.cells.files import damage
from tests import in_folder


class DamageTest(in_folder.TestCase):
  def test_nothing_is_overwritten(self):
    for number in ("1", "2", "3"):
      (self.root / "cells").mkdir()
      (self.root / "cells" / "x").write_text(number)
      damage.move_aside(self.root, self.root / "cells")
    kept = sorted((self.root / "damaged").glob("*/x"))
    self.assertEqual([p.read_text() for p in kept], ["1", "2", "3"])

  def test_says_what_to_do(self):
    error = damage.DamagedError("a/b: empty.", pathlib.Path("a"))
    self.assertStartsWith(str(error), "a/b: empty. Run eval.main again with")
    self.assertEqual(error.reason, "a/b: empty.")
