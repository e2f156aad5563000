"""Sets of digits."""

import hashlib
import tempfile
from unittest import mock

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

import robust_tfds
from eval.metrics import pm_k
from robust_tfds import conditions, corruptions, datasets
from robust_tfds.building import frame_boxes
from robust_tfds.coco import rle
from robust_tfds.corruptions import canvas
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.datasets.digits_detection import (
  digits_detection_dataset_builder,
  scenes,
)
from robust_tfds.datasets.digits_detection_c import (
  digits_detection_c_dataset_builder,
)
from robust_tfds.datasets.digits_vid_robust import (
  digits_vid_robust_dataset_builder as digits_vid,
)
from robust_tfds.datasets.digits_video import (
  digits_video_dataset_builder as own,
)
from tests import quick
from tests.datasets import builders_test, natural_videos


class _FewScenes:
  @classmethod
  def setUpClass(cls):
    few = mock.patch.dict(scenes.COUNTS, {"train": 30, "test": 20})
    few.start()
    cls.addClassCleanup(few.stop)
    super().setUpClass()


class DigitsDetectionTest(_FewScenes, builders_test.DigitsTest):
  """Embedded scenes: sound objects, the same for ever, corrupted as promised."""

  DATASET_CLASS = digits_detection_dataset_builder.Builder
  SPLITS = {"train": 30, "test": 20}


class DigitsDetectionCTest(_FewScenes, builders_test.DigitsTest):
  DATASET_CLASS = digits_detection_c_dataset_builder.Builder
  SPLITS = {"test": 20}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean", "brightness_3"]


class CorruptedTest(parameterized.TestCase):
  def _examples(self, config, folder, **kwargs):
    built = datasets.prepare(
      "digits_detection_c", config, data_dir=folder, **kwargs
    )
    return list(tfds.as_numpy(built.as_dataset(split="test")))

  @quick.cases(["gaussian_noise"], ["motion_blur", "fog"])
  def test_the_same_pixels_on_the_fly_and_prepared(self, name):
    folder = self.create_tempdir().full_path
    clean = self._examples("clean", folder, limit=6)
    done = self._examples(f"{name}_4", folder, limit=6)
    images = [e["image"] for e in clean]
    self.assertGreater(len({i.shape for i in images}), 2)
    ids = [e["example_id"].decode() for e in clean]
    batch, sizes = canvas.stack(images)
    keys = conditions.raw_keys(0, "digits_detection_c", name, 4, ids)
    fly = np.asarray(
      corruptions.corrupt_batch(
        batch, name, 4, edition="any", keys=keys, sizes=sizes
      )
    )
    for before, after, pixels in zip(clean, done, fly, strict=True):
      self.assertEqual(before["example_id"], after["example_id"])
      height, width = before["image"].shape[:2]
      np.testing.assert_array_equal(after["image"], pixels[:height, :width])
      self.assertFalse(np.array_equal(after["image"], before["image"]))
      for key in ("bbox", "bbox_px", "label", "area", "id"):
        np.testing.assert_array_equal(
          before["objects"][key], after["objects"][key]
        )

  def test_features(self):
    (e, *_) = self._examples("clean", self.create_tempdir().full_path, limit=2)
    height, width = e["image"].shape[:2]
    self.assertEqual(e["size"].tolist(), [height, width])
    objects = e["objects"]
    np.testing.assert_allclose(
      objects["bbox"] * [height, width, height, width],
      np.stack(
        [
          objects["bbox_px"][:, 1],
          objects["bbox_px"][:, 0],
          objects["bbox_px"][:, 1] + objects["bbox_px"][:, 3],
          objects["bbox_px"][:, 0] + objects["bbox_px"][:, 2],
        ],
        axis=1,
      ),
      atol=1e-4,
    )
    masks = objects["mask"]
    for counts, size, area in zip(
      masks["counts"], masks["size"], objects["area"]
    ):
      self.assertEqual(size.tolist(), [height, width])
      self.assertEqual(rle.area(rle.Mask(counts.decode(), tuple(size))), area)
    self.assertEqual(objects["area"].dtype, np.float64)
    self.assertFalse(objects["is_crowd"].any())
    self.assertGreater(objects["id"].min(), 0)

  def test_array_record(self):
    built = datasets.prepare(
      "digits_detection_c",
      "clean",
      data_dir=self.create_tempdir().full_path,
      file_format="array_record",
      limit=5,
    )
    examples = list(built.as_data_source(split="test"))
    self.assertLen(examples, 5)
    objects = examples[0]["objects"]
    self.assertEqual(np.asarray(objects["area"]).dtype, np.float64)
    self.assertEqual(np.shape(objects["bbox_px"])[1], 4)

  def test_names(self):
    self.assertIn(
      "fog_3", datasets.builder_class("digits_detection_c").condition_names()
    )
    self.assertEqual(
      datasets.builder_class("digits_detection_c").edition_of(""), "any"
    )
    with self.assertRaisesRegex(ValueError, "Did you mean 'gaussian_noise'"):
      robust_tfds.load("digits_detection_c/gausian_noise/3")
    with self.assertRaisesRegex(ValueError, "Unknown codec 'published'"):
      datasets.builder("digits_detection_c", "clean", codec="published")

  def test_jpeg85(self):
    (e, *_) = self._examples(
      "clean", self.create_tempdir().full_path, limit=1, codec="jpeg85"
    )
    name = e["example_id"].decode()
    image, _ = scenes.draw("test", int(name[5:9]))
    self.assertFalse(np.array_equal(e["image"], image))
    self.assertLess(
      abs(e["image"].astype(float) - image.astype(float)).mean(), 12
    )


ANCHORS = 12  # of 120, so that a test takes seconds
FRAMES = 21


def _few_anchors(case) -> None:
  for name, value in (
    ("_EVERY", 30),
    # Other tests of this process have listed all anchors.
    ("_all_frames", digits_vid._all_frames.__wrapped__),
  ):
    few = mock.patch.object(digits_vid, name, value)
    few.start()
    case.addClassCleanup(few.stop)


def _frames():
  rows = digits.rows("test")[:: digits_vid._EVERY]
  return [frame for row in rows for frame in digits_vid.video(*row)]


class DigitsReviewedTest(
  natural_videos.MadeFolder, tfds.testing.DatasetBuilderTestCase
):
  """Digits in smooth motion: anchors, motion, boxes as COCO rows."""

  DATASET_CLASS = digits_vid.Builder
  BUILDER_CONFIG_NAMES_TO_TEST = ["reviewed"]

  @classmethod
  def setUpClass(cls):
    _few_anchors(cls)
    cls.SPLITS = {"test": sum(frame.reviewed for frame in _frames())}
    super().setUpClass()


class CountTest(absltest.TestCase):
  def test_all_anchors(self):
    frames = _frames()
    self.assertLen(frames, 2520)
    self.assertLen({frame.group_id for frame in frames}, 120)
    # Those that still show 90 % of the digit.
    self.assertEqual(sum(frame.reviewed for frame in frames), 2345)


class DigitsTest(natural_videos.Prepared):
  NAME = "digits_vid_robust"

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    _few_anchors(cls)
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls._built = folder.name

  def setUp(self):
    super().setUp()
    self.data = self._built  # built once for all tests

  def test_the_anchor_is_the_still_digit(self):
    found = self.examples("all")
    self.assertLen(found, FRAMES * ANCHORS)
    anchors = [r for r in found.values() if r["is_anchor"]]
    self.assertLen(anchors, ANCHORS)
    for row in anchors[:5]:
      number = int(row["example_id"].decode().split("/")[0][-4:])
      np.testing.assert_array_equal(row["image"], digits.read(number))
      self.assertTrue(row["reviewed"])

  def test_boxes_as_coco_rows(self):
    examples = list(self.examples("all").values())
    boxes = frame_boxes.coco(examples)
    self.assertLen(boxes.anchors, ANCHORS)
    self.assertLen(boxes.gt, FRAMES * ANCHORS)
    perfect = [{**row, "score": 0.5} for row in boxes.gt]
    got = pm_k.detection(perfect, perfect, boxes.anchors, boxes.frame_index)
    self.assertAlmostEqual(got["map_pmk"], 1.0)
    lost = [
      i for e in boxes.anchors[: ANCHORS // 2] for i in e["candidates"][:1]
    ]
    some = [row for row in perfect if row["image_id"] not in lost]
    got = pm_k.detection(perfect, some, boxes.anchors, boxes.frame_index)
    self.assertEqual([*got["selected"].values()][: ANCHORS // 2], lost)
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

  def test_motion_is_smooth(self):
    row = digits.rows("test")[0][0]
    pictures = [digits_vid.picture(row, o).astype(int) for o in range(-10, 11)]
    steps = [np.abs(a - b).mean() for a, b in zip(pictures, pictures[1:])]
    far = np.abs(pictures[0] - pictures[-1]).mean()
    self.assertGreater(min(steps), 0)
    self.assertLess(max(steps), far / 3)


class DigitsVideoTest(absltest.TestCase):
  """Digits in motion: the motions, and the same files every time."""

  def test_motions(self):
    def centre(frame):
      far = np.abs(frame.astype(float) - frame[0, 0]).sum(-1)
      y, x = np.mgrid[0 : own.SIDE_PX, 0 : own.SIDE_PX]
      return (far * x).sum() / far.sum(), (far * y).sum() / far.sum(), far.sum()

    for number, name in enumerate(own.CLASSES):
      video = own.draw("test", number)
      self.assertEqual(video.shape, (16, 48, 48, 3))
      first, last = centre(video[0]), centre(video[-1])
      along = {"left": (0, -1), "right": (0, 1), "up": (1, -1), "down": (1, 1)}
      if name in along:
        axis, sign = along[name]
        self.assertGreater(sign * (last[axis] - first[axis]), 3, name)
      if name in ("growing", "shrinking"):
        self.assertEqual(last[2] > first[2], name == "growing")

  def test_the_same_file_every_time(self):
    self.assertEqual(
      own.Encoded("test", 5).data(), own.Encoded("test", 5).data()
    )
    self.assertNotEqual(
      own.Encoded("test", 5).data(), own.Encoded("train", 5).data()
    )


class ScenesTest(parameterized.TestCase):
  """Drawn scenes: sound objects, the same for ever, digits that stand out."""

  def test_how_many(self):
    self.assertEqual(scenes.COUNTS, {"train": 1000, "test": 200})

  def test_objects_are_sound(self):
    labels = set()
    for number in range(60):
      image, objects = scenes.draw("test", number)
      self.assertNotEmpty(objects)
      self.assertLessEqual(len(objects), 5)
      self.assertLessEqual(max(image.shape[:2]), 128)
      masks = np.array([rle.decode(o.mask) for o in objects])
      self.assertEqual(masks.sum(axis=0).max(), 1, "masks share a pixel")
      for o, mask in zip(objects, masks):
        self.assertEqual(mask.shape, image.shape[:2])
        self.assertEqual(o.area, mask.sum())
        self.assertEqual(o.box, rle.box(o.mask))
        labels.add(o.label)
    self.assertEqual(labels, set(range(10)))

  def test_many_sizes_in_one_canvas(self):
    shapes = {scenes.draw("test", n)[0].shape[:2] for n in range(60)}
    self.assertGreater(len(shapes), 10)
    self.assertEqual({canvas.shape(*s) for s in shapes}, {(128, 128)})

  def test_the_same_for_ever(self):
    digest = hashlib.sha256()
    for split in scenes.COUNTS:
      for number in range(20):
        image, objects = scenes.draw(split, number)
        digest.update(image.tobytes())
        digest.update(repr(objects).encode())
    self.assertEqual(
      digest.hexdigest()[:16],
      "17559a41ad33e269",
      "Scenes changed: raise the version of both builders.",
    )

  def test_seeds_and_splits_differ(self):
    first = scenes.draw("test", 0)[0]
    for other in (scenes.draw("test", 0, 1), scenes.draw("train", 0)):
      self.assertFalse(np.array_equal(first, other[0]))

  def test_digits_stand_out(self):
    image, (one, *_) = scenes.draw("test", 0)
    mask = rle.decode(one.mask)
    outside = ~np.any(
      [rle.decode(o.mask) for o in scenes.draw("test", 0)[1]], axis=0
    )
    gap = image[mask].mean() - image[outside].mean()
    self.assertGreater(abs(gap), 50)
