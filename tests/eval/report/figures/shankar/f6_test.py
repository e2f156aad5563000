"""Figure 6: three accuracies a model, and no single models."""

import dataclasses
import pathlib

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.eval.report.figures import base
from tests.eval.report.figures import boards, lines


class Figure6Test(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def test_three_numbers_a_model(self):
    got = lines.of("shankar_f6", self.folder, boards.request("frames"))
    metrics = {x["metric"] for x in got if x["model"] == "ours"}
    self.assertEqual(metrics, {"acc_orig", "acc_static_worst", "acc_pmk"})
    self.assertLen(got, 6)

  def test_runs_of_one_model_are_refused(self):
    board = boards.board("frames")
    entries = [
      dataclasses.replace(
        e,
        numbers={
          k: v for k, v in e.numbers.items() if k[0] != "acc_static_worst"
        },
      )
      for e in board.entries
    ]
    request = base.Request(boards=[dataclasses.replace(board, entries=entries)])
    with self.assertRaisesRegex(errors.UserError, "two models or more"):
      lines.of("shankar_f6", self.folder, request)


if __name__ == "__main__":
  absltest.main()
