"""Where pages lie: keys that cannot name files are refused."""

import dataclasses

from absl.testing import absltest

from eval.report.pages import layout
from tests.eval.report.pages import boards


class LayoutTest(absltest.TestCase):
  def test_no_two_files_share_a_name_also_without_case(self):
    listed = boards.several()
    layout.check(listed)
    paths = []
    for board in listed:
      kinds = ("", "corruptions", "cells")
      paths += [layout.board(board), *(layout.csv(board, k) for k in kinds)]
      paths += [layout.model(entry) for entry in board.entries]
    self.assertLen({p.casefold() for p in paths}, len(paths))

  def test_files_of_a_board_are_no_other_boards(self):
    one = boards.classification(1, key="a")
    other = boards.classification(1, key="a-cells")
    self.assertNotEqual(layout.csv(one, "cells"), layout.csv(other))

  def test_keys_that_name_no_files(self):
    one = boards.classification(1, key="a")
    for listed, named in (
      ([one, one], "a"),
      ([one, dataclasses.replace(one, key="b")], "a-0"),
      ([one, boards.classification(1, key="A")], "A, a"),
      ([boards.classification(0, key="../a")], "../a"),
      ([boards.classification(0, key="")], ""),
    ):
      with self.assertRaisesRegex(ValueError, f"valid: .*{named}"):
        layout.check(listed)
