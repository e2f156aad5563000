"""Figure 2: frames that the review left out, counted."""

import pathlib

from absl.testing import absltest

from robust_tfds import errors
from tests.eval.report.figures import boards, lines


class Figure2Test(absltest.TestCase):
  def test_counts_by_offset(self):
    """Of two sets of three frames one frame, one after its anchor, is out."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    got = {
      line["offset"]: (line["share left out"], line["frames"])
      for line in lines.of("shankar_f2", folder, boards.request("frames"))
    }
    self.assertEqual(got, {"-1": ("0.0", "2"), "1": ("0.5", "2")})

  def test_a_run_of_reviewed_frames_is_refused(self):
    request = boards.request("frames")
    for one in request.scored:
      columns = one.side.columns
      one.side.columns = lambda c, of=columns: {
        k: v for k, v in of(c).items() if k != "reviewed"
      }
    folder = pathlib.Path(self.create_tempdir().full_path)
    with self.assertRaisesRegex(errors.UserError, "config.data.config=all"):
      lines.of("shankar_f2", folder, request)


if __name__ == "__main__":
  absltest.main()
