"""Action recognition sets: official layouts, made small, and what is refused."""

import json
import pathlib

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest

from robust_tfds import corruptions
from robust_tfds import datasets
from robust_tfds import movies


def _clip(seed=0, frames=6):
  rng = np.random.default_rng(seed)
  still = np.kron(rng.integers(0, 256, (4, 5, 3)), np.ones((8, 8, 1)))
  still = still.astype(np.uint8)
  return np.stack([np.roll(still, 2 * i, 1) for i in range(frames)])


def _avi(seed=0, fps=25.0):
  return movies.encode(
    _clip(seed),
    codec="ffv1",
    options={},
    pixel_format="bgr0",
    container="avi",
    fps=fps,
  )


class _Layout(absltest.TestCase):
  NAME = ""
  SPLIT = "test"

  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _put(self, path, data):
    path = self.root / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())

  def _build(self, config="clean"):
    built = datasets.prepare(
      self.NAME,
      config,
      data_dir=self.create_tempdir().full_path,
      manual_dir=self.root,
    )
    found = tfds.as_numpy(built.as_dataset(split=self.SPLIT))
    return {e["example_id"].decode(): e for e in found}

  def _labels(self):
    return {k: int(v["label"]) for k, v in self._build().items()}


class Ucf101Test(_Layout):
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
    self._put("UCF-101/Archery/v_Archery_g01_c01.avi", _avi(0))
    self._put(
      "UCF-101/HandstandPushups/v_HandStandPushups_g01_c01.avi", _avi(1)
    )

  def test_clean_and_perturbed(self):
    found = self._build()
    self.assertEqual(
      {k: int(v["label"]) for k, v in found.items()},
      {"v_Archery_g01_c01.avi": 0, "v_HandStandPushups_g01_c01.avi": 1},
    )
    name = "v_Archery_g01_c01.avi"
    np.testing.assert_array_equal(found[name]["video"], _clip(0))
    self.assertEqual(found[name]["fps"], 25.0)
    noisy = self._build("shot_noise_2")[name]["video"]
    key = corruptions.example_key(0, "ucf101_p", "shot_noise", 2, name)
    np.testing.assert_array_equal(
      noisy, corruptions.perturb_video(_clip(0), "shot_noise", 2, key=key)
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


class Hmdb51Test(_Layout):
  NAME = "hmdb51_p"
  _ODD = "#20_Rhythm;[a]&(b)!_f_nm_np1.avi"

  def setUp(self):
    super().setUp()
    splits = "testTrainMulti_7030_splits"
    self._put(f"{splits}/wave_test_split1.txt", f"{self._ODD} 2 \nb.avi 1 \n")
    self._put(f"{splits}/catch_test_split1.txt", "c.avi 2\nd.avi 0\n")
    self._put(f"hmdb51_org/wave/{self._ODD}", _avi(0, 30.0))
    self._put("hmdb51_org/catch/c.avi", _avi(1))

  def test_labels(self):
    self.assertEqual(self._labels(), {"catch/c.avi": 0, f"wave/{self._ODD}": 1})

  def test_refusals(self):
    self._put(
      "testTrainMulti_7030_splits/wave_test_split1.txt", "a.avi three\n"
    )
    with self.assertRaisesRegex(ValueError, "wave_test_split1.txt, line 1"):
      self._build()


class Kinetics400Test(_Layout):
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
    data = movies.encode(_clip(0), fps=30000 / 1001)
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


class Ssv2Test(_Layout):
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
    data = movies.encode(_clip(0), fps=12)
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


class Ucf101DsTest(_Layout):
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
    data = movies.encode(_clip(0), fps=24)
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
    from robust_tfds.datasets.ucf101_ds import sources

    self.assertLen(sources.category_of(), 63)
    self.assertLen(set(sources.category_of().values()), 14)

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
