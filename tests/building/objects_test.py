"""Objects, frames and videos of a builder."""

import dataclasses
import io
import pathlib
import shutil
import tempfile
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized
from PIL import Image

import robust_tfds
from robust_tfds import conditions, corruptions, datasets, errors, resizing
from robust_tfds.building import (
  base,
  drawing,
  frame_boxes,
  frames,
  geometry,
  objects,
  pictures,
  videos,
)
from robust_tfds.coco import rle
from robust_tfds.corruptions import frost_pictures
from robust_tfds.corruptions.ops import jpeg
from robust_tfds.datasets.digits_video import (
  digits_video_dataset_builder as own,
)
from robust_tfds.datasets.imagenet_vid_robust import (
  imagenet_vid_robust_dataset_builder as vid_builder,
)
from robust_tfds.reading import videos as video_files
from tests import quick, resizing_golden, shared_data, tiny_files

_GOOD = objects.Object(
  id=1,
  label=0,
  box=(2.0, 3.0, 10.0, 5.5),
  area=50.0,
  mask=rle.encode(np.ones((48, 60), bool)),
)


class CheckedTest(parameterized.TestCase):
  """What detection datasets share: refusals of unsound objects, boxes."""

  def _check(self, *annotated):
    return objects.validated(annotated, (48, 60), "a.jpg")

  def test_sound_objects_pass(self):
    other = dataclasses.replace(_GOOD, id=2, box=(-0.6, 0.0, 60.9, 48.5))
    self.assertLen(self._check(_GOOD, other), 2)
    self.assertEmpty(self._check())

  @parameterized.parameters(
    (dict(box=(2.0, 3.0, 0.0, 5.0)), "a.jpg, object 1: zero area"),
    (dict(box=(2.0, 3.0, 4.0, -5.0)), "zero area"),
    (dict(area=0.0), "zero area"),
    (dict(area=float("nan")), "not finite"),
    (dict(box=(float("inf"), 3.0, 4.0, 5.0)), "not finite"),
    (dict(box=(55.0, 3.0, 10.0, 5.0)), "outside the image of 60 x 48 px"),
    (dict(box=(2.0, 40.0, 10.0, 20.0)), "outside the image"),
    (dict(box=(-3.0, 3.0, 10.0, 5.0)), "outside the image"),
    (dict(mask=rle.encode(np.ones((60, 48)))), "mask is 48 x 60 px, the image"),
    (dict(id=0), "unique and not 0"),
  )
  def test_unsound_objects(self, change, message):
    with self.assertRaisesRegex(ValueError, message):
      self._check(dataclasses.replace(_GOOD, **change))

  def test_an_id_used_twice(self):
    with self.assertRaisesRegex(ValueError, "unique"):
      self._check(_GOOD, _GOOD)

  def test_boxes_are_clipped_to_the_image(self):
    box = objects.normalised((-0.5, 12.0, 61.0, 12.0), (48, 60))
    self.assertEqual(tuple(box), (0.25, 0.0, 0.5, 1.0))


def _frame(group: str, offset: int, reviewed: bool = True, boxes=()) -> dict:
  name = f"{group}{offset or ''}"
  return {
    "example_id": name.encode(),
    "group_id": group,
    "frame": offset,
    "reviewed": reviewed,
    "image": np.zeros((10, 20, 3), np.uint8),
    "objects": {"bbox": list(boxes), "label": [4] * len(boxes)},
  }


class FrameBoxesTest(absltest.TestCase):
  """Boxes of frame sets as COCO rows: pixels, anchors, frames that are apart."""

  def test_rows(self):
    box = (0.1, 0.25, 0.5, 1.0)
    rows = frame_boxes.coco(
      [
        _frame("b", 0),
        _frame("a", 2),
        _frame("a", 0, boxes=[box, box]),
        _frame("a", -1, boxes=[box]),
        _frame("a", 7, reviewed=False),
      ]
    )
    ids = rows.image_id
    self.assertEqual(ids, {"a": 1, "a-1": 2, "a2": 3, "a7": 4, "b": 5})
    self.assertEqual(
      rows.anchors,
      [
        {"anchor": 1, "candidates": [2, 1, 3]},
        {"anchor": 5, "candidates": [5]},
      ],
    )
    self.assertEqual(rows.frame_index, {1: 0, 2: -1, 3: 2, 4: -1000, 5: 1000})
    self.assertEqual([row["id"] for row in rows.gt], [1, 2, 3])
    self.assertEqual([row["image_id"] for row in rows.gt], [1, 1, 2])
    row = rows.gt[0]
    np.testing.assert_allclose(row["bbox"], [5, 1, 15, 4])
    self.assertAlmostEqual(row["area"], 60)
    self.assertEqual((row["category_id"], row["iscrowd"]), (4, 0))

  def test_ground_truth(self):
    box = (0.1, 0.25, 0.5, 1.0)
    encoded = io.BytesIO()
    Image.new("RGB", (20, 10)).save(encoded, "PNG")
    stored = {**_frame("a", 0, boxes=[box]), "image": encoded.getvalue()}
    truth = frame_boxes.truth([_frame("a", 2), stored], list("vwxyz"))
    first, second = truth["images"]
    self.assertEqual((first["height"], first["width"]), (10, 20))
    self.assertEqual((second["group_id"], second["frame"]), ("a", 2))
    self.assertEqual(truth["annotations"][0]["category_id"], 5)  # label + 1
    sets = frame_boxes.Sets.from_images(truth["images"])
    self.assertEqual((sets.candidates, sets.frame), ({1: [1, 2]}, {1: 0, 2: 2}))
    with self.assertRaisesRegex(ValueError, "No frame has a box"):
      frame_boxes.truth([_frame("a", 0)], list("vwxyz"))

  def test_refusals(self):
    with self.assertRaisesRegex(ValueError, "No frames"):
      frame_boxes.coco([])
    crop = _frame("a", 0)
    del crop["objects"]
    with self.assertRaisesRegex(ValueError, "crops"):
      frame_boxes.coco([crop])
    with self.assertRaisesRegex(ValueError, "'b' is not among"):
      frame_boxes.coco([_frame("a", 0), _frame("b", 1)])


class ConfigsTest(parameterized.TestCase):
  """Frame sets: configs, and sets that are refused."""

  def test_names(self):
    config_of = vid_builder.Builder.config_of
    self.assertEqual(config_of("clean").name, "reviewed")
    self.assertEqual(config_of("all", geometry="imagenet").name, "all_imagenet")
    made = config_of("clean", codec="raw", geometry="short256_crop224_bicubic")
    self.assertEqual(made.name, "reviewed_short256_crop224_bicubic")
    self.assertEqual(made.variant, "")

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
    return frames.Frame(
      example_id=name, group_id=group, frame=offset, labels=labels
    )

  @parameterized.named_parameters(
    ("nothing", [], "no anchor sets"),
    ("no_anchor", [("b", 1)], "set of a lacks its anchor"),
    ("far", [("a", 0), ("b", 11)], r"b is \+11 frames from its anchor a"),
    ("label", [("a", 0, ())], "a has no label"),
    ("twice", [("a", 0), ("a", 1)], "a occurs twice"),
    ("offset", [("a", 0), ("b", 1), ("c", 1)], "c occurs twice"),
  )
  def test_refuses(self, rows, message):
    with self.assertRaisesRegex(ValueError, message):
      frames.check([self._frame(*row) for row in rows])

  def test_whole_frames_are_stored_as_tfds_can_decode_them(self):
    palette = Image.new("RGB", (4, 3), (200, 10, 10)).convert("P")
    files = []
    for picture, kind in (
      (palette, "PNG"),
      (Image.new("L", (4, 3), 7), "PNG"),
      (Image.new("CMYK", (4, 3), (0, 9, 99, 0)), "JPEG"),
    ):
      out = io.BytesIO()
      picture.save(out, kind)
      files.append(out.getvalue())
    sources = [
      dataclasses.replace(
        self._frame(str(i), 0), picture=mock.Mock(data=lambda data=data: data)
      )
      for i, data in enumerate(files)
    ]
    rows = frames.encode_chunk(sources, rule=frames.WHOLE)
    self.assertEqual([r.data == f for r, f in zip(rows, files)], [0, 1, 0])
    for row, data in zip(rows, files):
      stored = np.asarray(Image.open(io.BytesIO(row.data)))
      shown = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
      if stored.ndim == 2:
        stored = np.repeat(stored[..., None], 3, axis=-1)
      np.testing.assert_array_equal(stored, shown)

  def test_distances_are_the_goldens(self):
    with np.load(shared_data.golden("video", "linf_frames.npz")) as data:
      got = [frames.linf(*pair) for pair in zip(data["a"], data["b"])]
      np.testing.assert_allclose(got, data["linf"], atol=1e-12)


class GeometryTest(parameterized.TestCase):
  """Crop rules: shapes, and offsets that round as the published ones."""

  @parameterized.parameters(
    ("imagenet", (224, 224, 3)),
    ("inception", (299, 299, 3)),
    ("squash256_crop227", (227, 227, 3)),
    ("centre7of8_224_bicubic", (224, 224, 3)),
    ("short256", (256, 341, 3)),
    ("whole", (375, 500, 3)),
  )
  def test_shapes(self, rule, shape):
    data = tiny_files.encoded(tiny_files.noise(375, 500), "JPEG")
    image = geometry.decode(data, rule, "x")
    self.assertEqual(image.shape, shape)
    for got, want in zip(geometry.shape(rule), shape):
      self.assertIn(got, (None, want))

  @parameterized.parameters(
    ("short256_crop224", (30_000, 1), "x.JPEG: 30000 x 1 px become 7680000"),
    ("fraction0.875_299", (1, 1), "x.JPEG: 1 x 1 px are too few"),
    ("centre7of8_224", (500, 1), "x.JPEG: 500 x 1 px are too few"),
  )
  def test_sides_that_a_rule_cannot_take(self, rule, size, text):
    data = tiny_files.encoded(tiny_files.noise(*size[::-1]), "JPEG")
    with self.assertRaisesRegex(errors.UserError, text):
      geometry.decode(data, rule, "x.JPEG")

  @parameterized.parameters(False, True)
  def test_16_bit_grey_is_scaled(self, convert_last):
    data = tiny_files.encoded(np.full((300, 300), 0x8080, np.uint16))
    got = geometry.decode(data, "imagenet", "x", convert_last=convert_last)
    np.testing.assert_array_equal(got, np.full((224, 224, 3), 0x80))

  def test_offsets_round_half_to_even(self):
    # (341 - 224) / 2 = 58.5 -> 58: docs/evidence/specs/imagenet_p.md section 1.
    column = np.arange(341, dtype=np.uint16) % 256
    image = np.tile(column.astype(np.uint8)[None, :, None], (256, 1, 3))
    out = geometry.apply(image, "imagenet")
    self.assertEqual(int(out[0, 0, 0]), 58)

  @parameterized.parameters(
    # 0.875 of 346 is 302, which leaves 44; of 323 282, 41: 20.5 -> 20; of 332
    # 290, 42; of 340 297, 43: 21.5 -> 22. Pillow resizes from there.
    ("inception", 323, 20),
    ("inception", 340, 22),
    ("inception", 332, 21),
    ("fraction0.875_299", 340, 21),
  )
  def test_margins_of_the_inception_crop(self, rule, side, margin):
    image = tiny_files.noise(side, side)
    part = slice(margin, margin + int(0.875 * side))
    taps = resizing.taps(part.stop - margin, 299)
    expected = resizing.resized(image[part, part], taps, taps)
    np.testing.assert_array_equal(geometry.apply(image, rule), expected)

  @parameterized.parameters(
    # int(px / (px + 32) * shorter side); left and top (side - part + 1) // 2.
    ("centre7of8_224", (500, 375), (86, 24, 414, 352)),
    ("centre7of8_224", (375, 500), (24, 86, 352, 414)),
    ("centre15of17_240", (500, 375), (85, 23, 415, 353)),
    ("centre65of73_260", (500, 333), (102, 19, 398, 315)),
    ("centre35of39_280", (640, 480), (105, 25, 535, 455)),
    ("centre75of83_300", (332, 400), (16, 50, 316, 350)),
    ("centre1of1_224", (300, 299), (1, 0, 300, 299)),
  )
  def test_centre_squares(self, rule, size, box):
    way = geometry.fit(rule, *size)
    self.assertEqual(way.box, box)
    side = int(rule.rpartition("_")[2])
    self.assertEqual(way.size, (side, side))

  def test_a_centre_square_is_resized(self):
    image = tiny_files.noise(301, 400)
    taps = resizing.taps(263, 224, bicubic=True)
    expected = resizing.resized(image[19:282, 69:332], taps, taps)
    got = geometry.apply(image, "centre7of8_224_bicubic")
    np.testing.assert_array_equal(got, expected)

  @parameterized.parameters(*resizing_golden.MODES)
  def test_what_older_pillows_gave(self, mode):
    rows = shared_data.lines(shared_data.golden("resizing", "modes.tsv"))
    for row in (row for row in rows if row["mode"] == mode):
      size = int(row["height"]), int(row["width"])
      data = tiny_files.encoded(resizing_golden.picture(mode, *size), "TIFF")
      got = geometry.decode(data, row["rule"], mode, convert_last=True)
      self.assertEqual(resizing_golden.checksum(got), row["sha256"], row)

  @parameterized.parameters(
    "centre0of8_224", "centre9of8_224", "centre224of256_224", "centre1of0_224"
  )
  def test_shares_have_one_name(self, rule):
    with self.assertRaisesRegex(errors.UserError, "share .* in lowest terms"):
      geometry.shape(rule)


class DiceTest(absltest.TestCase):
  """Dice that fall alike for ever, fields that run smoothly."""

  def test_fall_alike_for_a_name_and_else_not(self):
    def thrown(*what):
      return drawing.Dice(*what).uniform(500)

    first = thrown("signs", "scene", "a")
    np.testing.assert_array_equal(thrown("signs", "scene", "a"), first)
    for other in (("digits",), ("signs", "sky"), ("signs", "scene", "b")):
      what = (*other, *("signs", "scene", "a")[len(other) :])
      self.assertLess(np.corrcoef(first, thrown(*what))[0, 1], 0.2)

  def test_reach_both_ends(self):
    dice = drawing.Dice("signs", "scene", "a")
    thrown = [dice.integer(-1, 2) for _ in range(200)]
    self.assertEqual(set(thrown), {-1, 0, 1, 2})
    thrown = [dice.between(3, 5) for _ in range(200)]
    self.assertTrue(3 <= min(thrown) < 3.1 < 4.9 < max(thrown) < 5)


class BuildTest(parameterized.TestCase):
  def test_slashes_and_the_same_pixels_as_on_the_fly(self):
    folder = self.create_tempdir().full_path
    ds = robust_tfds.load(
      "digits_c/gaussian_noise/3", split="test[:40]", data_dir=folder
    )
    clean = datasets.prepare("digits_c", "clean", data_dir=folder)
    source = {
      e["example_id"]: e["image"]
      for e in tfds.as_numpy(clean.as_dataset(split="test"))
    }
    for e in tfds.as_numpy(ds):
      key = corruptions.example_key(
        0, "digits_c", "gaussian_noise", 3, e["example_id"].decode()
      )
      want = corruptions.corrupt(
        source[e["example_id"]], "gaussian_noise", 3, edition="cifar10", key=key
      )
      np.testing.assert_array_equal(e["image"], want)

  @pytest.mark.slow
  def test_jpeg85_equals_the_device_codec(self):
    data = tiny_files.encoded(tiny_files.noise(32, 48), "JPEG")
    image = np.array(Image.open(io.BytesIO(data)))
    stored = Image.open(io.BytesIO(pictures.encode(image, "jpeg85")))
    got = np.asarray(jpeg.roundtrip_batch(image[None], 85))[0]
    np.testing.assert_array_equal(np.asarray(stored), got)

  @pytest.mark.slow
  def test_frost_from_the_manual_dir_reaches_the_workers(self):
    self.addCleanup(frost_pictures.use_folder, None)
    manual = pathlib.Path(self.create_tempdir().full_path)
    (manual / "frost").symlink_to(shared_data.path("data/frost"))
    files = []
    for workers in (1, 2):
      built = datasets.prepare(
        "digits_c",
        "frost_1",
        data_dir=self.create_tempdir(f"f{workers}").full_path,
        manual_dir=manual,
        workers=workers,
        limit=40,
      )
      records = sorted(pathlib.Path(built.data_dir).glob("*record-*"))
      files.append([r.read_bytes() for r in records])
    self.assertEqual(*files)

  def test_a_limited_build_never_passes_for_the_whole(self):
    folder = self.create_tempdir().full_path
    few = datasets.prepare("digits_c", "clean", data_dir=folder, limit=10)
    whole = datasets.prepare("digits_c", "clean", data_dir=folder)
    self.assertEqual(few.info.splits["test"].num_examples, 10)
    self.assertEqual(whole.info.splits["test"].num_examples, 359)

  def test_corrupted_configs_need_one_size(self):
    with self.assertRaisesRegex(ValueError, "images of many sizes"):
      datasets.builder("imagenet_c", "fog_3", geometry="short256")

  def test_beam_that_is_not_installed_is_said(self):
    try:
      import apache_beam  # noqa: F401
    except ImportError:
      with self.assertRaisesRegex(
        errors.UserError, "needs apache-beam, which is not installed"
      ):
        datasets.prepare("digits_c", "clean", beam=True)
    else:
      self.skipTest("apache-beam is installed")


def _examples(config, folder, **options):
  built = datasets.prepare(
    "digits_video_p", config, data_dir=folder, limit=3, **options
  )
  found = tfds.as_numpy(built.as_dataset(split="test"))
  return {e["example_id"].decode(): e for e in found}


def _recipe(name):
  config = base.Config(name="", condition=conditions.VIDEOS.condition(name, 3))
  return base.Recipe("set", "paper", config)


class CodecTest(parameterized.TestCase):
  """Perturbed videos on disk: names, codecs, equal frames, parts of a video."""

  def test_names(self):
    config = datasets.builder("digits_video_p", "jpeg_2", codec="h264")
    self.assertEqual(config.builder_config.name, "jpeg_2_h264")
    self.assertIn("clean_h264", datasets.builder("ucf101_ds").builder_configs)
    self.assertEqual(
      datasets.builder("ucf101_p", "source", codec="h264").builder_config.name,
      "source",
    )

  def test_h264(self):
    folder = self.create_tempdir().full_path
    lossless = _examples("motion_blur_1", folder)
    lossy = _examples("motion_blur_1", folder, codec="h264")
    for example_id, example in lossy.items():
      want = lossless[example_id]["video"].astype(float)
      self.assertEqual(example["video"].shape, want.shape)
      error = np.sqrt(np.mean((example["video"] - want) ** 2))
      self.assertBetween(error, 0.1, 5)

  @parameterized.parameters("lossless", "h264")
  def test_equal_bytes_and_odd_sizes(self, codec):
    video = np.random.default_rng(0).integers(0, 256, (5, 33, 47, 3), np.uint8)
    first = videos.encode(iter(video), 25.0, codec)
    self.assertEqual(videos.encode(iter(video), 25.0, codec), first)
    self.assertEqual(video_files.decode(first).shape, video.shape)


class PerturbedVideosTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.mkdtemp(prefix="digits_video_p")
    cls.addClassCleanup(shutil.rmtree, cls.folder)

  def test_ninety_conditions_and_clean(self):
    self.assertLen(
      datasets.builder_class("digits_video_p").condition_names(), 91
    )

  @quick.cases(
    ["clean_0", "freezing_3"], ["shot_noise_2", "mpeg2_1", "translation_4"]
  )
  def test_prepared_is_what_the_library_makes(self, config):
    name, severity = config.rsplit("_", 1)
    config = "clean" if name == "clean" else config
    sources = _examples("source", self.folder)
    found = _examples(config, self.folder)
    self.assertLen(found, 3)
    for example_id, example in found.items():
      want = sources[example_id]["video"]
      if name != "clean":
        key = corruptions.example_key(
          0, "digits_video_p", name, int(severity), example_id
        )
        want = corruptions.perturb_video(
          want, name, int(severity), key=key, fps=own.FPS
        )
      np.testing.assert_array_equal(example["video"], want)
      self.assertEqual(example["fps"], own.FPS)
      self.assertEqual(example["label"], sources[example_id]["label"])

  def test_source_holds_the_files(self):
    built = datasets.prepare(
      "digits_video_p", "source", data_dir=self.folder, limit=3
    )
    raw = built.as_dataset(
      split="test", decoders={"video": tfds.decode.SkipDecoding()}
    )
    for example in tfds.as_numpy(raw):
      number = int(example["example_id"].decode()[5:9])
      self.assertEqual(example["video"], own.Encoded("test", number).data())

  @pytest.mark.slow
  def test_a_long_video_in_parts_is_the_whole(self):
    rng = np.random.default_rng(0)
    video = rng.integers(0, 256, (150, 16, 16, 3), np.uint8)
    data = videos.encode(iter(video), 30.0)
    np.testing.assert_array_equal(video_files.decode(data), video)
    parts = list(videos.perturbed(data, "a", _recipe("gaussian_noise"), 30.0))
    key = corruptions.example_key(0, "set", "gaussian_noise", 3, "a")
    whole = corruptions.perturb_video(video, "gaussian_noise", 3, key=key)
    np.testing.assert_array_equal(np.stack(parts), whole)

  @parameterized.parameters("box_jumbling", "reverse_sampling", "mpeg1")
  def test_what_moves_frames_streams_too(self, name):
    rng = np.random.default_rng(0)
    video = rng.integers(0, 256, (70, 17, 16, 3), np.uint8)
    data = videos.encode(iter(video), 25.0)
    got = videos.perturbed(data, "a", _recipe(name), 25.0)
    key = corruptions.example_key(0, "set", name, 3, "a")
    want = corruptions.perturb_video(video, name, 3, key=key, fps=25.0)
    np.testing.assert_array_equal(np.stack(list(got)), want)

  def test_frames_are_gathered_in_parts(self):
    rng = np.random.default_rng(0)
    video = rng.integers(0, 256, (20, 16, 16, 3), np.uint8)
    data = videos.encode(iter(video), 25.0)
    index = rng.integers(0, 20, 50)
    got = videos.frames_at(data, index, held_bytes=7 * video[0].nbytes)
    np.testing.assert_array_equal(np.stack(list(got)), video[index])

  def test_refusals(self):
    with self.assertRaisesRegex(ValueError, "Did you mean 'jpeg'"):
      datasets.builder("digits_video_p", "jpg_3")
