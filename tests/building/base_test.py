"""What every builder does."""

import dataclasses
import pathlib
import shutil
import zipfile

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

import robust_tfds
from robust_tfds import (
  conditions,
  corruptions,
  datasets,
  errors,
  strings,
  user_data,
)
from robust_tfds.building import (
  base,
  file_formats,
  objects,
  pictures,
  sequences,
  source,
  subtypes,
  videos,
)
from robust_tfds.reading import archives
from tests import in_folder
from tests.user_data import made

_CORRUPTED = [n for n in datasets.names() if datasets.builder_class(n).FAMILY]


def _config(name, config, **options):
  return datasets.builder_class(name).config_of(config, **options)


class NamesTest(parameterized.TestCase):
  @parameterized.parameters(
    ("digits_c", "fog_3", {}, "fog_3"),
    ("digits_c", "fog_3", {"seed": 7}, "fog_3_seed7"),
    ("digits_c", "fog_3_seed7", {}, "fog_3_seed7"),
    ("imagenet_c", "fog_3", {"codec": "raw", "seed": 2}, "fog_3_raw_seed2"),
    ("imagenet_c", "fog_3_raw", {"codec": ""}, "fog_3_raw"),
    ("imagenet_c", "fog_3", {"codec": "published"}, "fog_3_published"),
    (
      "imagenet_c",
      "fog_3",
      {"codec": "raw", "geometry": "squash256_crop227"},
      "fog_3_raw_squash256_crop227",
    ),
    (
      "imagenet_c",
      "fog_3",
      {"geometry": "short342_crop299"},
      "fog_3_short342_crop299_inception",
    ),
    (
      "imagenet_c",
      "clean",
      {"geometry": "short342_crop299"},
      "clean_short342_crop299",
    ),
    ("digits_p", "gaussian_noise_1", {}, "gaussian_noise"),
    ("digits_p", "shot_noise_2", {"codec": "h264"}, "shot_noise_2_h264"),
    ("digits_p", "source", {"codec": "h264", "seed": 3}, "source"),
    ("cityscapes_c", "fog_2", {"groups": "drop"}, "fog_2_no_groups"),
    (
      "cityscapes_c",
      "fog_2_no_groups",
      {"codec": "jpeg85", "seed": 7},
      "fog_2_jpeg85_no_groups_seed7",
    ),
    ("cityscapes_c", "fog_2_no_groups", {"groups": "crowd"}, "fog_2"),
    ("digits_vid_robust", "clean", {"seed": 7}, "reviewed"),
    ("ucf101_ds", "clean", {"seed": 7}, "clean"),
  )
  def test_options_in_names(self, name, config, options, expected):
    self.assertEqual(_config(name, config, **options).name, expected)

  @parameterized.parameters(*datasets.names())
  def test_every_config_is_found_under_its_name(self, name):
    cls = datasets.builder_class(name)
    for config in cls.BUILDER_CONFIGS:
      self.assertIs(cls.config_of(config.name), config)

  @parameterized.parameters(*_CORRUPTED)
  def test_every_condition_of_the_family(self, name):
    listed = [
      c.config for c in datasets.builder_class(name).FAMILY.conditions()
    ]
    self.assertEqual(datasets.builder_class(name).condition_names(), listed)

  @parameterized.parameters(
    ("digits", {"codec": "raw"}, "digits takes no codec, got 'raw'"),
    ("digits", {"config": "fog_1"}, "digits takes no config, got 'fog_1'"),
    ("digits_c", {"codec": "png"}, "Unknown codec 'png'"),
    ("digits_c", {"groups": "drop"}, "Unknown option of digits_c 'groups'"),
    ("digits_c", {"geometry": "imagenet"}, "takes no geometry"),
    ("cityscapes_c", {"groups": "dorp"}, "Did you mean 'drop'"),
  )
  def test_refusals(self, name, options, message):
    with self.assertRaisesRegex(errors.UserError, message):
      datasets.builder(name, **{"config": "", **options})


class FactsTest(absltest.TestCase):
  def test_editions_and_families(self):
    self.assertEqual(
      datasets.builder_class("digits_c").edition_of(""), "cifar10"
    )
    self.assertIs(
      datasets.builder_class("digits_c").FAMILY, conditions.PICTURES
    )
    self.assertIs(datasets.builder_class("ucf101_p").FAMILY, conditions.VIDEOS)
    for name in ("digits", "digits_vid_robust", "ucf101_ds"):
      self.assertEqual(datasets.builder_class(name).edition_of(""), "")
      self.assertIsNone(datasets.builder_class(name).FAMILY)

  def test_codecs_default_first(self):
    self.assertEqual(
      datasets.builder_class("imagenet_c").CODECS,
      ("jpeg85", "raw", "published"),
    )
    self.assertEqual(datasets.builder_class("digits").CODECS, ())


class SeedTest(parameterized.TestCase):
  def test_another_seed_is_built_apart(self):
    folder = self.create_tempdir().full_path
    pixels = {}
    for seed in (0, 7):
      built = datasets.prepare(
        "digits_c", "gaussian_noise_3", seed=seed, data_dir=folder, limit=2
      )
      rows = list(built.as_dataset("test"))
      pixels[seed] = {
        r["example_id"].numpy().decode(): r["image"].numpy() for r in rows
      }
    self.assertEqual(built.builder_config.name, "gaussian_noise_3_seed7")
    clean = datasets.prepare("digits_c", "clean", seed=7, data_dir=folder)
    self.assertEqual(clean.builder_config.name, "clean")
    (row, *_) = [
      r
      for r in clean.as_dataset("test")
      if r["example_id"].numpy().decode() in pixels[7]
    ]
    name = row["example_id"].numpy().decode()
    for seed in (0, 7):
      expected = corruptions.corrupt(
        row["image"].numpy(),
        "gaussian_noise",
        3,
        edition="cifar10",
        key=corruptions.example_key(
          seed, "digits_c", "gaussian_noise", 3, name
        ),
      )
      np.testing.assert_array_equal(pixels[seed][name], expected)

  def test_published_data_has_no_seed(self):
    with self.assertRaisesRegex(
      errors.UserError, "have no seed, got seed 7: leave it out"
    ):
      datasets.builder("imagenet_c", "fog_3", codec="published", seed=7)
    with self.assertRaisesRegex(errors.UserError, "hold no 'clean'"):
      datasets.builder("imagenet_c", "clean", codec="published")


class KeysTest(parameterized.TestCase):
  @parameterized.product(name=_CORRUPTED, seed=(0, 7))
  def test_of_every_builder(self, name, seed):
    family = datasets.builder_class(name).FAMILY
    for condition in family.conditions()[1::7]:
      built = datasets.builder(name, condition.config, seed=seed, data_dir="/x")
      ids = ["a", "b/000294.png"]
      np.testing.assert_array_equal(
        built._recipe().keys(ids),
        conditions.raw_keys(seed, name, condition.name, condition.level, ids),
      )

  @parameterized.parameters(0, 294)
  def test_a_frames_number_is_no_part_of_them(self, frame):
    image = np.random.default_rng(0).integers(0, 256, (40, 48, 3), np.uint8)
    example = objects.Source(
      "a.png",
      image_id=1,
      picture=source.Pixels(image),
      annotation=objects.KnownObjects([]),
      frame=frame,
    )
    built = datasets.builder("cityscapes_c", "gaussian_noise_3", data_dir="/x")
    (row,) = objects.encode_chunk([example], recipe=built._recipe())
    key = corruptions.example_key(
      0, "cityscapes_c", "gaussian_noise", 3, "a.png"
    )
    expected = corruptions.corrupt(
      image, "gaussian_noise", 3, edition="any", key=key
    )
    self.assertEqual(row[2], pictures.encode(expected, "raw"))
    example = objects.example(row, masks=True, difficult=False)[1]
    self.assertEqual(example["frame"], frame)


class OwnConditionsTest(parameterized.TestCase):
  @parameterized.parameters(
    (pictures.Builder, ("raw", base.PUBLISHED), "own_one_5"),
    (sequences.Builder, ("png", base.PUBLISHED), "own_one"),
    (videos.Builder, ("lossless", base.PUBLISHED), "own_one_5"),
  )
  def test_a_row_is_a_config(self, kind, codecs, config):
    family = dataclasses.replace(
      kind.FAMILY,
      rows=(*kind.FAMILY.rows, conditions.Row("own_one", "digital", "own")),
    )

    class Builder(kind, skip_registration=True):
      VERSION = "1.0.0"
      name = "mine"
      FAMILY = family
      CODECS = codecs

    self.assertIn(config, Builder.condition_names())
    self.assertEqual(Builder.config_of(config).condition.name, "own_one")
    self.assertNotIn(
      f"{config}_published", [c.name for c in Builder.BUILDER_CONFIGS]
    )
    with self.assertRaisesRegex(errors.UserError, f"hold no '{config}'"):
      Builder.config_of(config, codec=base.PUBLISHED)


@dataclasses.dataclass(frozen=True)
class _Example(source.Part):
  example_id: str
  picture: source.Picture
  rows: tuple
  nothing: str | None = None


class PartTest(absltest.TestCase):
  """Parts of sources: what they say, and which files they read."""

  def test_facts_in_the_order_of_fields(self):
    file = source.File("a.png", "/x/a.png", label=3)
    part = _Example("a", source.Picture(file), ({"b": 1, "a": [2, "c"]},))
    expected = ["a", "a.png", 3, file, "a", 2, "c", "b", 1]
    self.assertEqual(list(part.facts()), expected)
    self.assertEqual(list(part.files()), [file])

  def test_what_was_asked_of_a_picture_is_a_fact(self):
    file = source.File("", "/x/a.png")
    self.assertEqual(list(source.Picture(file).facts()), [file])
    cropped = source.Picture(file, "imagenet", convert_last=True)
    expected = [file, "imagenet", "convert_last", True]
    self.assertEqual(list(cropped.facts()), expected)

  def test_pixels(self):
    pixels = source.Pixels(np.zeros((2, 3, 3), np.uint8))
    self.assertIs(pixels.read(), pixels.array)
    self.assertEqual(list(pixels.facts())[0].shape, (2, 3, 3))


class EndsTest(in_folder.TestCase):
  def test_ends(self):
    path = self.root / "a"
    path.write_bytes(b"abcdef")
    self.assertEqual(source.File("a", str(path)).ends(2), b"abef")
    self.assertEqual(source.File("a", str(self.root / "b")).ends(2), b"")
    with zipfile.ZipFile(self.root / "a.zip", "w") as archive:
      archive.write(path, "a")
    (member,) = archives.members(self.root / "a.zip")
    packed = source.File("a", member.archive, member)
    self.assertEqual((packed.ends(2), packed.data()), (b"", b"abcdef"))


class OwnSetTest(parameterized.TestCase):
  """A set's content, and its name."""

  def setUp(self):
    super().setUp()
    self.root = made.folder(pathlib.Path(self.create_tempdir().full_path) / "p")

  def _own(self, root=None, name=""):
    return datasets.builder_class(
      f"folder:{root or self.root}", user_data.Options(name)
    ).OWN

  def test_content_is_of_ids_classes_and_bytes(self):
    first = self._own()
    moved = shutil.copytree(self.root, self.root.with_name("elsewhere"))
    self.assertEqual(self._own(moved).content, first.content)
    self.assertEqual(self._own(moved, "p").name, first.name)
    shutil.move(moved / "cat/0.png", moved / "cat/x.png")
    renamed = self._own(moved).content
    made.folder(moved, seed=1)
    (moved / "cat/x.png").unlink()
    self.assertLen({first.content, renamed, self._own(moved).content}, 3)

  def test_one_picture_in_two_classes(self):
    shutil.copy(self.root / "cat/0.png", self.root / "dog/9.png")
    words = r"dog/9.png \(class dog\) and .*cat/0.png \(class cat\) are one"
    with self.assertRaisesRegex(errors.UserError, words):
      made.evaluate(made.Seen(), f"folder:{self.root}")

  @parameterized.parameters("ImageNet-C", "digits", "a,b", "a/b", "a\nb", " ")
  def test_names(self, name):
    words = "is the name of a benchmark|cannot name a set"
    with self.assertRaisesRegex(errors.UserError, words):
      self._own(name=name)

  def test_a_broken_picture_is_named(self):
    (self.root / "cat/1.jpeg").write_bytes(b"no picture")
    words = "cat/1.jpeg cannot be read as an image"
    with self.assertRaisesRegex(errors.UserError, words):
      made.evaluate(made.Seen(), f"folder:{self.root}")


class SubtypesTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = absltest.TEST_TMPDIR.value + "/subtypes"
    cls.built = datasets.prepare("digits_subtypes", data_dir=folder)

  def test_the_embedded_set(self):
    counts = {"train": 1022, "seen": 231, "unseen": 544}
    parts = {"train": set("0681257"), "unseen": set("934")}
    loops = set("0689")
    for split, count in counts.items():
      rows = list(file_formats.rows(self.built, split))
      self.assertLen(rows, count)
      groups = {strings.text(row["group_id"]) for row in rows}
      self.assertEqual(groups, parts.get(split, parts["train"]))
      for row in rows[:50]:
        name = strings.text(row["example_id"])
        self.assertEqual(name[0], strings.text(row["group_id"]))
        self.assertEqual(row["label"], name[0] not in loops)
        self.assertEqual(type(self.built).known_label(name), row["label"])
        self.assertEqual(type(self.built).known_group(name), name[0])
    ids = [
      {
        strings.text(row["example_id"])
        for row in file_formats.rows(self.built, s)
      }
      for s in counts
    ]
    self.assertLen(set.union(*ids), 1797)  # no digit is in two splits

  def test_is_registered_and_lacks_nothing(self):
    for name in ("digits_subtypes", "imagenet22k_subtypes"):
      self.assertEqual(tfds.builder_cls(name).name, name)
      self.assertIn(name, robust_tfds.datasets.names())
    self.assertEqual(
      self.built.absent(), {"train": [], "seen": [], "unseen": []}
    )

  def test_absent_in_words(self):
    of = {"seen": ["a", "b"], "unseen": ["c", "d", "e"]}
    absent = {"seen": [], "unseen": ["c", "e"]}
    said = subtypes.absent_in_words(absent, of.__getitem__)
    words = "2 of 3 subtypes of unseen have no picture: c"
    self.assertEqual(said, [f"{words}, e"])
    few = subtypes.absent_in_words(absent, of.__getitem__, named=1)
    self.assertEqual(few, [f"{words} and others"])
