"""Where pages lie and how they refer to each other."""

import dataclasses

from absl.testing import absltest

from robust_tfds.eval.site import layout
from tests.eval.site import boards


class LayoutTest(absltest.TestCase):
  def test_no_two_files_share_a_name_also_without_case(self):
    listed = boards.several()
    places = layout.Layout.of(listed)
    paths = [layout.INDEX, layout.DEFINITIONS]
    for board in listed:
      kinds = ("", "corruptions", "cells")
      paths += [places.board(board), *(places.csv(board, k) for k in kinds)]
      paths += [places.model(entry) for entry in board.entries]
    self.assertLen({p.casefold() for p in paths}, len(paths))

  def test_files_of_a_board_are_no_other_boards(self):
    one = boards.classification(1, key="a")
    other = boards.classification(1, key="a-cells")
    places = layout.Layout.of([one, other])
    self.assertNotEqual(places.csv(one, "cells"), places.csv(other))

  def test_two_of_one_key(self):
    one = boards.classification(1, key="a")
    with self.assertRaisesRegex(ValueError, "twice: a"):
      layout.Layout.of([one, one])
    other = dataclasses.replace(one, key="b")
    with self.assertRaisesRegex(ValueError, "twice: a-0"):
      layout.Layout.of([one, other])

  def test_relative(self):
    self.assertEqual(
      layout.relative("boards/a.html", "index.html"), "boards/a.html"
    )
    self.assertEqual(
      layout.relative("index.html", "models/a.html"), "../index.html"
    )


if __name__ == "__main__":
  absltest.main()
