"""Builders of ImageNet-Vid-Robust and YTBB-Robust."""

import collections
import csv
import gzip
import shutil
import tarfile

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

from robust_tfds import errors
from robust_tfds.building import frames
from robust_tfds.datasets.imagenet_vid_robust import (
  imagenet_vid_robust_dataset_builder as vid_builder,
)
from robust_tfds.datasets.imagenet_vid_robust import metadata
from robust_tfds.datasets.ytbb_robust import metadata as ytbb_robust_metadata
from robust_tfds.datasets.ytbb_robust import (
  ytbb_robust_dataset_builder as ytbb_builder,
)
from tests import shared_data
from tests.datasets import natural_videos


class VidReviewedTest(
  natural_videos.MadeFolder, tfds.testing.DatasetBuilderTestCase
):
  """ImageNet-Vid-Robust from folders in the published layouts."""

  DATASET_CLASS = vid_builder.Builder
  SPLITS = {"test": 6}
  BUILDER_CONFIG_NAMES_TO_TEST = ["reviewed", "reviewed_imagenet"]


class VidTest(natural_videos.Prepared):
  NAME = "imagenet_vid_robust"

  def setUp(self):
    super().setUp()
    natural_videos.vid(self.root)
    self.published = (
      self.root / natural_videos.PUBLISHED / "imagenet-vid-robust"
    )

  def test_all(self):
    annotations = self.root / "ILSVRC/Annotations/VID"
    box = {"xmax": 24, "xmin": 12, "ymax": 60, "ymin": 10}
    for video in "ab":
      for n in range(2, 23):
        file = annotations / natural_videos.path(video, n)
        natural_videos.annotation(file.with_suffix(".xml"), "n02084071", box)
    found = self.examples("all")
    self.assertLen(found, 42)
    kept = {k for k, r in found.items() if r["reviewed"]}
    self.assertEqual(
      kept,
      {natural_videos.path("a", n) for n in (3, 11, 12, 13, 22)}
      | {natural_videos.path("b", 12)},
    )
    row = found[natural_videos.path("a", 3)]
    self.assertEqual(row["labels"].tolist(), [4, 8])
    self.assertEqual((row["label"], row["frame"], row["is_anchor"]), (4, -9, 0))
    self.assertEqual(row["group_id"].decode(), natural_videos.path("a", 12))
    self.assertEqual(row["image"].shape, (40, 48, 3))
    self.assertEqual(row["objects"]["label"].tolist(), [8])
    np.testing.assert_allclose(
      row["objects"]["bbox"], [[0.25, 0.25, 1.0, 0.5]], atol=1e-6
    )
    anchor = found[row["group_id"].decode()]
    apart = np.abs(row["image"].astype(int) - anchor["image"]).max() / 255
    self.assertAlmostEqual(row["linf"], apart, delta=1e-6)
    self.assertEqual(anchor["linf"], 0)
    unreviewed = found[natural_videos.path("a", 4)]
    self.assertEqual(unreviewed["labels"].tolist(), [8])

  def test_pictures_are_the_files(self):
    builder = self.prepare()
    stored = builder.as_dataset(
      split="test", decoders={"image": tfds.decode.SkipDecoding()}
    )
    for row in tfds.as_numpy(stored):
      file = self.published / row["example_id"].decode()
      self.assertEqual(row["image"], file.read_bytes())

  def test_ilsvrc_sources_and_streams(self):
    shutil.rmtree(self.root / natural_videos.PUBLISHED)
    natural_videos.vid(self.root, frames="ILSVRC/Data/VID")
    from robust_tfds import movies

    frames = np.zeros((30, 32, 32, 3), np.uint8)
    frames += np.arange(30, dtype=np.uint8)[:, None, None, None] * 8
    movie = self.root / "ILSVRC/Data/VID/snippets/val/ILSVRC2015_val_a.mp4"
    movie.parent.mkdir(parents=True)
    movie.write_bytes(movies.encode(frames, fps=25))
    found = self.examples(geometry="short32_crop32")
    kinds = {k: r["frame_type"].decode() for k, r in found.items()}
    self.assertLen(found, 6)
    self.assertIn(kinds[natural_videos.path("a", 12)], ("P", "B"))
    self.assertEqual(kinds[natural_videos.path("b", 12)], "")
    row = found[natural_videos.path("a", 12)]
    self.assertEqual(row["fps"], 25)
    self.assertEqual(row["image"].shape, (32, 32, 3))
    self.assertNotIn("objects", row)

  def test_archive(self):
    folder = self.root / natural_videos.PUBLISHED
    with tarfile.open(self.root / f"{folder.name}.tar.gz", "w:gz") as tar:
      tar.add(folder, folder.name)
    folder.rename(self.root / "elsewhere")
    self.assertLen(self.examples(), 6)

  def test_missing_frame(self):
    (self.published / natural_videos.path("a", 13)).unlink()
    with self.assertRaisesRegex(FileNotFoundError, "1 of 6 .*a/000013.JPEG"):
      self.prepare()
    with self.assertRaisesRegex(FileNotFoundError, "000013.JPEG is missing"):
      self.prepare("all")

  def test_frames_of_two_sizes(self):
    file = self.published / natural_videos.path("a", 13)
    Image.open(file).resize((20, 20)).save(file, "JPEG")
    with self.assertRaisesRegex(ValueError, "a/000013.JPEG has shape .20, 20"):
      self.prepare()

  def test_nothing_there(self):
    (self.published / "val").rename(self.published / "frames")
    with self.assertRaisesRegex(FileNotFoundError, "No folder of frames"):
      self.prepare()
    shutil.rmtree(self.root / natural_videos.PUBLISHED)
    with self.assertRaisesRegex(FileNotFoundError, "No pmsets.json. Looked"):
      self.prepare()

  def test_frames_before_the_review_need_labels(self):
    with self.assertRaisesRegex(ValueError, "000002.JPEG has no label"):
      self.prepare("all")

  @parameterized.parameters(
    ("pmsets.json", {}, "pmsets.json: no anchor"),
    ("pmsets.json", {"val/x": []}, "pmsets.json.*'val/x' is not of the form"),
    (
      "pmsets.json",
      {"val/a/12.JPEG": ["val/a/13.JPEG", "val/a/13.JPEG"]},
      "pmsets.json.*val/a/13.JPEG is twice in the set of val/a/12.JPEG",
    ),
    (
      "pmsets.json",
      {"val/a/12.JPEG": ["val/a/12.JPEG"]},
      "pmsets.json.*val/a/12.JPEG cannot be in the set",
    ),
    (
      "pmsets.json",
      {"val/a/12.JPEG": ["val/a/23.JPEG"]},
      "pmsets.json.* at most 10 away",
    ),
    (
      "labels.json",
      {"x": ["4"]},
      "labels.json: x.0: got '4', expected a valid",
    ),
    ("labels.json", {}, "labels.json: .*JPEG has no label"),
    (
      "labels.json",
      {natural_videos.path("a", 3): [30]},
      "unknown label 30; classes are 0..29",
    ),
  )
  def test_broken_metadata(self, name, content, message):
    natural_videos.write(self.published / "metadata" / name, content)
    with self.assertRaisesRegex(errors.UserError, message):
      self.prepare()

  @parameterized.parameters(
    (
      "<width>48</width>",
      "<width>0</width>",
      "size: 0.0 x 40.0 px is no frame",
    ),
    ("<xmin>1</xmin>", "<xmin>nan</xmin>", "bndbox/xmin: a number expected"),
  )
  def test_broken_xml(self, old, new, message):
    file = self.root / "Annotations/VID" / natural_videos.path("a", 12)
    file = file.with_suffix(".xml")
    box = {"xmax": 2, "xmin": 1, "ymax": 2, "ymin": 1}
    natural_videos.annotation(file, "n02084071", box)
    file.write_text(file.read_text().replace(old, new))
    with self.assertRaisesRegex(errors.UserError, message):
      self.prepare()

  @parameterized.named_parameters(
    (
      "wnid",
      "n00000000",
      {"xmax": 2, "xmin": 1, "ymax": 2, "ymin": 1},
      "30 wn",
    ),
    (
      "area",
      "n02084071",
      {"xmax": 9, "xmin": 9, "ymax": 2, "ymin": 1},
      "no area",
    ),
    ("side", "n02084071", {"xmax": 2}, "no bndbox/ymin"),
  )
  def test_broken_annotations(self, wnid, box, message):
    file = self.root / "Annotations/VID" / natural_videos.path("a", 12)
    natural_videos.annotation(file.with_suffix(".xml"), wnid, box)
    with self.assertRaisesRegex(ValueError, message):
      self.prepare()


class YtbbReviewedTest(
  natural_videos.MadeFolder, tfds.testing.DatasetBuilderTestCase
):
  """YTBB-Robust from a folder in the published layout."""

  DATASET_CLASS = ytbb_builder.Builder
  SPLITS = {"test": 5}
  BUILDER_CONFIG_NAMES_TO_TEST = ["reviewed"]
  MAKE = staticmethod(natural_videos.ytbb)


class YtbbAllTest(YtbbReviewedTest):
  SPLITS = {"test": 63}
  BUILDER_CONFIG_NAMES_TO_TEST = ["all"]


class YtbbTest(natural_videos.Prepared):
  NAME = "ytbb_robust"

  def setUp(self):
    super().setUp()
    natural_videos.ytbb(self.root)
    published = self.root / natural_videos.PUBLISHED
    self.metadata = published / "ytbb-robust/metadata"

  def test_reviewed(self):
    found = self.examples()
    near = [r for r in found.values() if r["group_id"].startswith(b"one")]
    self.assertEqual(sorted(r["frame"] for r in near), [-10, -1, 0, 1])
    for row in near:  # cat by YouTube-BB, dog by the reviewers
      self.assertEqual(row["labels"].tolist(), [7, 19])
    anchor = found["one_400/frame-12.jpg"]
    np.testing.assert_allclose(
      anchor["objects"]["bbox"], [[0.2, 0.1, 0.9, 0.5]], atol=1e-6
    )
    self.assertIn("-3_x_12/frame-12.jpg", found)

  def test_all(self):
    found = self.examples("all")
    self.assertLen(found, 63)
    self.assertEqual(sum(r["reviewed"] for r in found.values()), 5)
    # YouTube-BB's 22 is a car, which the 24 classes call 23.
    self.assertEqual(found["two_800/frame-2.jpg"]["labels"].tolist(), [23])

  def test_pairs_are_needed_for_the_reviewed_sets_alone(self):
    (self.metadata / "pmk_labels.json").unlink()
    with self.assertRaisesRegex(FileNotFoundError, "No pmk_labels.json"):
      self.prepare()
    self.assertLen(self.examples("all"), 63)

  @parameterized.parameters(
    ("anchor_labels.json", '{"labels": []}', "annotations: missing"),
    (
      "anchor_labels.json",
      '{"labels": ["good"], "annotations": [{"key": "a_1/frame-3.jpg",'
      ' "labels": [-1]}]}',
      "anchor_labels.json.*a_1/frame-3.jpg: label -1 of 1; they are",
    ),
    (
      "anchor_labels.json",
      '{"labels": ["good", "good"], "annotations": []}',
      "anchor_labels.json: labels: 'good' is there twice",
    ),
    (
      "anchor_labels.json",
      '{"labels": ["good"], "annotations": [{"key": "a.jpg", "labels": []}]}',
      "anchor_labels.json.*'a.jpg' is not of the form",
    ),
    (
      "pmk_labels.json",
      '{"labels": ["similar"], "annotations": [{"key": "a,b", "labels": [1]}]}',
      "pmk_labels.json: a,b: label 1 of 1",
    ),
    (
      "ytbb_robustness_test_anchors_full.csv",
      "one,400,7\n",
      "full.csv: line 1: the header ytid,time_ms,label expected, got one,400",
    ),
    (
      "ytbb_robustness_test_anchors_full.csv",
      "ytid,time_ms,label\none,400\n",
      "full.csv, line 2: 3 columns expected, got 2",
    ),
    (
      "ytbb_robustness_test_anchors_full.csv",
      "ytid,time_ms,label\none,400,24\n",
      "full.csv: one, 400 ms: unknown label 24",
    ),
    (
      "ytbb_robustness_test_anchors_full.csv",
      "ytid,time_ms,label\none,4.5,2\n",
      "full.csv: one: time_ms: a whole number expected, got '4.5'",
    ),
    (
      "yt_bb_detection_validation.csv",
      "one,400,19,dog,0,present,0.1,nan,0.2,0.9\n",
      "validation.csv, line 1: a coordinate expected, got 'nan'",
    ),
    (
      "yt_bb_detection_validation.csv",
      "one,400,19,dog,0,perhaps,0.1,0.2,0.2,0.9\n",
      "line 1: object_presence: one of present, absent, uncertain expected",
    ),
  )
  def test_broken_metadata(self, name, text, message):
    (self.metadata / name).write_text(text)
    with self.assertRaisesRegex(errors.UserError, message):
      self.prepare()


def _json(name: str):
  return shared_data.golden_json("vid_robust", f"{name}.json.gz")


class MetadataTest(parameterized.TestCase):
  """ImageNet-Vid-Robust's real metadata: Table 1, and sets that cannot be."""

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


def _metadata_json(name: str):
  return shared_data.golden_json("vid_robust", f"{name}.json.gz")


def _rows() -> list[list[str]]:
  name = "ytbb_robustness_test_anchors_full.csv.gz"
  path = shared_data.golden("vid_robust", name)
  with gzip.open(path, "rt", newline="") as f:
    return list(csv.reader(f))[1:]


class YtbbMetadataTest(parameterized.TestCase):
  """YTBB-Robust's real metadata, and the goldens of its rules."""

  def test_anchors(self):
    anchors = ytbb_robust_metadata.anchors(
      _metadata_json("ytbb_anchor_labels"), _rows()
    )
    self.assertLen(anchors, 2467)
    self.assertEqual(sum(a.good for a in anchors), 2169)
    self.assertTrue(all(a.labels for a in anchors))
    self.assertLen(_rows(), 2529)

  @parameterized.parameters("ytbb_basic", "ytbb_negative_logits")
  def test_golden(self, case):
    stored = shared_data.golden_json("video", "pmk_golden.json.gz")
    data = stored["cases"][case]
    anchors = ytbb_robust_metadata.anchors(
      data["anchor_labels_json"], data["csv_rows"]
    )
    offsets = ytbb_robust_metadata.reviewed_offsets(
      anchors, data["pmk_labels_json"]
    )
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
