"""ImageNet-Vid-Robust's real metadata: Table 1, and sets that cannot be."""

import collections

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
    anchors = [f for f in listed if f.is_anchor]
    self.assertEqual((len(anchors), len(listed)), (1109, 22179))
    labels = collections.Counter(len(f.labels) for f in listed)
    self.assertEqual(labels, {1: 20665, 2: 1463, 3: 51})
    sizes = collections.Counter(f.group_id for f in listed)
    of_size = collections.Counter(sizes.values())
    self.assertEqual((of_size[21], of_size[1]), (889, 1))
    self.assertLen({c for f in anchors for c in f.labels}, 30)
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
