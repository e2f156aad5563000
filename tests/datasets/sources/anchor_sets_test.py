"""The real metadata of both sets: Table 1, and the goldens of YTBB's rules."""

import csv
import gzip

from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds.datasets import frames
from robust_tfds.datasets.imagenet_vid_robust import metadata as vid
from robust_tfds.datasets.ytbb_robust import metadata as ytbb
from tests import shared_data


def _json(name: str):
  return shared_data.golden_json("vid_robust", f"{name}.json.gz")


def _rows() -> list[list[str]]:
  name = "ytbb_robustness_test_anchors_full.csv.gz"
  path = shared_data.golden("vid_robust", name)
  with gzip.open(path, "rt", newline="") as f:
    return list(csv.reader(f))[1:]


class VidTest(parameterized.TestCase):
  def test_table_1(self):
    listed = vid.anchor_frames(
      _json("imagenet_vid_robust_pmsets"), _json("imagenet_vid_robust_labels")
    )
    frames.check(listed)
    found = frames.statistics(listed)
    self.assertEqual(found["anchors"], 1109)
    self.assertEqual(found["pairs"], 21070)
    self.assertEqual(found["frames"], 22179)
    self.assertEqual(found["labels"], {1: 20665, 2: 1463, 3: 51})
    self.assertEqual(found["set_sizes"][20], 889)
    self.assertEqual(found["set_sizes"][0], 1)
    self.assertLen(found["classes"], 30)
    videos = {f.group_id.split("/")[1] for f in listed}
    self.assertLen(videos, 1109)
    old = sum(v.startswith("ILSVRC2015_val_") for v in videos)
    self.assertEqual((old, len(videos) - old), (487, 622))

  @parameterized.named_parameters(
    ("form", {"val/a/1.png": []}, {}, "not of the form"),
    (
      "video",
      {"val/a/1.JPEG": ["val/b/2.JPEG"]},
      {},
      "val/b/2.JPEG cannot be in the set of val/a/1.JPEG",
    ),
    ("far", {"val/a/1.JPEG": ["val/a/12.JPEG"]}, {}, "at most 10 away"),
    ("itself", {"val/a/1.JPEG": ["val/a/1.JPEG"]}, {}, "another frame"),
    ("none", {"val/a/1.JPEG": []}, {}, "val/a/1.JPEG has no label"),
    (
      "unknown",
      {"val/a/1.JPEG": []},
      {"val/a/1.JPEG": [30]},
      "unknown label 30; classes are 0..29",
    ),
  )
  def test_refuses(self, pmsets, labels, message):
    with self.assertRaisesRegex(ValueError, message):
      vid.anchor_frames(pmsets, labels)

  def test_metadata_alone_has_no_pixels(self):
    (frame,) = vid.anchor_frames({"val/a/1.JPEG": []}, {"val/a/1.JPEG": [1]})
    with self.assertRaisesRegex(ValueError, "no pixels"):
      frame.read()


class YtbbTest(parameterized.TestCase):
  def test_anchors(self):
    anchors = ytbb.anchors(_json("ytbb_anchor_labels"), _rows())
    self.assertLen(anchors, 2467)
    self.assertEqual(sum(a.good for a in anchors), 2169)
    self.assertTrue(all(a.labels for a in anchors))
    self.assertLen(_rows(), 2529)

  @parameterized.parameters("ytbb_basic", "ytbb_negative_logits")
  def test_golden(self, case):
    stored = shared_data.golden_json("video", "pmk_golden.json.gz")
    data = stored["cases"][case]
    anchors = ytbb.anchors(data["anchor_labels_json"], data["csv_rows"])
    offsets = ytbb.reviewed_offsets(anchors, data["pmk_labels_json"])
    by_key = {a.key: a for a in anchors}
    want = data["expected"]["valid_sets"]
    got = {
      key: {str(o): by_key[key].neighbour(o) for o in near}
      for key, near in offsets.items()
    }
    self.assertEqual(got, want)
    self.assertEqual(
      {key: list(by_key[key].labels) for key in offsets},
      data["expected"]["anchor_label_sets"],
    )

  @parameterized.named_parameters(
    ("label", [0, 3], [], "unknown label 'ghost'"),
    ("index", [0], [["a", "1", "24"]], "a, 1 ms: unknown label 24"),
  )
  def test_refuses(self, labels, rows, message):
    annotated = {
      "labels": ["good", "unsure", "bad", "ghost"],
      "annotations": [{"key": "a_1/frame-3.jpg", "labels": labels}],
    }
    with self.assertRaisesRegex(ValueError, message):
      ytbb.anchors(annotated, rows)

  def test_refuses_keys(self):
    annotated = {"labels": [], "annotations": [{"key": "a.jpg", "labels": []}]}
    with self.assertRaisesRegex(ValueError, "'a.jpg' is not of the form"):
      ytbb.anchors(annotated, [])


if __name__ == "__main__":
  absltest.main()
