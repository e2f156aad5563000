"""Frames to fine-tune on: broken layouts; whole ones by `datasets.training`."""

import pathlib

from absl.testing import absltest, parameterized

from robust_tfds import errors
from robust_tfds.building.sources import training_frames
from tests import tiny_files

_WNIDS = ["n02691156", "n02419796"]
_LISTS = "ILSVRC/ImageSets/VID"
_TABLE = "ytbb_robustness_train_anchors_full.csv"


class TrainingFramesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  @parameterized.parameters(
    ("p/a 0\n", "<annotation/>", "train_1.txt, line 1: <part>/<video> 1"),
    ("../a 1\n", "<annotation/>", "train_1.txt, line 1: <part>/<video> 1"),
    ("p/b 1\n", "<annotation/>", "No frame in .*p/b"),
    (
      "p/a 1\n",
      "<annotation><object><name>n1</name></object></annotation>",
      "0.xml: 'n1' is not one of the 30",
    ),
    (
      "p/a 1\n",
      f"<annotation><object><name>{_WNIDS[0]}</name></object></annotation>",
      "bndbox/xmin: a whole number expected, got ''",
    ),
  )
  def test_broken_videos(self, line, xml, message):
    files = {
      f"{_LISTS}/train_1.txt": line,
      f"{_LISTS}/train_2.txt": "p/a 1\n",
      "ILSVRC/Data/VID/train/p/a/0.JPEG": b"",
      "ILSVRC/Annotations/VID/train/p/a/0.xml": xml,
    }
    tiny_files.put(self.root, files)
    with self.assertRaisesRegex((errors.UserError, FileNotFoundError), message):
      training_frames.imagenet_vid(self.root, _WNIDS)

  def test_a_list_that_is_not_there(self):
    tiny_files.put(self.root, {f"{_LISTS}/train_1.txt": ""})
    with self.assertRaisesRegex(FileNotFoundError, "No .*train_2.txt"):
      training_frames.imagenet_vid(self.root, _WNIDS)

  @parameterized.parameters(
    ("a,5,24", "line 2: a YouTube id and a label from 0 to 23"),
    ("a/b,5,2", "line 2: a YouTube id"),
    ("a,-5,2", "line 2: time_ms: a whole number expected, got '-5'"),
    ("a,5,2", "1 of 1 anchors are absent, e.g. .*ytbb_train/a_5.jpg"),
  )
  def test_broken_anchors(self, row, message):
    tiny_files.put(self.root, {_TABLE: f"ytid,time_ms,label\n{row}\n"})
    with self.assertRaisesRegex((errors.UserError, FileNotFoundError), message):
      training_frames.ytbb(self.root, 24, {})


if __name__ == "__main__":
  absltest.main()
