"""Examples that are in a test set are refused."""

import dataclasses
import io
import os
import pathlib
import shutil
from unittest import mock

import tensorflow_datasets as tfds
from absl.testing import parameterized

from models.training import data, recipes
from models.training.data import examples
from robust_tfds import datasets, errors
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.datasets.digits_video import (
  digits_video_dataset_builder as digits_video,
)
from robust_tfds.storage import cache
from tests import tiny_files
from tests.user_data import made

_PIXELS = tiny_files.noise(9, 9)
_SPLITS = ("train", "test", "validation")


class LeakyOfTests(tfds.core.GeneratorBasedBuilder):
  """A training picture is in the test set."""

  VERSION = tfds.core.Version("1.0.0")
  LEAKED = 4

  def _info(self):
    label = tfds.features.ClassLabel(names=["even", "odd"])
    feature = {"image": tfds.features.Image(), "label": label}
    feature["id"] = tfds.features.Text()
    features = tfds.features.FeaturesDict(feature)
    return tfds.core.DatasetInfo(builder=self, features=features)

  def _split_generators(self, dl_manager):
    return {s: self._generate_examples(s) for s in ("train", "test")}

  def _generate_examples(self, split):
    for i in range(6):
      pixels = tiny_files.noise(
        9, 9, i if i == self.LEAKED else i + 10 * _SPLITS.index(split)
      )
      png = tiny_files.encoded(pixels, "PNG")
      yield i, {"image": io.BytesIO(png), "label": i % 2, "id": f"{split}_{i}"}


class JudgedOfTests(LeakyOfTests, skip_registration=True):
  """As ImageNet: benchmarks are of its validation split; its test has no labels."""

  name = "imagenet2012"
  LEAKED = None
  LEAKS = "validation"

  def _split_generators(self, dl_manager):
    splits = {**super()._split_generators(dl_manager)}
    return {**splits, "validation": self._generate_examples("validation")}

  def _generate_examples(self, split):
    leaked = "train" if split == self.LEAKS else split
    for i, row in super()._generate_examples(leaked):
      row["id"] = f"{split}_{i}"
      yield i, {**row, **({"label": -1} if split == "test" else {})}


class LeaksTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    kept = {cache.VARIABLE: f"{self.folder}/cache"}
    self.enter_context(mock.patch.dict(os.environ, kept))
    self.root = made.folder(pathlib.Path(self.folder) / "pets")

  def _open(self, source=None, additions=None, **options):
    options = {"data_dir": f"{self.folder}/data", **options}
    config = data.Config(source=source or f"folder:{self.root}", **options)
    return data.open(config, additions=additions)

  def _put(self, name, pixels, form="PNG"):
    tiny_files.put(self.root, {name: tiny_files.encoded(pixels, form)})

  def test_a_set_whose_test_split_holds_a_training_picture(self):
    with self.assertRaisesRegex(errors.UserError, "^train_4: what is trained"):
      self._open(f"tfds:{__name__}:LeakyOfTests")

  def test_a_set_of_tfds_as_a_benchmark(self):
    """It is prepared in the data_dir; no sums are kept of what has no file."""
    self._put("dog/leaked.png", tiny_files.noise(9, 9, 14))
    name = f"tfds:{__name__}:LeakyOfTests"
    other = {"data_dir": f"{self.folder}/other", "crop": "random_resized8"}
    self._open(judged_on=[name], **other)
    with mock.patch.object(LeakyOfTests, "LEAKED", None):
      with self.assertRaisesRegex(
        errors.UserError, f"^dog/leaked.png: what.*{name}"
      ):
        self._open(judged_on=[name])
    self.assertTrue(os.path.exists(f"{self.folder}/data/leaky_of_tests/1.0.0"))

  def test_a_set_of_the_same_name_and_ids(self):
    """What is known of the first says nothing of the second."""
    with mock.patch.object(LeakyOfTests, "LEAKED", None):
      source = f"tfds:{__name__}:LeakyOfTests"
      digest = self._open(source).digest
      other = f"{self.folder}/other"
      self.assertEqual(self._open(source, data_dir=other).digest, digest)
    with self.assertRaisesRegex(errors.UserError, "^train_4: what is trained"):
      self._open(source, data_dir=f"{self.folder}/leaky")

  @parameterized.product(
    leaks=["validation", "test", ""], file_format=["tfrecord", "array_record"]
  )
  def test_a_set_whose_validation_split_is_judged(self, leaks, file_format):
    with mock.patch.object(JudgedOfTests, "LEAKS", leaks):
      builder = JudgedOfTests(
        data_dir=f"{self.folder}/data", file_format=file_format
      )
      builder.download_and_prepare()
    source = f"tfds:{__name__}:JudgedOfTests"
    if not leaks:
      self.assertLen(self._open(source).ids(), 6)
      return
    with self.assertRaisesRegex(errors.UserError, "^train_0, train_1, train_2"):
      self._open(source)

  def test_a_folder_without_leaks(self):
    source = self._open(judged_on=["digits_c"], crop="random_resized8")
    self.assertLen(list(source.batches(batch_size=4, seed=0, epoch=0)), 3)

  def test_a_benchmark_that_has_training_data_itself(self):
    name = "digits_subtypes"
    self.assertNotEmpty(self._open(name, judged_on=[name]).ids())

  @parameterized.parameters("digits_video", "digits_video_p")
  def test_embedded_videos_as_a_benchmark(self, name):
    leaky = digits_video.sources("test")[5:6]
    with mock.patch.object(digits_video, "COUNTS", {"train": 1, "test": 8}):
      with mock.patch.object(digits_video, "sources", lambda split: leaky):
        datasets.prepare("digits_video", data_dir=f"{self.folder}/data")
      refusal = f"^test_0005.mp4: what.*{name}"
      with mock.patch.object(examples, "test_examples", lambda config: ()):
        with self.assertRaisesRegex(errors.UserError, refusal):
          self._open("digits_video", judged_on=[name])

  def test_a_file_of_a_benchmark(self):
    """ImageNet-C's pictures are cropped; whole files are compared."""
    manual = pathlib.Path(self.folder) / "imagenet"
    file = self.root / "cat/0.png"
    for wnid in ("n01440764", "n01443537"):
      place = manual / "val" / wnid
      place.mkdir(parents=True)
      shutil.copy(file, place / f"{wnid}_0.png")
      file = self.root / "cat/1.jpeg"
    options = {"judged_on": ["imagenet_c"], "manual_dir": str(manual)}
    for _ in range(2):  # the second time by the sums that were kept
      with self.assertRaisesRegex(
        errors.UserError, "^cat/0.png, cat/1.jpeg: what.*imagenet_c"
      ):
        self._open(**options)

  def test_copies_of_a_file_are_not_parted(self):
    names = [
      f"{name}/copy_{i}.png" for i in range(40) for name in ("cat", "dog")
    ]
    pixels = tiny_files.encoded(tiny_files.noise(9, 9), "PNG")
    tiny_files.put(self.root, dict.fromkeys(names, pixels))
    source = self._open(crop="random_resized8", validation=0.5)
    copies = [
      {*names} & {*source.ids(part)} for part in ("train", "validation")
    ]
    self.assertCountEqual(map(len, copies), [0, 80])

  def test_sums_are_kept_until_a_file_changes(self):
    said = []
    options = {"judged_on": ["digits_c"], "crop": "random_resized8"}
    config = data.Config(
      source=f"folder:{self.root}", data_dir=self.folder, **options
    )
    for _ in range(2):
      data.open(config, said.append)
    reads = [line for line in said if line.startswith("pets: ")]
    self.assertEqual(reads, ["pets: 12 examples are read once for their sums"])
    self._put("dog/0.png", tiny_files.noise(8, 8, 99))
    data.open(config, said.append)
    self.assertLen([line for line in said if line.startswith("pets: ")], 2)

  def test_a_folder_beside_it_that_cannot_be_read(self):
    """A broken picture is nobody's; of what is not listed the reason is said."""
    place = self.root.parent / "dev"
    tiny_files.put(place, {"broken.png": b"no picture"})
    self.assertLen(self._open(crop="random_resized8").ids(), 12)
    (place / "gone.png").symlink_to(place / "nowhere")
    with self.assertRaisesRegex(
      errors.UserError, "^config.data.source: dev beside it is .*gone.png"
    ):
      self._open(crop="random_resized8")

  @parameterized.parameters("train", "mine")
  def test_folders_beside_it(self, own):
    """The pictures of `test` and the like beside a folder, wherever they lie."""
    root = made.folder(pathlib.Path(self.folder) / "x" / own)
    source = f"folder:{root}"
    self.assertLen(self._open(source, crop="random_resized8").ids(), 12)
    copy = (root / "dog/0.png").read_bytes()
    link = pathlib.Path(self.folder) / "y" / "mine"
    tiny_files.put(link.parent, {"holdout/flat.png": copy})
    link.symlink_to(root)
    with self.assertRaisesRegex(errors.UserError, "^dog/0.png: what .*holdout"):
      self._open(f"folder:{link}")
    for split in ("test", "Val", "val2017"):
      tiny_files.put(root.parent / split, {"flat.png": copy})
      with self.assertRaisesRegex(
        errors.UserError, f"^dog/0.png: what .*{split}"
      ):
        self._open(source)
      (root.parent / split / "flat.png").unlink()

  @parameterized.parameters(("pixmix", "pictures"), ("stylized", "styles"))
  def test_a_recipes_folder_of_test_pictures(self, name, key):
    place = str(self.root.parent / "test")
    tiny_files.put(pathlib.Path(place), {"a.png": tiny_files.encoded(_PIXELS)})
    with self.assertRaisesRegex(
      errors.UserError, f"^config.recipe.{key}: got '{place}': test is what"
    ):
      more = recipes.make_recipe({"name": name, key: place})
      self._open(crop="random_resized8", additions=more)

  def test_says_what_cannot_be_compared(self):
    lines = []
    config = data.Config(
      source=f"folder:{self.root}", judged_on=["digits_c"], crop="short8_crop8"
    )
    data.open(config, lines.append)
    self.assertIn(
      "digits_c: its examples are in no files: none is compared", lines
    )

  def test_an_embedded_set(self):
    """A picture of the test split that is planted in the training split."""
    sources = digits.sources

    def leaky(split):
      found = list(sources(split))
      if split == "train":
        found[7] = dataclasses.replace(sources("test")[3], example_id="planted")
      return found

    with mock.patch.object(digits, "sources", leaky):
      with self.assertRaisesRegex(
        errors.UserError, "^planted: what is trained"
      ):
        self._open("digits")

  @parameterized.parameters("test", "test-set")
  def test_a_folder_of_test_pictures(self, name):
    place = pathlib.Path(self.folder) / name
    place.mkdir()
    link = pathlib.Path(self.folder) / "train"
    link.symlink_to(place)
    for source in (place, link):
      with self.assertRaisesRegex(
        errors.UserError, f"{name} is what models are"
      ):
        data.Config(source=f"folder:{source}").check()

  @parameterized.parameters(
    ("train+train[:5]", "from example 0 of train"),
    ("train[:50%]+train[4:]", "from example 4 of train"),
  )
  def test_examples_twice(self, split, words):
    with self.assertRaisesRegex(errors.UserError, f"overlap {words}"):
      self._open("digits", split=split)

  def test_parts_that_are_added_up(self):
    source = self._open("digits", split="train[3:]+train[:3]")
    self.assertLen(set(source.ids()), 1438)

  @parameterized.parameters(
    ("tfds:cifar10", "test"),
    ("tfds:imagenet2012:5.1.0", "validation"),
    ("tfds:coco/2017", "validation[:10%]"),
    ("digits", "train + test[:1]"),
  )
  def test_splits_that_models_are_judged_on(self, source, split):
    with self.assertRaisesRegex(errors.UserError, "is what models are judged"):
      data.Config(source=source, split=split).check()

  def test_a_benchmark_that_is_not_here(self):
    with self.assertRaisesRegex(errors.UserError, "ILSVRC2012_img_val.tar"):
      self._open(judged_on=["imagenet_c"], manual_dir=self.folder)
