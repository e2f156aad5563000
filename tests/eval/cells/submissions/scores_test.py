"""The table of cells is that of eval.score."""

import pathlib

from absl.testing import absltest

from robust_tfds.eval.cells import table
from robust_tfds.eval.cells.submissions import scores
from robust_tfds.eval.readers import base
from robust_tfds.eval.readers.workdir import WorkdirReader
from robust_tfds.eval.run import rescore
from tests.eval.cells.submissions import small


class ScoresTest(absltest.TestCase):
  def test_the_table_of_a_run(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    run = small.run(root / "run", ("a", "b"))
    rescore.score([run], root / "scored", base.Options())
    rows = scores.rows(WorkdirReader().read([run], base.Options()))
    text = (root / "scored" / "table.csv").read_text()
    self.assertEqual(table.dumps(rows), text)


if __name__ == "__main__":
  absltest.main()
