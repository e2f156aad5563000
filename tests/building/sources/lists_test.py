"""Lists of classes, splits, videos and anchors."""

import json

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized

from robust_tfds import corruptions, datasets, errors, movies
from robust_tfds.building import frames
from robust_tfds.building.sources import (
  anchor_sets,
  class_lists,
  video_lists,
  wnids,
)
from tests import in_folder, tiny_files
from tests.building.sources import action_layouts


class ClassListsTest(parameterized.TestCase):
  """Class lists: whole, in the benchmark's order, or refused."""

  @parameterized.parameters(
    (class_lists.KINETICS400, 400, "abseiling", "zumba"),
    (class_lists.HMDB51, 51, "brush_hair", "wave"),
  )
  def test_packaged(self, name, count, first, last):
    label_of = class_lists.packaged(name)
    self.assertLen(label_of, count)
    self.assertEqual(list(label_of), sorted(label_of))
    self.assertEqual((label_of[first], label_of[last]), (0, count - 1))


class Ucf101Test(action_layouts.Layout):
  """HMDB51 and UCF101 in their official layouts, made small; refusals."""

  NAME = "ucf101_p"

  def setUp(self):
    super().setUp()
    self._classes(action_layouts.class_ind("Archery", "HandstandPushups"))
    self._put(
      "ucfTrainTestlist/testlist01.txt",
      "Archery/v_Archery_g01_c01.avi\r\n"
      "HandstandPushups/v_HandStandPushups_g01_c01.avi\n",
    )
    self._put("UCF-101/Archery/v_Archery_g01_c01.avi", action_layouts.avi(0))
    self._put(
      "UCF-101/HandstandPushups/v_HandStandPushups_g01_c01.avi",
      action_layouts.avi(1),
    )

  def _classes(self, text):
    self._put("ucfTrainTestlist/classInd.txt", text)

  def test_clean_and_perturbed(self):
    found = self._build()
    self.assertEqual(
      {k: int(v["label"]) for k, v in found.items()},
      {"v_Archery_g01_c01.avi": 0, "v_HandStandPushups_g01_c01.avi": 1},
    )
    self.assertEqual(
      [v["group_id"] for _, v in sorted(found.items())],
      [b"v_Archery_g01", b"v_HandStandPushups_g01"],
    )
    name = "v_Archery_g01_c01.avi"
    np.testing.assert_array_equal(found[name]["video"], action_layouts.clip(0))
    self.assertEqual(found[name]["fps"], 25.0)
    noisy = self._build("shot_noise_2")[name]["video"]
    key = corruptions.example_key(0, "ucf101_p", "shot_noise", 2, name)
    np.testing.assert_array_equal(
      noisy,
      corruptions.perturb_video(
        action_layouts.clip(0), "shot_noise", 2, key=key
      ),
    )

  def test_refusals(self):
    (self.root / "UCF-101/Archery/v_Archery_g01_c01.avi").unlink()
    with self.assertRaisesRegex(FileNotFoundError, "1 of 2 listed videos"):
      self._build()
    self._put("UCF-101/Archery/v_Archery_g01_c01.avi", b"no video")
    with self.assertRaisesRegex(ValueError, "v_Archery_g01_c01.avi: .*video"):
      self._build()
    self._put("ucfTrainTestlist/testlist01.txt", "Archry/a.avi\n")
    with self.assertRaisesRegex(ValueError, "line 1"):
      self._build()
    self._put("ucfTrainTestlist/testlist01.txt", "Archery/../../a.avi\n")
    with self.assertRaisesRegex(ValueError, "line 1"):
      self._build()

  @parameterized.named_parameters(
    ("form", "1 ", "", "classInd.txt, line 1: <number> <Class>"),
    (
      "index_0",
      "1 Archery",
      "0 Archery",
      "line 1: 'Archery' has number 0; the",
    ),
    (
      "class_twice",
      "3 Class2",
      "3 Archery",
      "line 3: 'Archery' is listed twice",
    ),
    ("index_twice", "3 C", "2 C", "line 3: 'Class2' has number 2, which is"),
    (
      "one_less",
      "101 Class100\n",
      "",
      "classInd.txt: all 101 classes .* got 100",
    ),
    ("foreign_digits", "1 A", "١ A", "line 1: <number> <Class>"),
  )
  def test_broken_classes(self, old, new, message):
    text = action_layouts.class_ind("Archery", "HandstandPushups")
    self._classes(text.replace(old, new, 1))
    with self.assertRaisesRegex(errors.UserError, message):
      self._build()

  def test_other_splits(self):
    name = "v_Archery_g09_c01.avi"
    self._put(f"UCF-101/Archery/{name}", action_layouts.avi(2))
    self._put("ucfTrainTestlist/testlist03.txt", f"Archery/{name}\n")
    built = self._prepared("shot_noise_2")
    sizes = {k: v.num_examples for k, v in built.info.splits.items()}
    self.assertEqual(sizes, {"test": 2, "test_3": 1})
    (row,) = tfds.as_numpy(built.as_dataset(split="test_3"))
    key = corruptions.example_key(0, "ucf101_p", "shot_noise", 2, name)
    clip = action_layouts.clip(2)
    np.testing.assert_array_equal(
      row["video"], corruptions.perturb_video(clip, "shot_noise", 2, key=key)
    )
    look = {"data_dir": self.root / "none", "manual_dir": self.root}
    for split, count in (("test", 0), ("test_2", 1), ("test_3", 0)):
      there = datasets.lacks(self.NAME, ["clean"], split=split, **look)
      self.assertLen(there, count, split)
    (self.root / "ucfTrainTestlist/testlist01.txt").unlink()
    self.assertEqual([*self._prepared("clean").info.splits], ["test_3"])
    (self.root / "ucfTrainTestlist/testlist03.txt").unlink()
    with self.assertRaisesRegex(FileNotFoundError, "No .*testlist01.txt"):
      self._build()

  def test_an_empty_list_of_videos(self):
    self._put("ucfTrainTestlist/testlist01.txt", "")
    with self.assertRaisesRegex(errors.UserError, "ucf101_p.* no example"):
      self._build()


class Hmdb51Test(action_layouts.Layout):
  NAME = "hmdb51_p"
  _ODD = "#20_Rhythm;[a]&(b)!_f_nm_np1.avi"

  def setUp(self):
    super().setUp()
    splits = "testTrainMulti_7030_splits"
    self._put(f"{splits}/wave_test_split1.txt", f"{self._ODD} 2 \nb.avi 1 \n")
    self._put(f"{splits}/catch_test_split1.txt", "c.avi 2\nd.avi 0\n")
    self._put(f"hmdb51_org/wave/{self._ODD}", action_layouts.avi(0, 30.0))
    self._put("hmdb51_org/catch/c.avi", action_layouts.avi(1))

  def test_labels(self):
    self.assertEqual(
      self._labels(), {"catch/c.avi": 2, f"wave/{self._ODD}": 50}
    )

  def test_clips_of_a_film_are_one_group(self):
    clips = {
      "wave/April_09_wave_u_nm_np1_ba_goo_0.avi": b"April_09",
      "wave/April_09_wave_u_cm_np2_fr_bad_12.avi": b"April_09",
      "catch/April_09_catch_h_nm_np1_le_med_3.avi": b"April_09",
      "catch/Other_catch_f_nm_np1_ri_med_0.avi": b"Other",
      "catch/c.avi": b"catch/c.avi",
    }
    for kind in ("wave", "catch"):
      names = [n.split("/")[1] for n in clips if n.startswith(kind)]
      lists = f"testTrainMulti_7030_splits/{kind}_test_split1.txt"
      self._put(lists, "".join(f"{n} 2\n" for n in names))
    for name in clips:
      self._put(f"hmdb51_org/{name}", action_layouts.avi(0))
    found = self._build()
    self.assertEqual({k: v["group_id"] for k, v in found.items()}, clips)

  def test_a_clip_of_two_splits(self):
    self._put("testTrainMulti_7030_splits/catch_test_split2.txt", "c.avi 2\n")
    with self.assertRaisesRegex(
      errors.UserError, "wave_test_split2.txt is not"
    ):
      self._build()
    self._put("testTrainMulti_7030_splits/wave_test_split2.txt", "b.avi 0\n")
    built = self._prepared("clean")
    rows = {
      split: [e["example_id"] for e in tfds.as_numpy(built.as_dataset(split))]
      for split in built.info.splits
    }
    self.assertEqual(rows["test_2"], [b"catch/c.avi"])
    self.assertIn(b"catch/c.avi", rows["test"])

  def test_refusals(self):
    self._put(
      "testTrainMulti_7030_splits/wave_test_split1.txt", "a.avi three\n"
    )
    with self.assertRaisesRegex(ValueError, "wave_test_split1.txt, line 1"):
      self._build()

  def test_a_class_of_another_set(self):
    self._put("testTrainMulti_7030_splits/waves_test_split1.txt", "c.avi 2\n")
    with self.assertRaisesRegex(
      errors.UserError, "waves_test_split1.txt.*'waves'. Did you mean 'wave'"
    ):
      self._build()


class VideoListsTest(in_folder.TestCase):
  """Listed videos: the first place counts, absent ones are named."""

  def _entry(self, name: str, label: int = 0) -> video_lists.Entry:
    places = [self.root / folder / name for folder in ("mine", "theirs")]
    return video_lists.Entry("list, line 1", name, label, places, {"a": label})

  def _put(self, folder: str, name: str, data: bytes) -> None:
    tiny_files.put(self.root / folder, {name: data})

  def test_sources_in_the_lists_order(self):
    self._put("theirs", "b.avi", b"1")
    self._put("theirs", "a.avi", b"2")
    self._put("mine", "a.avi", b"3")
    sources = video_lists.sources(
      [self._entry("b.avi", 4), self._entry("a.avi", 2)], "Help."
    )
    self.assertEqual([s.example_id for s in sources], ["b.avi", "a.avi"])
    self.assertEqual([s.label for s in sources], [4, 2])
    self.assertEqual([s.file.data() for s in sources], [b"1", b"3"])
    self.assertEqual(sources[0].extra, {"a": 4})

  def test_first_list(self):
    (self.root / "two.txt").write_text("x")
    names = ("one.txt", "two.txt")
    path = video_lists.first_file(self.root, names, "Help.")
    self.assertEqual(path, self.root / "two.txt")
    with self.assertRaisesRegex(FileNotFoundError, "None of one.txt is in"):
      video_lists.first_file(self.root, names[:1], "Help.")


class Kinetics400Test(action_layouts.Layout):
  """Kinetics-400, SSv2 and UCF101-DS in their official layouts; refusals."""

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
    ("{}", "validation.json: got {}, expected a valid list"),
    ('[{"id": 7, "template": "x"}]', "json: 0.id: got 7, expected a valid str"),
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


def _path_at(offset: int) -> str:
  """The anchor is the video's frame 5; there is none before the first."""
  return f"v/{5 + offset:02d}.jpg" if offset >= -5 else ""


class AnchorSetsTest(in_folder.TestCase):
  """Anchors and the frames near them: which count, and which are missing."""

  def setUp(self):
    super().setUp()
    (self.root / "v").mkdir()

  def _put(self, *offsets: int) -> None:
    for offset in offsets:
      (self.root / _path_at(offset)).write_bytes(_path_at(offset).encode())

  def test_the_reviewed_frames_in_the_order_of_their_offsets(self):
    anchor = anchor_sets.Anchor(_path_at(0), _path_at, {3, -2})
    members = anchor.members(lambda path: (len(path),))
    self.assertEqual([f.frame for f in members], [-2, 0, 3])
    self.assertEqual(
      [f.example_id for f in members], ["v/03.jpg", "v/05.jpg", "v/08.jpg"]
    )
    self.assertEqual({f.group_id for f in members}, {"v/05.jpg"})
    self.assertEqual({f.labels for f in members}, {(8,)})
    self.assertEqual([f.reviewed for f in members], [True, False, True])

  def test_frames_that_the_review_refused_may_be_added(self):
    self._put(-1, 0, 1, 2)
    anchor = anchor_sets.Anchor(_path_at(0), _path_at, {0, 1})
    members = anchor.members(lambda path: (0,), self.root)
    self.assertEqual([f.frame for f in members], [-1, 0, 1, 2])
    self.assertEqual([f.reviewed for f in members], [False, True, True, False])

  def test_pixels_are_the_files(self):
    self._put(0, 1)
    anchor = anchor_sets.Anchor(_path_at(0), _path_at, {1})
    frame = anchor.members(lambda path: (0,))[1]
    with self.assertRaisesRegex(ValueError, "no pixels"):
      frame.data()
    frame = anchor_sets.add_pixels(frame, self.root, fps=25.0)
    self.assertEqual(frame.data(), b"v/06.jpg")
    self.assertEqual(frame.anchor.data(), b"v/05.jpg")
    self.assertEqual(frame.fps, 25)

  def test_candidates_have_no_holes(self):
    self._put(-5, -4, -3, -2, -1, 1, 2)
    there = anchor_sets.candidates(_path_at, self.root)
    self.assertEqual(there, [-5, -4, -3, -2, -1, 1, 2])
    self.assertEqual(frames.K, 10)
    self._put(11)
    self.assertEqual(anchor_sets.candidates(_path_at, self.root), there)
    self._put(4)
    with self.assertRaisesRegex(FileNotFoundError, "v/08.jpg is missing betw"):
      anchor_sets.candidates(_path_at, self.root)


class WnidsTest(in_folder.TestCase):
  """Pictures by wnid: folders, tars, which place counts, what is left aside."""

  def test_folders_and_tars(self):
    data = tiny_files.encoded(tiny_files.noise(5, 6), "JPEG")
    for place in ("a/n1/n1_2.JPEG", "a/n1/n1_10.JPEG", "a/n1/notes.txt"):
      self._put(place, data)
    self._put("a/n9/n9_1.JPEG", data)  # nobody asked for it
    self._put("b/n1/n1_3.JPEG", b"the first place counts")
    (self.root / "a/n3").mkdir()  # empty: the next place counts
    self._put("b/n3/n3_1.JPEG", data)
    self._put("b/n2.tar", tiny_files.tar({"n2_1.JPEG": data, "x.txt": b""}))
    found = wnids.find(self.root, ("a", "b", "c"), ("n1", "n2", "n3", "n4"))
    names = {k: [file.name for file in files] for k, files in found.items()}
    self.assertEqual(
      names,
      {
        "n1": ["n1_10.JPEG", "n1_2.JPEG"],
        "n2": ["n2_1.JPEG"],
        "n3": ["n3_1.JPEG"],
      },
    )
    for files in found.values():
      self.assertEqual(files[0].data(), data)

  def _put(self, place: str, data: bytes) -> None:
    path = self.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
