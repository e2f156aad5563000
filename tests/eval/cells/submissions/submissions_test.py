"""The two functions of the package: written, then checked."""

import pathlib

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.eval.cells import submissions
from tests.eval.cells.submissions import small


class SubmissionsTest(absltest.TestCase):
  def test_what_is_exported_is_consistent(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    facts = {"trained_on": None, "corruptions_seen": None}
    run = small.run(root / "run", of_models=facts)
    out = root / "out"
    with self.assertRaisesRegex(errors.UserError, "Nobody says what"):
      submissions.export([run], out)
    words = {"a": "some digits"}
    text = submissions.export([run], out, words, {"a": ["fog"]})
    self.assertIn("a submission of a: 3 cells, 9 files", text)
    checked = submissions.check(out)
    self.assertStartsWith(checked, "consistent")
    self.assertIn("a: trained on some digits; test corruptions seen", checked)


if __name__ == "__main__":
  absltest.main()
