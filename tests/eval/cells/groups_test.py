"""Which examples belong together, whatever their groups are called."""

import numpy as np
from absl.testing import absltest

from eval.cells import groups


def _columns(names, ids="abcd"):
  return {"example_id": np.array(list(ids)), "group_id": np.array(list(names))}


class GroupsTest(absltest.TestCase):
  def test_a_partition_has_no_names(self):
    one = groups.partition(_columns("xxyy"))
    self.assertLen(one, 64)
    self.assertEqual(one, groups.partition(_columns("9911")))
    self.assertNotEqual(one, groups.partition(_columns("xyxy")))
    self.assertNotEqual(one, groups.partition(_columns("xxxy")))

  def test_examples_of_their_own(self):
    self.assertEqual(groups.partition(_columns("abcd")), "")
    self.assertEqual(groups.partition(_columns("wxyz")), "")
    # Frames of one example.
    self.assertEqual(groups.partition(_columns("xxyy", ids="aabb")), "")

  def test_equal_groups_get_the_first_names(self):
    names = groups.Names()
    first = _columns("xxyy")
    self.assertIs(names.of("d", first)["group_id"], first["group_id"])
    for other, expected in (
      (_columns("9911"), "xxyy"),
      (_columns("xyyy"), "xyyy"),
      (_columns("9911", ids="abce"), "9911"),
    ):
      got = names.of("d", other)["group_id"]
      self.assertEqual("".join(got), expected)
    self.assertEqual(names.of("other", _columns("9911"))["group_id"][0], "9")
