"""Sets of subtypes: which digits are in which split, their ids, types, groups."""

import tensorflow_datasets as tfds
from absl.testing import absltest

import robust_tfds
from robust_tfds import datasets, strings
from robust_tfds.building import file_formats, subtypes


class SubtypesTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = absltest.TEST_TMPDIR.value + "/subtypes"
    cls.built = datasets.prepare("digits_subtypes", data_dir=folder)

  def test_the_embedded_set(self):
    counts = {"train": 1022, "seen": 231, "unseen": 544}
    parts = {"train": set("0681257"), "unseen": set("934")}
    loops = set("0689")
    for split, count in counts.items():
      rows = list(file_formats.rows(self.built, split))
      self.assertLen(rows, count)
      groups = {strings.text(row["group_id"]) for row in rows}
      self.assertEqual(groups, parts.get(split, parts["train"]))
      for row in rows[:50]:
        name = strings.text(row["example_id"])
        self.assertEqual(name[0], strings.text(row["group_id"]))
        self.assertEqual(row["label"], name[0] not in loops)
        self.assertEqual(type(self.built).known_label(name), row["label"])
        self.assertEqual(type(self.built).known_group(name), name[0])
    ids = [
      {
        strings.text(row["example_id"])
        for row in file_formats.rows(self.built, s)
      }
      for s in counts
    ]
    self.assertLen(set.union(*ids), 1797)  # no digit is in two splits

  def test_is_registered_and_lacks_nothing(self):
    for name in ("digits_subtypes", "imagenet22k_subtypes"):
      self.assertEqual(tfds.builder_cls(name).name, name)
      self.assertIn(name, robust_tfds.datasets.names())
    self.assertEqual(
      self.built.absent(), {"train": [], "seen": [], "unseen": []}
    )

  def test_absent_in_words(self):
    of = {"seen": ["a", "b"], "unseen": ["c", "d", "e"]}
    absent = {"seen": [], "unseen": ["c", "e"]}
    said = subtypes.absent_in_words(absent, of.__getitem__)
    words = "2 of 3 subtypes of unseen have no picture: c"
    self.assertEqual(said, [f"{words}, e"])
    few = subtypes.absent_in_words(absent, of.__getitem__, named=1)
    self.assertEqual(few, [f"{words} and others"])


if __name__ == "__main__":
  absltest.main()
