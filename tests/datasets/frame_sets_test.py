"""The natural-video builders on folders in the published layouts."""

import pathlib
import tarfile
import tempfile

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest
from absl.testing import parameterized
from PIL import Image

from eval.metrics import pm_k
from robust_tfds import datasets
from robust_tfds.datasets import frame_boxes
from robust_tfds.datasets import frame_sets
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.datasets.digits_vid_robust import (
  digits_vid_robust_dataset_builder as digits_vid,
)
from robust_tfds.datasets.imagenet_vid_robust import (
  imagenet_vid_robust_dataset_builder as vid_builder,
)
from robust_tfds.datasets.ytbb_robust import (
  ytbb_robust_dataset_builder as ytbb_builder,
)
from tests.datasets import natural_videos

DIGITS = 2345  # frames that still show 90 % of the digit


class _MadeFolder:
  SKIP_TF1_GRAPH_MODE = True
  MAKE = staticmethod(natural_videos.vid)

  @classmethod
  def setUpClass(cls):
    cls._folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(cls._folder.cleanup)
    cls.MAKE(pathlib.Path(cls._folder.name))
    cls.EXAMPLE_DIR = cls._folder.name
    super().setUpClass()


class VidReviewedTest(_MadeFolder, tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = vid_builder.Builder
  SPLITS = {"test": 6}
  BUILDER_CONFIG_NAMES_TO_TEST = ["reviewed", "reviewed_imagenet"]


class YtbbReviewedTest(_MadeFolder, tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = ytbb_builder.Builder
  SPLITS = {"test": 5}
  BUILDER_CONFIG_NAMES_TO_TEST = ["reviewed"]
  MAKE = staticmethod(natural_videos.ytbb)


class YtbbAllTest(YtbbReviewedTest):
  SPLITS = {"test": 63}
  BUILDER_CONFIG_NAMES_TO_TEST = ["all"]


class DigitsReviewedTest(_MadeFolder, tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = digits_vid.Builder
  SPLITS = {"test": DIGITS}
  BUILDER_CONFIG_NAMES_TO_TEST = ["reviewed"]


class _Prepared(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.data = self.create_tempdir().full_path

  def prepare(self, name, config="", **options):
    return datasets.prepare(
      name, config, data_dir=self.data, manual_dir=self.root, **options
    )

  def examples(self, name, config="", **options):
    builder = self.prepare(name, config, **options)
    rows = tfds.as_numpy(builder.as_dataset(split="test"))
    return {r["example_id"].decode(): r for r in rows}


class VidTest(_Prepared):
  def test_all(self):
    natural_videos.vid(self.root)
    annotations = self.root / "ILSVRC/Annotations/VID"
    box = {"xmax": 24, "xmin": 12, "ymax": 60, "ymin": 10}
    for video in "ab":
      for n in range(2, 23):
        file = annotations / natural_videos.path(video, n)
        natural_videos.annotation(file.with_suffix(".xml"), "n02084071", box)
    found = self.examples("imagenet_vid_robust", "all")
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
    natural_videos.vid(self.root)
    builder = self.prepare("imagenet_vid_robust")
    stored = builder.as_dataset(
      split="test", decoders={"image": tfds.decode.SkipDecoding()}
    )
    folder = self.root / natural_videos.PUBLISHED / "imagenet-vid-robust"
    for row in tfds.as_numpy(stored):
      file = folder / row["example_id"].decode()
      self.assertEqual(row["image"], file.read_bytes())

  def test_ilsvrc_sources_and_streams(self):
    natural_videos.vid(self.root, frames="ILSVRC/Data/VID")
    from robust_tfds import movies

    frames = np.zeros((30, 32, 32, 3), np.uint8)
    frames += np.arange(30, dtype=np.uint8)[:, None, None, None] * 8
    movie = self.root / "ILSVRC/Data/VID/snippets/val/ILSVRC2015_val_a.mp4"
    movie.parent.mkdir(parents=True)
    movie.write_bytes(movies.encode(frames, fps=25))
    found = self.examples("imagenet_vid_robust", geometry="short32_crop32")
    kinds = {k: r["frame_type"].decode() for k, r in found.items()}
    self.assertLen(found, 6)
    self.assertIn(kinds[natural_videos.path("a", 12)], ("P", "B"))
    self.assertEqual(kinds[natural_videos.path("b", 12)], "")
    row = found[natural_videos.path("a", 12)]
    self.assertEqual(row["fps"], 25)
    self.assertEqual(row["image"].shape, (32, 32, 3))
    self.assertNotIn("objects", row)

  def test_archive(self):
    natural_videos.vid(self.root)
    folder = self.root / natural_videos.PUBLISHED
    with tarfile.open(self.root / f"{folder.name}.tar.gz", "w:gz") as tar:
      tar.add(folder, folder.name)
    folder.rename(self.root / "elsewhere")
    self.assertLen(self.examples("imagenet_vid_robust"), 6)

  def test_missing_frame(self):
    natural_videos.vid(self.root)
    folder = self.root / natural_videos.PUBLISHED / "imagenet-vid-robust"
    (folder / natural_videos.path("a", 13)).unlink()
    with self.assertRaisesRegex(FileNotFoundError, "1 of 6 .*a/000013.JPEG"):
      self.prepare("imagenet_vid_robust")
    with self.assertRaisesRegex(FileNotFoundError, "000013.JPEG is missing"):
      self.prepare("imagenet_vid_robust", "all")

  def test_truncated_frame(self):
    natural_videos.vid(self.root)
    folder = self.root / natural_videos.PUBLISHED / "imagenet-vid-robust"
    file = folder / natural_videos.path("a", 13)
    file.write_bytes(file.read_bytes()[:200])
    with self.assertRaisesRegex(ValueError, "a/000013.JPEG cannot be read"):
      self.prepare("imagenet_vid_robust")

  def test_frames_of_two_sizes(self):
    natural_videos.vid(self.root)
    folder = self.root / natural_videos.PUBLISHED / "imagenet-vid-robust"
    file = folder / natural_videos.path("a", 13)
    Image.open(file).resize((20, 20)).save(file, "JPEG")
    with self.assertRaisesRegex(ValueError, "a/000013.JPEG has shape .20, 20"):
      self.prepare("imagenet_vid_robust")

  def test_nothing_there(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "does not exist or is empty"
    ):
      self.prepare("imagenet_vid_robust")
    (self.root / "readme.txt").write_text("")
    with self.assertRaisesRegex(FileNotFoundError, "No pmsets.json. Looked"):
      self.prepare("imagenet_vid_robust")
    natural_videos.vid(self.root)
    folder = self.root / natural_videos.PUBLISHED / "imagenet-vid-robust"
    (folder / "val").rename(folder / "frames")
    with self.assertRaisesRegex(FileNotFoundError, "No folder of frames"):
      self.prepare("imagenet_vid_robust")

  def test_frames_before_the_review_need_labels(self):
    natural_videos.vid(self.root)
    with self.assertRaisesRegex(ValueError, "000002.JPEG has no label"):
      self.prepare("imagenet_vid_robust", "all")

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
    natural_videos.vid(self.root)
    file = self.root / "Annotations/VID" / natural_videos.path("a", 12)
    natural_videos.annotation(file.with_suffix(".xml"), wnid, box)
    with self.assertRaisesRegex(ValueError, message):
      self.prepare("imagenet_vid_robust")


class YtbbTest(_Prepared):
  def test_reviewed(self):
    natural_videos.ytbb(self.root)
    found = self.examples("ytbb_robust")
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
    natural_videos.ytbb(self.root)
    found = self.examples("ytbb_robust", "all")
    self.assertLen(found, 63)
    self.assertEqual(sum(r["reviewed"] for r in found.values()), 5)
    # YouTube-BB's 22 is a car, which the 24 classes call 23.
    self.assertEqual(found["two_800/frame-2.jpg"]["labels"].tolist(), [23])

  def test_pairs_are_needed_for_the_reviewed_sets_alone(self):
    natural_videos.ytbb(self.root)
    folder = self.root / natural_videos.PUBLISHED / "ytbb-robust/metadata"
    (folder / "pmk_labels.json").unlink()
    with self.assertRaisesRegex(FileNotFoundError, "No pmk_labels.json"):
      self.prepare("ytbb_robust")
    self.assertLen(self.examples("ytbb_robust", "all"), 63)


class DigitsTest(_Prepared):
  def test_the_anchor_is_the_still_digit(self):
    found = self.examples("digits_vid_robust", "all")
    self.assertLen(found, 2520)
    anchors = [r for r in found.values() if r["is_anchor"]]
    self.assertLen(anchors, 120)
    for row in anchors[:5]:
      number = int(row["example_id"].decode().split("/")[0][-4:])
      np.testing.assert_array_equal(row["image"], digits.read(number))
      self.assertTrue(row["reviewed"])

  def test_boxes_as_coco_rows(self):
    examples = list(self.examples("digits_vid_robust", "all").values())
    boxes = frame_boxes.coco(examples)
    self.assertLen(boxes.anchors, 120)
    self.assertLen(boxes.gt, 2520)
    perfect = [{**row, "score": 0.5} for row in boxes.gt]
    got = pm_k.detection(perfect, perfect, boxes.anchors, boxes.frame_index)
    self.assertAlmostEqual(got["map_pmk"], 1.0)
    lost = [i for e in boxes.anchors[:60] for i in e["candidates"][:1]]
    some = [row for row in perfect if row["image_id"] not in lost]
    got = pm_k.detection(perfect, some, boxes.anchors, boxes.frame_index)
    self.assertEqual([*got["selected"].values()][:60], lost)
    self.assertGreater(got["map_orig"], got["map_pmk"])
    by_id = {v: k for k, v in boxes.image_id.items()}
    row = boxes.gt[0]
    pixels = {e["example_id"].decode(): e["image"] for e in examples}
    x, y, w, h = (round(v) for v in row["bbox"])
    picture = pixels[by_id[row["image_id"]]][..., 0]
    self.assertGreaterEqual(picture[y : y + h, x : x + w].max(), 32)
    picture = picture.copy()
    picture[y : y + h, x : x + w] = 0
    self.assertLess(picture.max(), 32)

  def test_coco_rows_need_whole_frames_and_anchors(self):
    with self.assertRaisesRegex(ValueError, "No frames"):
      frame_boxes.coco([])
    frame = {
      "example_id": "a",
      "group_id": "b",
      "frame": 1,
      "reviewed": True,
      "image": np.zeros((4, 4, 3), np.uint8),
    }
    with self.assertRaisesRegex(ValueError, "crops"):
      frame_boxes.coco([frame])
    frame["objects"] = {"bbox": [], "label": []}
    with self.assertRaisesRegex(ValueError, "'b' is not among"):
      frame_boxes.coco([frame])

  def test_motion_is_smooth(self):
    row = digits.rows("test")[0][0]
    pictures = [digits_vid.picture(row, o).astype(int) for o in range(-10, 11)]
    steps = [np.abs(a - b).mean() for a, b in zip(pictures, pictures[1:])]
    far = np.abs(pictures[0] - pictures[-1]).mean()
    self.assertGreater(min(steps), 0)
    self.assertLess(max(steps), far / 3)


class ConfigsTest(parameterized.TestCase):
  def test_names(self):
    config_of = vid_builder.Builder.config_of
    self.assertEqual(config_of("clean").name, "reviewed")
    self.assertEqual(config_of("all", geometry="imagenet").name, "all_imagenet")
    made = config_of("clean", codec="raw", geometry="short256_crop224_bicubic")
    self.assertEqual(made.name, "reviewed_short256_crop224_bicubic")
    self.assertFalse(made.everything)

  @parameterized.parameters(
    ({"name": "reviewd"}, "Did you mean 'reviewed'"),
    ({"name": "all", "codec": "jpeg85"}, "Unknown codec 'jpeg85'"),
    ({"name": "all", "geometry": "crop"}, "Unknown geometry"),
  )
  def test_refuses(self, options, message):
    with self.assertRaisesRegex(ValueError, message):
      vid_builder.Builder.config_of(**options)


class CheckTest(parameterized.TestCase):
  def _frame(self, name, offset, labels=(0,), group="a"):
    return frame_sets.Frame(
      example_id=name,
      group_id=group,
      frame=offset,
      labels=labels,
      read=frame_sets.no_pixels,
    )

  @parameterized.named_parameters(
    ("nothing", [], "no anchor sets"),
    ("no_anchor", [("b", 1)], "set of a lacks its anchor"),
    ("far", [("a", 0), ("b", 11)], r"b is \+11 frames from its anchor a"),
    ("label", [("a", 0, ())], "a has no label"),
    ("twice", [("a", 0), ("a", 1)], "a occurs twice"),
    ("offset", [("a", 0), ("b", 1), ("c", 1)], "c occurs twice"),
  )
  def test_refuses(self, frames, message):
    with self.assertRaisesRegex(ValueError, message):
      frame_sets.check([self._frame(*f) for f in frames])


if __name__ == "__main__":
  absltest.main()
