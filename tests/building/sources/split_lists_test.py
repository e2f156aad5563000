"""HMDB51 and UCF101 in their official layouts, made small; refusals."""

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized

from robust_tfds import corruptions, datasets, errors
from tests.building.sources import action_layouts


class Ucf101Test(action_layouts.Layout):
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
    ("too_large", "101 C", "102 C", "line 101: 'Class100' has number 102"),
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

  def test_no_classes(self):
    self._classes("\n")
    with self.assertRaisesRegex(errors.UserError, "all 101 .* got 0"):
      self._build()
    (self.root / "ucfTrainTestlist/classInd.txt").write_bytes(b"1 Arch\xff\n")
    with self.assertRaisesRegex(errors.UserError, "classInd.txt: .*not UTF-8"):
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
