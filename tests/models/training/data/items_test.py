"""Examples as they enter a batch."""

import numpy as np
from absl.testing import parameterized

from models.training.data import config as config_lib
from models.training.data import examples, items
from robust_tfds import errors
from robust_tfds.building import objects
from robust_tfds.coco import rle
from tests import tiny_files

_KEY = np.array([1, 2], np.uint32)
_FRAMES = np.stack([np.full((9, 9, 3), i, np.uint8) for i in range(60)])


def _config(**options):
  return config_lib.Config(source="mine", **options)


def _of_scene(known=None, **options):
  known = known or [
    objects.Object(1, 4, (2.0, 3.0, 10.0, 5.0), 50.0),
    objects.Object(2, 5, (0.0, 0.0, 9.0, 9.0), 81.0, is_crowd=True),
    objects.Object(3, 6, (0.0, 0.0, 9.0, 9.0), 81.0, is_difficult=True),
    objects.Object(4, 7, (1.5, 0.0, 2.0, 2.0), 4.0),
  ]
  row = {"image": tiny_files.noise(20, 30), "objects": known}
  config = _config(**{"canvas": (32, 48), "boxes": 3, **options})
  return items.make(
    row, examples.OBJECTS, config, rule="", key=_KEY, name="a.png"
  )


def _of_video(rule="", key=_KEY, video=_FRAMES, **options):
  row = {"video": video, "fps": 30.0, "label": 3}
  config = _config(**{"frames": 4, "rate": 5, **options})
  item = items.make(row, examples.VIDEOS, config, rule=rule, key=key, name="a")
  return item["video"][:, 0, 0, 0].tolist()


class ItemsTest(parameterized.TestCase):
  def test_objects(self):
    item = _of_scene()
    self.assertEqual(item["image"].shape, (32, 48, 3))
    self.assertFalse(item["image"][20:].any() or item["image"][:, 30:].any())
    self.assertEqual(item["size"].tolist(), [20, 30])
    self.assertEqual(item["labels"].tolist(), [4, 7, -1])
    boxes = [[2, 3, 12, 8], [1.5, 0, 3.5, 2], [0, 0, 0, 0]]
    np.testing.assert_array_equal(item["boxes"], np.float32(boxes))

  def test_masks(self):
    part = np.zeros((20, 30), bool)
    part[3:8, 2:12] = True
    known = [
      objects.Object(1, 4, (2.0, 3.0, 10.0, 5.0), 50.0, mask=rle.encode(part))
    ]
    item = _of_scene(known, masks=True)
    self.assertEqual(item["masks"].shape, (3, 32, 48))
    np.testing.assert_array_equal(item["masks"][0, :20, :30], part)
    self.assertEqual(item["masks"].sum(), 50)
    with self.assertRaisesRegex(errors.UserError, "object 1 has no mask"):
      _of_scene(masks=True)

  @parameterized.parameters(
    ({"canvas": (16, 48)}, "a.png: 30 x 20 px, the canvas has 48 x 16"),
    ({"boxes": 1}, "a.png: 2 objects, data.boxes=1"),
  )
  def test_objects_that_do_not_fit(self, options, words):
    with self.assertRaisesRegex(errors.UserError, words):
      _of_scene(**options)

  def test_clips(self):
    # A clip spans 20 of 60 frames; the middle one starts at frame 20.
    self.assertEqual(_of_video(), [20, 26, 32, 39])
    keys = np.random.default_rng(0).integers(0, 2**32, (300, 2), np.uint32)
    starts = [_of_video("random_resized4", key)[0] for key in keys]
    self.assertEqual((min(starts), max(starts)), (0, 39))
    self.assertAlmostEqual(np.mean(starts), 19.5, delta=2)

  def test_a_clip_of_a_file_that_is_not_held(self):
    data = tiny_files.movie(_FRAMES.repeat(2, 1).repeat(2, 2) * 4)
    of_file, of_frames = _of_video(video=data), _of_video()
    np.testing.assert_allclose(of_file, np.multiply(4, of_frames), atol=3)
    short = tiny_files.movie(_FRAMES[:9].repeat(2, 1).repeat(2, 2) * 4)
    self.assertEqual(*_of_video(video=short)[-2:])  # its last frame again

  def test_a_video_without_frames_asked_for(self):
    with self.assertRaisesRegex(errors.UserError, "a: a video, of which"):
      _of_video(frames=0)
