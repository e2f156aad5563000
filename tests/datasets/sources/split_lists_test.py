"""HMDB51 and UCF101 in their official layouts, made small; refusals."""

import numpy as np
from absl.testing import absltest

from robust_tfds import corruptions
from tests.datasets.sources import action_layouts


class Ucf101Test(action_layouts.Layout):
  NAME = "ucf101_p"

  def setUp(self):
    super().setUp()
    self._put(
      "ucfTrainTestlist/classInd.txt", "1 Archery\n2 HandstandPushups\n"
    )
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

  def test_clean_and_perturbed(self):
    found = self._build()
    self.assertEqual(
      {k: int(v["label"]) for k, v in found.items()},
      {"v_Archery_g01_c01.avi": 0, "v_HandStandPushups_g01_c01.avi": 1},
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
    self._put("ucfTrainTestlist/classInd.txt", "Archery\n")
    with self.assertRaisesRegex(ValueError, "classInd.txt, line 1"):
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
    self.assertEqual(self._labels(), {"catch/c.avi": 0, f"wave/{self._ODD}": 1})

  def test_refusals(self):
    self._put(
      "testTrainMulti_7030_splits/wave_test_split1.txt", "a.avi three\n"
    )
    with self.assertRaisesRegex(ValueError, "wave_test_split1.txt, line 1"):
      self._build()


if __name__ == "__main__":
  absltest.main()
