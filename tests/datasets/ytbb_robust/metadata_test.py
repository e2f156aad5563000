"""YTBB-Robust's real metadata, and the goldens of its rules."""

import csv
import gzip

from absl.testing import parameterized

from robust_tfds.datasets.ytbb_robust import metadata
from tests import shared_data


def _json(name: str):
  return shared_data.golden_json("vid_robust", f"{name}.json.gz")


def _rows() -> list[list[str]]:
  name = "ytbb_robustness_test_anchors_full.csv.gz"
  path = shared_data.golden("vid_robust", name)
  with gzip.open(path, "rt", newline="") as f:
    return list(csv.reader(f))[1:]


class MetadataTest(parameterized.TestCase):
  def test_anchors(self):
    anchors = metadata.anchors(_json("ytbb_anchor_labels"), _rows())
    self.assertLen(anchors, 2467)
    self.assertEqual(sum(a.good for a in anchors), 2169)
    self.assertTrue(all(a.labels for a in anchors))
    self.assertLen(_rows(), 2529)

  @parameterized.parameters("ytbb_basic", "ytbb_negative_logits")
  def test_golden(self, case):
    stored = shared_data.golden_json("video", "pmk_golden.json.gz")
    data = stored["cases"][case]
    anchors = metadata.anchors(data["anchor_labels_json"], data["csv_rows"])
    offsets = metadata.reviewed_offsets(anchors, data["pmk_labels_json"])
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
      metadata.anchors(annotated, rows)

  def test_refuses_keys(self):
    annotated = {"labels": [], "annotations": [{"key": "a.jpg", "labels": []}]}
    with self.assertRaisesRegex(ValueError, "'a.jpg' is not of the form"):
      metadata.anchors(annotated, [])
