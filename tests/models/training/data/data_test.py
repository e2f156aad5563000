"""Training data: configs, crops, examples, items, pictures of users, batches."""

import functools
import io
import pathlib
import pickle
import tracemalloc
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized
from PIL import Image

from models import training
from models.training import data
from models.training.data import config as config_lib
from models.training.data import crops, examples, items, user_pictures
from robust_tfds import corruptions, errors
from robust_tfds.building import objects
from robust_tfds.coco import rle
from robust_tfds.corruptions import seeding
from tests import quick, tiny_files
from tests.models.training import tiny_trainings
from tests.user_data import made


def _first(source: str, folder: str, **options) -> dict:
  config = data.Config(source=source, data_dir=folder, **options)
  lines: list[str] = []
  opened = data.open(config, lines.append)
  assert lines  # of the set that is prepared
  return next(opened.batches(batch_size=8, seed=0, epoch=0))


class OpenTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  @quick.cases([("digits", 32)], [("signs", 64)])
  def test_pictures(self, source, side):
    batch = _first(source, self.folder)
    self.assertEqual(batch["image"].shape, (8, side, side, 3))

  @pytest.mark.slow
  def test_clips(self):
    batch = _first("digits_video", self.folder, frames=4, rate=2)
    self.assertEqual(batch["video"].shape, (8, 4, 48, 48, 3))

  @pytest.mark.slow
  def test_scenes(self):
    batch = _first("digits_detection", self.folder, masks=True)
    self.assertEqual(batch["image"].shape, (8, 128, 128, 3))
    there = batch["labels"] >= 0
    self.assertTrue(there.any(axis=1).all())
    x0, y0, x1, y1 = np.moveaxis(batch["boxes"], -1, 0)
    self.assertTrue((x1[there] > x0[there]).all())
    self.assertTrue((y1[there] <= batch["size"].max()).all())
    self.assertFalse(batch["boxes"][~there].any())
    self.assertEqual(batch["masks"].shape, (*there.shape, 128, 128))
    down, across = batch["masks"][there][0].nonzero()
    x0, y0, x1, y1 = batch["boxes"][there][0]
    np.testing.assert_allclose(
      (across.min(), down.min(), across.max() + 1, down.max() + 1),
      (x0, y0, x1, y1),
      atol=1,
    )


class ConfigTest(parameterized.TestCase):
  @parameterized.parameters(
    ({"validation": 1.5}, "a fraction from 0 to below 1"),
    ({"validation": "test"}, "what the model is judged on"),
    ({"validation": float("nan")}, "what the model is judged on"),
    ({"geometry": "random_resized8"}, "belongs in `crop`"),
    ({"crop": "random8"}, "Unknown geometry"),
    ({"split": "test[:10%]"}, "Train on another split"),
    (
      {"source": "tfds:imagenet_resized/64x64", "split": "validation"},
      "what models are judged on",
    ),
    ({"canvas": (640,)}, "a height and a width"),
    ({"cache": "gs://kept"}, "expected a folder on this machine"),
    (
      {"crop": "random_resized299", "cache": "c"},
      "resizes to 299. Leave it out",
    ),
    ({"canvases": (640, 640)}, "Did you mean 'canvas'"),
  )
  def test_refused(self, options, words):
    *_, key = options
    begins = f"^config.data.{key}: .*"
    with self.assertRaisesRegex(errors.UserError, begins + words):
      tiny_trainings.config(data={"source": "digits"} | options)

  @parameterized.parameters(
    ({"judged_on": "coco_c, pascal_c"}, "judged_on", ("coco_c", "pascal_c")),
    ({"canvas": (640, 480), "boxes": 7}, "canvas", (640, 480)),
    ({"frames": 8, "rate": 2}, "rate", 2),
  )
  def test_every_field_is_a_key(self, options, key, value):
    made = tiny_trainings.config(data={"source": "digits", **options})
    self.assertEqual(getattr(made.data, key), value)


def _keys(count):
  return np.random.default_rng(0).integers(0, 2**32, (count, 2), np.uint32)


class CropsTest(parameterized.TestCase):
  def test_parts_are_of_torchvisions_areas_and_shapes(self):
    boxes = np.array([crops.resized_box(500, 375, k) for k in _keys(4000)])
    left, top, right, bottom = boxes.T
    self.assertTrue(((left >= 0) & (right <= 500)).all())
    self.assertTrue(((top >= 0) & (bottom <= 375)).all())
    width, height = right - left, bottom - top
    ratio = np.log(width / height)
    self.assertLessEqual(np.abs(ratio).max(), np.log(4 / 3) + 0.02)
    area = width * height / (500 * 375)
    self.assertAlmostEqual(area.min(), 0.08, delta=0.005)
    # Of 10^5 draws of torchvision 0.28's RandomResizedCrop.get_params: mean and
    # deviation of the area .4338, .2171; mean of the shape's logarithm .031.
    self.assertAlmostEqual(area.mean(), 0.4338, delta=0.014)
    self.assertAlmostEqual(area.std(), 0.2171, delta=0.01)
    self.assertAlmostEqual(ratio.mean(), 0.031, delta=0.011)
    # Places are uniform in what is left.
    self.assertAlmostEqual((left / (501 - width)).mean(), 0.5, delta=0.02)

  @parameterized.parameters(
    (1000, 10, (493, 0, 506, 10)), (10, 1000, (0, 493, 10, 506))
  )
  def test_pictures_that_no_part_fits_show_their_centre(self, w, h, box):
    self.assertEqual(crops.resized_box(w, h, _keys(1)[0]), box)

  @parameterized.parameters("random_resized24", "random_resized24_bicubic")
  def test_a_part_is_resized_as_pillow_does(self, rule):
    pixels, key = tiny_files.noise(60, 91), _keys(1)[0]
    kind = getattr(Image, "BICUBIC" if "bicubic" in rule else "BILINEAR")
    box = crops.resized_box(91, 60, key)
    part = Image.fromarray(pixels).crop(box).resize((24, 24), kind)
    np.testing.assert_array_equal(
      crops.apply(pixels, rule, key), np.asarray(part)
    )

  def test_the_shorter_side_then_anywhere(self):
    pixels = tiny_files.noise(60, 91)
    whole = np.asarray(Image.fromarray(pixels).resize((60, 40), Image.BILINEAR))
    lefts = set()
    for key in _keys(200):
      left, top, right, bottom = crops.placed_box(60, 40, 32, key)
      lefts.add(left)
      cut = crops.apply(pixels, "short40_random32", key)
      np.testing.assert_array_equal(cut, whole[top:bottom, left:right])
    self.assertEqual(lefts, set(range(29)))

  def test_one_draw_for_all_frames(self):
    frames, key = np.stack([tiny_files.noise(40, 50)] * 3), _keys(1)[0]
    clip = crops.apply(frames, "random_resized16", key)
    self.assertEqual(clip.shape, (3, 16, 16, 3))
    np.testing.assert_array_equal(clip[0], clip[2])

  @parameterized.parameters(
    *("random_resized16", "short32_random24_bicubic", "short32_crop24"),
    *("squash20", "whole"),
  )
  def test_frames_are_cropped_as_each_alone(self, rule):
    frames = np.stack([tiny_files.noise(40, 50, seed=i) for i in range(11)])
    for count, key in zip((1, 8, 11), _keys(3)):
      clip = crops.apply(frames[:count], rule, key)
      alone = [crops.apply(frame, rule, key) for frame in frames[:count]]
      np.testing.assert_array_equal(clip, np.stack(alone))

  @parameterized.parameters(
    ("random_resized9000", "sizes must be from 1"),
    ("short32_random40", "crop does not lie inside"),
    ("random32", "Unknown geometry"),
  )
  def test_refused(self, rule, words):
    with self.assertRaisesRegex(errors.UserError, words):
      crops.shape(rule)

  @parameterized.parameters(
    ("random_resized224", 224), ("short256_random224", 224), ("whole", None)
  )
  def test_shape(self, rule, side):
    self.assertEqual(crops.shape(rule), (side, side, 3))


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


class SmallRowsOfTests(tfds.core.GeneratorBasedBuilder):
  """Twenty thousand pictures of 16 x 16 px: 15 MB."""

  VERSION = tfds.core.Version("1.0.0")
  COUNT = 20_000

  def _info(self):
    label = tfds.features.ClassLabel(names=["even", "odd"])
    image = tfds.features.Image(shape=(16, 16, 3))
    features = tfds.features.FeaturesDict({"image": image, "label": label})
    return tfds.core.DatasetInfo(builder=self, features=features)

  def _split_generators(self, dl_manager):
    return {"train": self._generate_examples()}

  def _generate_examples(self):
    png = tiny_files.encoded(tiny_files.noise(16, 16), "PNG")
    for i in range(self.COUNT):
      yield i, {"image": io.BytesIO(png), "label": i % 2}


class FewRowsOfTests(SmallRowsOfTests):
  """Twenty of them."""

  COUNT = 20


class ExamplesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  @quick.cases(["array_record"], ["tfrecord"])
  def test_a_set_of_tfds(self, file_format):
    folder = f"{self.folder}/{file_format}"
    builder = FewRowsOfTests(data_dir=folder, file_format=file_format)
    builder.download_and_prepare()
    config = data.Config(
      source=f"tfds:{__name__}:FewRowsOfTests", data_dir=folder
    )
    source = data.open(config)
    self.assertLen(source.ids(), 20)
    self.assertEqual(source.ids()[0], "train_00000")
    self.assertEqual(source.name, "few_rows_of_tests")
    (batch,) = source.batches(batch_size=20, seed=0, epoch=0)
    self.assertCountEqual(batch["label"], [0, 1] * 10)

  @pytest.mark.slow
  def test_many_rows_are_not_held(self):
    builder = SmallRowsOfTests(
      data_dir=f"{self.folder}/data", file_format="array_record"
    )
    builder.download_and_prepare()
    config = data.Config(
      source=f"tfds:{__name__}:SmallRowsOfTests", data_dir=f"{self.folder}/data"
    )
    source = data.open(config)
    self.assertEqual(source.num_examples, 20_000)
    with absltest.mock.patch.object(source._examples, "_left", 1 << 20):
      next(source.batches(batch_size=100, seed=0, epoch=0))
      tracemalloc.start()
      for _ in source.batches(batch_size=100, seed=0, epoch=0):
        pass
      _, peak = tracemalloc.get_traced_memory()
      tracemalloc.stop()
    self.assertLess(peak, 4 << 20)

  @parameterized.parameters(
    ({"source": "digit"}, "Did you mean 'digits'"),
    ({"source": "digits_c"}, "Unknown set to train on 'digits_c'"),
    ({"source": "digits", "split": "trian"}, "Did you mean 'train'"),
    ({"source": "folder:/no/such"}, "there is no such folder"),
  )
  def test_refused(self, options, words):
    with self.assertRaisesRegex(errors.UserError, words):
      data.open(data.Config(data_dir=self.folder, **options))


_KEYS = np.random.default_rng(0).integers(0, 2**32, (40, 2), np.uint32)


class BesideTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    for i in range(3):  # of one level each
      picture = np.full((30 + i, 40, 3), 50 * i, np.uint8)
      (self.root / f"{i}.png").write_bytes(tiny_files.encoded(picture))

  def test_each_is_drawn_and_by_its_key_alone(self):
    given = user_pictures.Pictures(str(self.root), 16)
    drawn = [given.drawn(key, 12) for key in _KEYS]
    self.assertEqual(
      {(d.shape, d.dtype.name) for d in drawn}, {((12, 12, 3), "uint8")}
    )
    self.assertEqual({int(d[0, 0, 0]) for d in drawn}, {0, 50, 100})
    again = pickle.loads(pickle.dumps(given))
    for key, before in zip(_KEYS[::-1], drawn[::-1]):
      np.testing.assert_array_equal(again.drawn(key, 12), before)

  def test_the_middle_or_anywhere(self):
    across = np.tile(np.arange(64, dtype=np.uint8)[:, None], (32, 1, 3))
    root = pathlib.Path(self.create_tempdir().full_path)
    (root / "a.png").write_bytes(tiny_files.encoded(across))
    given = user_pictures.Pictures(str(root), 32)
    middle = given.drawn(_KEYS[0], 32, centred=True)
    np.testing.assert_array_equal(middle, across[:, 16:48])
    places = {int(given.drawn(key, 32)[0, 0, 0]) for key in _KEYS}
    self.assertGreater(len(places), 5)

  def test_procedural_ones(self):
    five = training.fractals(5, 16)
    drawn = {
      user_pictures.made(training.fractals, 5, 16, key).tobytes()
      for key in _KEYS
    }
    self.assertEqual(drawn, {picture.tobytes() for picture in five})

  def test_refuses(self):
    (self.root / "0.png").write_bytes(b"no picture")
    given = user_pictures.Pictures(str(self.root), 16)
    with self.assertRaisesRegex(errors.UserError, "0.png"):
      for key in _KEYS:
        given.drawn(key, 12)
    with self.assertRaisesRegex(errors.UserError, "expected pictures in it"):
      user_pictures.Pictures(self.create_tempdir().full_path, 16)


@functools.cache
def _folder() -> str:
  return absltest.TEST_TMPDIR.value


def _open(source: str = "digits", **options) -> data.Source:
  return data.open(
    data.Config(source=source, data_dir=f"{_folder()}/data", **options)
  )


def _epoch(source: data.Source, batch_size=32, seed=0, epoch=0, **options):
  return list(
    source.batches(batch_size=batch_size, seed=seed, epoch=epoch, **options)
  )


def _ids(batches) -> list[str]:
  return [i for batch in batches for i in batch["id"]]


class _Twice:
  """Adds what it is told."""

  copies = 2
  extras = ("own", "copy")
  folders: dict[str, str] = {}

  def extra_arrays(self, item, key, own, copy):
    assert item["image"].ndim == 3
    return {"own": own, "copy": np.int32(copy)}


class SourceTest(parameterized.TestCase):
  def test_what_is_held_is_what_is_read_ahead(self):
    batches = []
    for held in (examples.HELD_BYTES, 0):
      with mock.patch.object(examples, "HELD_BYTES", held):
        source = _open(validation=0.1, workers=0)
        batches.append(_epoch(source, start=7, remainder="keep"))
    for of_memory, read in zip(*batches, strict=True):
      self.assertEqual(of_memory.keys(), read.keys())
      for name in read:
        np.testing.assert_array_equal(of_memory[name], read[name])

  def test_an_epoch_holds_every_example_once(self):
    source = _open(validation=0.1)
    ids = _ids(_epoch(source, remainder="keep"))
    self.assertCountEqual(ids, source.ids())
    self.assertLen(ids, source.num_examples)
    self.assertLen(_epoch(source), source.steps(32))
    self.assertEmpty(set(ids) & set(source.ids("validation")))
    self.assertLen(source.classes, 10)

  def test_the_digest_is_of_ids_and_bytes(self):
    digests = {_open(**o).digest for o in ({}, {"validation": 0.1})}
    self.assertLen(digests, 1)
    self.assertLen(digests.pop(), 64)
    root = pathlib.Path(made.folder(pathlib.Path(_folder()) / "one" / "pets"))
    first = _open(f"folder:{root}").digest
    file = next(p for p in sorted(root.rglob("*")) if p.is_file())
    file.rename(file.with_name(f"other{file.suffix}"))
    self.assertNotEqual(_open(f"folder:{root}").digest, first)

  def test_order_follows_seed_and_epoch_alone(self):
    source = _open()
    ids = _ids(_epoch(source))
    self.assertEqual(_ids(_epoch(source, 16))[:512], ids[:512])
    self.assertNotEqual(_ids(_epoch(source, epoch=1)), ids)
    self.assertNotEqual(_ids(_epoch(source, seed=1)), ids)
    self.assertNotEqual(ids, sorted(ids))

  @parameterized.parameters(0, 32, 45)
  def test_goes_on_at_any_example(self, start):
    source = _open()
    whole = _epoch(source, 1, remainder="keep")
    rest = _epoch(source, 64, start=start, remainder="keep")
    self.assertEqual(_ids(rest), _ids(whole[start:]))

  def test_each_host_has_its_part_of_each_batch(self):
    source = _open()
    hosts = [
      _epoch(source, 24, host=(i, 3), remainder="keep") for i in range(3)
    ]
    for whole, *parts in zip(_epoch(source, 24, remainder="keep"), *hosts):
      self.assertEqual(_ids(parts), whole["id"])
      for name in ("image", "label", "key"):
        joined = np.concatenate([part[name] for part in parts])
        np.testing.assert_array_equal(joined, whole[name])

  def test_copies_of_an_example_have_keys_of_their_own(self):
    """Twice the steps; what is added hangs on the copy, its own key on no epoch."""
    source = data.open(_open().config, additions=_Twice())
    self.assertEqual(source.steps(32), 2 * source.num_examples // 32)
    epochs = [_epoch(source, 32, epoch=e) for e in (0, 1)]
    alone = {  # as without copies
      i: tuple(k)
      for b in _epoch(_open(), remainder="keep")
      for i, k in zip(b["id"], b["key"])
    }
    own = []
    for batches in epochs:
      rows = [
        (i, int(c), tuple(k), tuple(o))
        for b in batches
        for i, c, k, o in zip(b["id"], b["copy"], b["key"], b["own"])
      ]
      self.assertLen({row[:2] for row in rows}, len(rows))  # each once
      self.assertLen({k for _, _, k, _ in rows}, len(rows))
      self.assertNotEqual(
        [c for _, c, _, _ in rows], sorted(c for _, c, _, _ in rows)
      )
      own.append({row[:2]: row[3] for row in rows})
      if batches is epochs[0]:
        for i, c, k, _ in rows:
          self.assertEqual(alone[i] == k, c == 0)
    for which in own[0].keys() & own[1].keys():
      self.assertEqual(own[0][which], own[1][which])

  def test_nothing_is_added_to_validation(self):
    source = data.open(_open(validation=0.1).config, additions=_Twice())
    (batch, *_) = _epoch(source, 8, split="validation")
    self.assertNotIn("copy", batch)
    self.assertEqual(
      source.steps(1, "validation"), len(source.ids("validation"))
    )

  def test_keys_are_those_of_the_public_door(self):
    (batch, *_) = _epoch(_open(), 4, seed=7, epoch=3)
    for name, key in zip(batch["id"], batch["key"], strict=True):
      own = corruptions.example_key(7, "digits", "train", 1, name)
      (folded,) = seeding.frame_keys(seeding.host_key(own), np.array([3]))
      np.testing.assert_array_equal(key, folded)

  def test_a_folder(self):
    root = made.folder(pathlib.Path(_folder()) / "pets")
    source = _open(f"folder:{root}", crop="random_resized16")
    self.assertEqual((source.name, list(source.classes)[1]), ("pets", "cat"))
    moved = made.folder(pathlib.Path(_folder()) / "elsewhere" / "pets")
    again = _open(f"folder:{moved}", crop="random_resized16")
    for one, other in zip(_epoch(source, 4), _epoch(again, 4), strict=True):
      np.testing.assert_array_equal(one["image"], other["image"])
    first, second = (_epoch(source, 12, epoch=e)[0] for e in (0, 1))
    at = [second["id"].index(i) for i in first["id"]]
    self.assertFalse((first["image"] == second["image"][at]).all())

  def test_pictures_of_many_sizes_need_a_crop(self):
    root = made.folder(pathlib.Path(_folder()) / "pets")
    with self.assertRaisesRegex(errors.UserError, "data.crop=random_resized"):
      _epoch(_open(f"folder:{root}"), 4)

  def test_the_shape_of_pictures_is_known_before_a_batch(self):
    """Of headers, also of those on their side; the rules' where they say one."""
    root = pathlib.Path(_folder()) / "sizes" / "pets"
    picture = lambda h, w: tiny_files.encoded(tiny_files.noise(h, w, 0), "PNG")
    files = {f"{kind}/{i}.png": picture(24, 32) for kind in "ab" for i in "12"}
    tiny_files.put(root, files)
    name = f"folder:{root}"
    self.assertEqual(_open(name).shape(), (24, 32))
    self.assertEqual(_open(name, geometry="short12").shape(), (12, 16))
    tiny_files.put(root, {"b/3.png": picture(32, 24)})
    with self.assertRaisesRegex(
      errors.UserError,
      "a/1.png of 32 x 24 px, b/3.png of 24 x 32 px: pictures of several sizes"
      " .* those of train are cut: --config.data.crop=random_resized224",
    ):
      _open(name).shape()
    rules = {"crop": "random_resized16", "geometry": "short16_crop12"}
    cut = _open(name, validation=0.5, **rules)
    self.assertEqual(cut.shape(), (16, 16))
    self.assertEqual(cut.shape("validation"), (12, 12))
    self.assertEqual(_open().shape(), (32, 32))

  def test_what_fits_is_decoded_once(self):
    source = _open()
    _epoch(source)
    with absltest.mock.patch.object(
      examples.Records, "decode", side_effect=AssertionError
    ):
      _epoch(source, remainder="drop")


class RefusalTest(parameterized.TestCase):
  def test_a_fraction_that_leaves_nothing(self):
    with self.assertRaisesRegex(errors.UserError, "leaves none for validation"):
      _open(validation=1e-6)

  def test_hosts_that_cannot_share(self):
    with self.assertRaisesRegex(errors.UserError, "a multiple of the number"):
      _epoch(_open(), 10, host=(0, 3))
