"""ImageNet-Vid-Robust's real metadata: Table 1, and sets that cannot be."""

from absl.testing import parameterized

from robust_tfds.building import frames
from robust_tfds.datasets.imagenet_vid_robust import metadata
from tests import shared_data


def _json(name: str):
  return shared_data.golden_json("vid_robust", f"{name}.json.gz")


class MetadataTest(parameterized.TestCase):
  def test_table_1(self):
    listed = metadata.anchor_frames(
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
      metadata.anchor_frames(pmsets, labels)

  def test_metadata_alone_has_no_pixels(self):
    (frame,) = metadata.anchor_frames(
      {"val/a/1.JPEG": []}, {"val/a/1.JPEG": [1]}
    )
    with self.assertRaisesRegex(ValueError, "no pixels"):
      frame.data()
