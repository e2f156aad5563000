"""Kinetics-400, SSv2 and UCF101-DS in their official layouts; refusals."""

import json

from absl.testing import absltest

from robust_tfds import movies
from tests.datasets.sources import action_layouts


class Kinetics400Test(action_layouts.Layout):
  NAME = "kinetics400_p"
  SPLIT = "validation"

  def setUp(self):
    super().setUp()
    self._put(
      "kinetics400/validate.csv",
      "label,youtube_id,time_start,time_end,split\n"
      "zumba,-abc_def1234,5,15,val\n"
      "abseiling,xyz,120,130,val\n"
      "abseiling,gone,0,10,val\n",
    )
    data = movies.encode(action_layouts.clip(0), fps=30000 / 1001)
    self._put("kinetics400/val/-abc_def1234_000005_000015.mp4", data)
    self._put("kinetics400/val/abseiling/xyz_000120_000130.mp4", data)

  def test_labels_and_missing_videos(self):
    self.assertEqual(
      self._labels(),
      {"-abc_def1234_000005_000015.mp4": 1, "xyz_000120_000130.mp4": 0},
    )

  def test_refusals(self):
    self._put("kinetics400/validate.csv", "label,youtube_id\na,b\n")
    with self.assertRaisesRegex(ValueError, "lacks the columns time_start"):
      self._build()
    self._put(
      "kinetics400/validate.csv",
      "label,youtube_id,time_start,time_end\na,b,1.5,3\n",
    )
    with self.assertRaisesRegex(ValueError, "line 2: whole seconds"):
      self._build()


class Ssv2Test(action_layouts.Layout):
  NAME = "ssv2_p"
  SPLIT = "validation"

  def setUp(self):
    super().setUp()
    self._put(
      "something-something-v2-labels.json",
      json.dumps({"Opening something": "1", "Closing something": "0"}),
    )
    self.entries = [
      {"id": "7", "label": "opening a box", "template": "Opening [something]"},
      {"id": "9", "label": "closing it", "template": "Closing [something]"},
    ]
    self._lists()
    data = movies.encode(action_layouts.clip(0), fps=12)
    for n in (7, 9):
      self._put(f"20bn-something-something-v2/{n}.webm", data)

  def _lists(self):
    self._put(
      "something-something-v2-validation.json", json.dumps(self.entries)
    )

  def test_labels(self):
    self.assertEqual(self._labels(), {"7.webm": 1, "9.webm": 0})

  def test_refusals(self):
    self.entries[0]["template"] = "Eating [something]"
    self._lists()
    with self.assertRaisesRegex(ValueError, "Entry 0"):
      self._build()
    self._put("something-something-v2-validation.json", "[")
    with self.assertRaisesRegex(ValueError, "no JSON"):
      self._build()


class Ucf101DsTest(action_layouts.Layout):
  NAME = "ucf101_ds"
  _ROWS = (
    "Billiards,a.mp4,1,kids,Age",
    "CleanandJerk,b.webm,2,prank,Behavioral",
  )

  def setUp(self):
    super().setUp()
    self._put(
      "ucfTrainTestlist/classInd.txt",
      "1 Archery\n2 Billiards\n3 CleanAndJerk\n",
    )
    self._list(self._ROWS)
    data = movies.encode(action_layouts.clip(0), fps=24)
    self._put("UCF101-DS/Billiards/a.mp4", data)
    self._put("UCF101-DS/CleanandJerk/b.webm", data)

  def _list(self, rows):
    head = "label,filename,video_id,shift,category"
    self._put("ucf101-DS_eval.csv", "\n".join([head, *rows]) + "\n")

  def test_shifts_and_spellings(self):
    found = self._build()
    self.assertEqual(
      {
        k: (int(v["label"]), v["shift"], v["category"])
        for k, v in found.items()
      },
      {
        "Billiards/a.mp4": (1, b"kids", b"Age"),
        "CleanandJerk/b.webm": (2, b"prank", b"Behavioral"),
      },
    )

  def test_the_papers_table(self):
    from robust_tfds.datasets.sources import video_tables

    self.assertLen(video_tables.category_of(), 63)
    self.assertLen(set(video_tables.category_of().values()), 14)

  def test_refusals(self):
    self._list(["Billiard,a.mp4,1,kids,Age"])
    with self.assertRaisesRegex(ValueError, "line 2: 'Billiard' is no class"):
      self._build()
    self._list(["Billiards,a.mp4,1,kids,Weather"])
    with self.assertRaisesRegex(ValueError, "of category 'Age'"):
      self._build()
    self._list(["Billiards,a.txt,1,kids,Age"])
    with self.assertRaisesRegex(ValueError, "a.txt"):
      self._build()
    self._list([self._ROWS[0], self._ROWS[0]])
    with self.assertRaisesRegex(ValueError, "listed twice"):
      self._build()


if __name__ == "__main__":
  absltest.main()
