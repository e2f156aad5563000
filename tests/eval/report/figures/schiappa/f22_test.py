"""Figure 22: accuracy lost by class."""

import dataclasses
import pathlib

from absl.testing import absltest

from tests.eval.report.figures import boards, lines


class Figure22Test(absltest.TestCase):
  def test_by_class(self):
    """Severity 3 turns both videos of the first class and one of the second."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    request = dataclasses.replace(
      boards.request("video"), condition="jumbling_3"
    )
    got = {
      x["class"]: (x["clean accuracy"], x["accuracy"], x["lost"])
      for x in lines.of("schiappa_f22", folder, request)
      if x["model"] == "ours"
    }
    self.assertEqual(
      got,
      {
        "cat_0": ("1.0", "0.0", "1.0"),
        "dog": ("1.0", "0.5", "0.5"),
        "newt": ("1.0", "1.0", "0.0"),
      },
    )


if __name__ == "__main__":
  absltest.main()
