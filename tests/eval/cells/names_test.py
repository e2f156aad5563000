"""Users' names as folders."""

from absl.testing import parameterized

from eval.cells import names
from robust_tfds import errors


class NamesTest(parameterized.TestCase):
  @parameterized.parameters(
    ("resnet50", "resnet50"),
    ("v1.5+aug_x-2", "v1.5+aug_x-2"),
    ("größe", "größe"),
    ("google/vit", "google%2Fvit"),
    ("google-vit", "google-vit"),
    ("a b%", "a%20b%25"),
    ("..", "%2E%2E"),
    (".hidden", "%2Ehidden"),
    ("end.", "end%2E"),
    ("../../etc", "%2E.%2F..%2Fetc"),
    ("C:\\x", "C%3A%5Cx"),
  )
  def test_folder(self, name, folder):
    self.assertEqual(names.folder_name(name), folder)

  @parameterized.parameters("", "a\nb", "a\0b", "a\u202eb", "x" * 300, "/" * 90)
  def test_refused(self, name):
    with self.assertRaisesRegex(errors.UserError, "folder"):
      names.folder_name(name)

  @parameterized.parameters(("ResNet", "resnet"), ("\u212b", "\u00e5"))
  def test_names_that_some_disks_take_for_one(self, one, other):
    with self.assertRaisesRegex(errors.UserError, "The models .* Rename one"):
      names.check_distinct([one, "x", other], "model")
    names.check_distinct(["a/b", "a-b", "a_b", "a", "a"], "model")
