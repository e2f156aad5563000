"""Names of members, and how much they may grow."""

import os
from unittest import mock

from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.reading import members


class MembersTest(parameterized.TestCase):
  @parameterized.parameters(
    ("a/b.JPEG", "a/b.JPEG"),
    ("./a//b", "a/b"),
    ("a/./b/", "a/b"),
    ("a/.hidden", "a/.hidden"),
    (".", ""),
    ("ü/#1 [a];(b)&!.avi", "ü/#1 [a];(b)&!.avi"),
  )
  def test_plain_names(self, name, plain):
    self.assertEqual(members.plain_name(name), plain)
    self.assertEqual(bool(members.name_fault(name)), not plain)

  @parameterized.parameters(
    ("/a", "absolute"),
    ("C:\\a", "absolute"),
    ("a/../b", "leaves"),
    ("..", "leaves"),
    ("", "no proper name"),
    ("a\0b", "no proper name"),
    ("a\udcff", "not UTF-8"),
  )
  def test_faults(self, name, fault):
    self.assertIn(fault, members.name_fault(name))

  def test_dots_that_are_not_two(self):
    for name in ("a..b/c", "..a/b", "a/...", "a../b"):
      self.assertEqual(members.name_fault(name), "")

  def test_growth(self):
    members.check_growth(60 << 20, 1, "a.zip: x")  # small, whatever the ratio
    members.check_growth(900 << 20, 10 << 20, "a.zip: x")
    with self.assertRaisesRegex(
      errors.UserError, "^a.zip: x: .*ROBUST_TFDS_LIMITS"
    ):
      members.check_growth(1100 << 20, 10 << 20, "a.zip: x")
    with mock.patch.dict(os.environ, ROBUST_TFDS_LIMITS="2"):
      members.check_growth(1100 << 20, 10 << 20, "a.zip: x")
