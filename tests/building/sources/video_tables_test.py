"""Kinetics-400, SSv2 and UCF101-DS in their official layouts; refusals."""

import json

from absl.testing import parameterized

from robust_tfds import errors, movies
from tests.building.sources import action_layouts


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
      {"-abc_def1234_000005_000015.mp4": 399, "xyz_000120_000130.mp4": 0},
    )

  def test_refusals(self):
    self._put("kinetics400/validate.csv", "label,youtube_id\na,b\n")
    with self.assertRaisesRegex(
      ValueError, "validate.csv: line 1: no column 'time_start'"
    ):
      self._build()
    self._put(
      "kinetics400/validate.csv",
      "label,youtube_id,time_start,time_end\na,b,1.5,3\n",
    )
    with self.assertRaisesRegex(ValueError, "line 2: whole seconds"):
      self._build()

  @parameterized.parameters(
    ("zumb,b,1,3,val", "validate.csv, line 2.*'zumb'. Did you mean 'zumba'"),
    ("zumba,,1,3,val", "line 2: a YouTube id expected, got ''"),
    ("zumba,../b,1,3,val", "line 2: a YouTube id expected"),
    ("zumba,b,1,3", "line 2: 4 values, the header has 5 columns"),
    ("zumba,b,٣,3,val", "line 2: whole seconds"),
    ("zumba,xyz,120,130,val\nzumba,xyz,120,130,val", "line 3: .*listed twice"),
    ("zumba,b,1,3,train", "kinetics400_p.* no example"),
  )
  def test_broken_rows(self, row, message):
    head = "label,youtube_id,time_start,time_end,split"
    self._put("kinetics400/validate.csv", f"{head}\n{row}\n")
    with self.assertRaisesRegex(errors.UserError, message):
      self._build()


class Ssv2Test(action_layouts.Layout):
  NAME = "ssv2_p"
  SPLIT = "validation"

  def setUp(self):
    super().setUp()
    self._put(
      "something-something-v2-labels.json",
      action_layouts.ssv2_labels("Closing something", "Opening something"),
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
    with self.assertRaisesRegex(ValueError, "json: entry 0: template: 'Eating"):
      self._build()

  @parameterized.parameters(
    ("[", "validation.json: line 1, column 2: not JSON"),
    ("{}", "validation.json: got {}, expected a valid list"),
    ('[{"id": 7, "template": "x"}]', "json: 0.id: got 7, expected a valid str"),
    ('[{"id": "7"}]', "validation.json: 0.template: missing"),
    (
      '[{"id": "../7", "template": "Opening [something]"}]',
      "entry 0: id: a num",
    ),
    ("[]", "ssv2_p.* no example"),
  )
  def test_broken_lists(self, text, message):
    self._put("something-something-v2-validation.json", text)
    with self.assertRaisesRegex(errors.UserError, message):
      self._build()

  @parameterized.parameters(
    ('"173"', '"174"', "Class173.* has number 174; the 174 classes are"),
    ('"173"', '"172"', "Class173.* has number 172, which is 'Class172'"),
    (', "Class173": "173"', "", "labels.json: all 174 classes .* got 173"),
    ('"173"', "1.5", "Class173: the number of a class expected, got 1.5"),
    ("Class173", "Class172", "the key 'Class172' stands twice"),
  )
  def test_broken_labels(self, old, new, message):
    text = action_layouts.ssv2_labels("Closing something", "Opening something")
    name = "something-something-v2-labels.json"
    self._put(name, text.replace(old, new, 1))
    with self.assertRaisesRegex(errors.UserError, message):
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
      action_layouts.class_ind("Archery", "Billiards", "CleanAndJerk"),
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

  def test_clips_of_a_video_are_one_group(self):
    rows = [*self._ROWS, "Billiards,c.mp4,1,kids,Age"]
    self._list(rows)
    self._put(
      "UCF101-DS/Billiards/c.mp4", movies.encode(action_layouts.clip(1), fps=24)
    )
    groups = [v["group_id"] for _, v in sorted(self._build().items())]
    self.assertEqual(
      groups, [b"Billiards/1", b"Billiards/1", b"CleanandJerk/2"]
    )

  def test_the_papers_table(self):
    from robust_tfds.building.sources import video_tables

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
