"""ImageNet-Vid-Robust from folders in the published layouts."""

import shutil
import tarfile

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

from robust_tfds import errors
from robust_tfds.datasets.imagenet_vid_robust import (
  imagenet_vid_robust_dataset_builder as vid_builder,
)
from tests.datasets import natural_videos


class VidReviewedTest(
  natural_videos.MadeFolder, tfds.testing.DatasetBuilderTestCase
):
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

  def test_truncated_frame(self):
    file = self.published / natural_videos.path("a", 13)
    file.write_bytes(file.read_bytes()[:200])
    with self.assertRaisesRegex(ValueError, "a/000013.JPEG cannot be read"):
      self.prepare()

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
    ("pmsets.json", [], "pmsets.json: got \\[\\], expected a valid dictionary"),
    (
      "pmsets.json",
      {"a": "b"},
      "pmsets.json: a: got 'b', expected a valid list",
    ),
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
    ("labels.json", {"x": [1.5]}, "labels.json: x.0: got 1.5"),
    ("labels.json", {}, "labels.json: .*JPEG has no label"),
    (
      "labels.json",
      {natural_videos.path("a", 3): [30]},
      "unknown label 30; classes are 0..29",
    ),
    (
      "labels.json",
      {natural_videos.path("a", 3): [-1]},
      "unknown label -1; classes are 0..29",
    ),
  )
  def test_broken_metadata(self, name, content, message):
    natural_videos.write(self.published / "metadata" / name, content)
    with self.assertRaisesRegex(errors.UserError, message):
      self.prepare()

  @parameterized.parameters(
    (b'{"val/a', "pmsets.json: line 1.*not JSON"),
    (b'{"val/a/1.JPEG": ["\xff"]}', "pmsets.json: byte .* not UTF-8"),
    (b"[" * 100_000, "pmsets.json: nested too deep"),
    (b"", "pmsets.json: the file is empty"),
  )
  def test_metadata_that_is_no_json(self, data, message):
    (self.published / "metadata" / "pmsets.json").write_bytes(data)
    with self.assertRaisesRegex(errors.UserError, message):
      self.prepare()

  @parameterized.parameters(
    (
      "<width>48</width>",
      "<width>0</width>",
      "size: 0.0 x 40.0 px is no frame",
    ),
    ("<xmin>1</xmin>", "<xmin>nan</xmin>", "bndbox/xmin: a number expected"),
    ("</annotation>", "", "000012.xml: not XML"),
    ("<annotation>", "<!DOCTYPE a [<!ENTITY b 'c'>]><annotation>", "entities"),
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
