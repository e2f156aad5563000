"""Files of a submission: names, kinds, sizes. The campaign is in checker_test."""

from unittest import mock

from absl.testing import parameterized

from eval.submissions import layout
from robust_tfds import errors
from tests import fake_bucket, in_folder


class LayoutTest(in_folder.TestCase):
  def test_files_have_their_paths_below_the_folder(self):
    for name in ("a.txt", "b/c.txt", "b/d/e.txt"):
      path = self.root / name
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_text(name)
    expected = {"a.txt", "b/c.txt", "b/d/e.txt"}
    self.assertEqual(layout.files_of(self.root), expected)

  def test_files_of_a_bucket(self):
    folder = fake_bucket.create(self) / "submission"
    (folder / "a.txt").write_text("a")
    (folder / "b" / "c.txt").write_text("c")
    self.assertEqual(layout.files_of(folder), {"a.txt", "b/c.txt"})

  @parameterized.parameters(
    "config.json",
    "truth.sha256",
    "models/a/weights.npz",
    f"examples/{'0' * 16}.npz",
    "cells/my%20net/imagenet_c/fog_3/seed0/predictions.npz",
    "cells/m%C3%BC/imagenet_c/clean/seed-1/provenance.json",
  )
  def test_names_of_a_submission(self, name):
    self.assertTrue(layout._ALLOWED.fullmatch(name))

  @parameterized.parameters(
    "scored.json",
    "config.json\n",
    "examples/x.npz",
    f"examples/{'0' * 16}.npz/x",
    "cells/a/predictions.npz",
    "cells/a/b/c/seed0/weights.pkl",
    "cells/a/b/../seed0/predictions.npz",
    "cells/a/.b/c/seed0/predictions.npz",
    "cells/a/b/c/seedx/predictions.npz",
    "models/a/variables/weights.npz",
    "models/a/weights.pkl",
  )
  def test_names_that_no_submission_has(self, name):
    self.assertFalse(layout._ALLOWED.fullmatch(name))

  def test_too_many_files(self):
    for i in range(3):
      (self.root / f"{i}").write_text("x")
    with self.assertRaisesRegex(errors.UserError, "more than 2 files"):
      with mock.patch.object(layout, "_MOST_FILES", 2):
        layout.files_of(self.root)
