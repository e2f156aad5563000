"""ImageNet-22K's subtypes: the list, TFDS's own test case, what is absent."""

import collections
import pathlib
import shutil
from unittest import mock

import tensorflow_datasets as tfds
from absl import logging
from absl.testing import absltest

from robust_tfds import datasets, missing
from robust_tfds.building.sources import imagenet
from robust_tfds.datasets.imagenet22k_subtypes import (
  imagenet22k_subtypes_dataset_builder as subtypes,
)

_DUMMY = pathlib.Path(subtypes.__file__).with_name("dummy_data")


class ListTest(absltest.TestCase):
  def test_the_list_is_the_scripts(self):
    # The fact sheet of training: 542 seen, 5,017 unseen; bird 850, dog 190 (118
    # seen), bear 12.
    rows = subtypes.rows()
    parts = collections.Counter(row["split"] for row in rows)
    self.assertEqual(parts, {"seen": 542, "unseen": 5_017})
    self.assertLen({row["wnid"] for row in rows}, 5_559)
    kinds = collections.Counter(row["type"] for row in rows)
    self.assertLen(kinds, 25)
    self.assertEqual(
      (kinds["bird"], kinds["dog"], kinds["bear"]), (850, 190, 12)
    )
    known = set(imagenet.wnids())
    for row in rows:
      self.assertEqual(row["wnid"] in known, row["split"] == "seen")
      label, part = subtypes.Builder.SUBTYPES[row["wnid"]]
      self.assertEqual(subtypes.Builder.CLASSES[label], row["type"])
      self.assertEqual(part, row["split"])
    dogs = [r for r in rows if r["type"] == "dog" and r["split"] == "seen"]
    self.assertLen(dogs, 118)


class BuilderTest(tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = subtypes.Builder
  SPLITS = {"train": 1, "seen": 1, "unseen": 1}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean"]
  SKIP_TF1_GRAPH_MODE = True


class AbsentTest(absltest.TestCase):
  def test_absent_wnids_are_listed_and_said(self):
    folder = self.create_tempdir().full_path
    said: list[str] = []
    built = datasets.prepare(
      "imagenet22k_subtypes",
      data_dir=folder,
      manual_dir=_DUMMY,
      say=said.append,
    )
    absent = built.absent()
    counts = {split: len(names) for split, names in absent.items()}
    self.assertEqual(counts, {"train": 541, "seen": 541, "unseen": 5_016})
    self.assertNotIn("n01627424", absent["unseen"])
    (words,) = [line for line in said if "unseen" in line]
    self.assertIn("5,016 of 5,017 subtypes of unseen have no picture", words)
    self.assertIn(absent["unseen"][-1], words)
    again = datasets.builder("imagenet22k_subtypes", data_dir=folder)
    self.assertEqual(again.absent(), absent)
    (row,) = tfds.as_numpy(built.as_dataset(split="unseen"))
    self.assertEqual(row["example_id"], b"n01627424/n01627424_7.JPEG")
    self.assertEqual((row["group_id"], row["label"]), (b"n01627424", 0))
    self.assertEqual(row["image"].shape, (224, 224, 3))

  def test_are_logged_where_nobody_listens(self):
    with mock.patch.object(logging, "warning") as warned:
      subtypes.Builder(data_dir=self.create_tempdir()).download_and_prepare(
        download_config=tfds.download.DownloadConfig(manual_dir=str(_DUMMY))
      )
    said = [str(call.args[0]) for call in warned.call_args_list]
    self.assertTrue(any("5,016 of 5,017" in line for line in said), said)

  def test_a_split_without_any_is_refused(self):
    manual = pathlib.Path(self.create_tempdir()) / "manual"
    shutil.copytree(_DUMMY, manual)
    shutil.rmtree(manual / "imagenet22k")
    with self.assertRaisesRegex(
      missing.MissingError, "no picture of a subtype of split unseen"
    ):
      datasets.prepare(
        "imagenet22k_subtypes",
        data_dir=self.create_tempdir(),
        manual_dir=manual,
      )


if __name__ == "__main__":
  absltest.main()
