"""`tfds:NAME`: sets of TFDS and builders of one's own."""

import pathlib
from unittest import mock

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized

from robust_tfds import datasets, errors, own
from tests import tiny_files
from tests.own import made

_THIS = f"tfds:{__name__}"
_Image = tfds.features.Image
_CLASSES = tfds.features.ClassLabel(names=["cat", "dog"])


class PetsOfTests(tfds.core.GeneratorBasedBuilder):
  """As docs/OWN_DATA.md has one."""

  VERSION = tfds.core.Version("1.0.0")
  NAME_OF = "{}.png"
  FEATURES = {
    "image": _Image(),
    "label": _CLASSES,
    "file_name": tfds.features.Text(),
  }

  def _info(self):
    features = tfds.features.FeaturesDict(self.FEATURES)
    return tfds.core.DatasetInfo(builder=self, features=features)

  def _split_generators(self, dl_manager):
    return {
      n: self._generate_examples(k) for n, k in (("test", 8), ("more", 2))
    }

  def _generate_examples(self, count):
    for i in range(count):
      pixels = tiny_files.noise(30 + 9 * i, 70 - 5 * i, i)
      name = self.NAME_OF.format(i)
      yield i, {"image": pixels, "label": i % 2, "file_name": name}


class NoNames(PetsOfTests):
  """File names that are alike."""

  NAME_OF = "same.png"


class Several(PetsOfTests):
  """Several labels a picture."""

  FEATURES = {"image": _Image(), "label": tfds.features.Sequence(_CLASSES)}


class Number(PetsOfTests):
  """Regression."""

  FEATURES = {"image": _Image(), "label": np.float32}


class OneClass(PetsOfTests):
  """Nothing to tell apart."""

  FEATURES = {
    "image": _Image(),
    "label": tfds.features.ClassLabel(names=["cat"]),
  }


class Twice(PetsOfTests):
  """Pictures that are all alike, in both classes."""

  def _generate_examples(self, count):
    for i, example in super()._generate_examples(count):
      yield i, {**example, "image": tiny_files.noise(9, 9)}


class Square(PetsOfTests):
  """All of the size that is asked for, which the features do not say."""

  def _generate_examples(self, count):
    for i, example in super()._generate_examples(count):
      yield i, {**example, "image": tiny_files.noise(32, 32, 100 + i)}


class SquareBySpec(Square):
  """The features say it."""

  FEATURES = {"image": _Image(shape=(32, 32, 3)), "label": _CLASSES}

  def _generate_examples(self, count):
    for i, example in super()._generate_examples(count):
      yield i, {"image": example["image"], "label": example["label"]}


class TfdsSetTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _own(self, text, **options):
    options = own.Options(data_dir=str(self.folder), **options)
    return datasets.builder_class(text, options).OWN

  @parameterized.parameters(f"{_THIS}:PetsOfTests", "tfds:pets_of_tests")
  def test_a_builder_of_ones_own(self, text):
    set_ = self._own(text)
    self.assertEqual(
      (set_.name, set_.classes), ("pets_of_tests", ("cat", "dog"))
    )
    self.assertEqual([f.name for f in set_.files()][:2], ["0.png", "1.png"])
    self.assertEqual([f.label for f in set_.files()], [0, 1] * 4)
    self.assertLen(self._own(text, split="more").files(), 2)
    self.assertNotEqual(self._own(text, split="more").content, set_.content)

  @parameterized.parameters("Square", "SquareBySpec")
  def test_pictures_of_the_size_that_is_asked_for(self, name):
    model = made.Seen(2)
    _, printed = made.evaluate(
      model,
      f"{_THIS}:{name}",
      conditions="none",
      data_dir=self.folder,
      workdir=self.folder / "run",
    )
    self.assertIn("pictures of 32 px: shown as stored\n", printed)
    stored = {made.sha256(tiny_files.noise(32, 32, 100 + i)) for i in range(8)}
    self.assertLessEqual(stored, model.pictures)

  def test_a_set_that_another_builder_of_that_name_prepared(self):
    PetsOfTests(data_dir=self.folder).download_and_prepare()
    (folder,) = self.folder.glob("pets_of_tests/*")
    changed = {"image": _Image(), "label": _CLASSES, "id": tfds.features.Text()}
    with (
      mock.patch.object(PetsOfTests, "FEATURES", changed),
      self.assertRaisesRegex(errors.UserError, f"{folder}: its examples"),
    ):
      self._own(f"{_THIS}:PetsOfTests").files()

  def test_one_picture_in_two_classes(self):
    words = "Twice: 1.png .class dog. and .*Twice: 0.png .class cat. are one"
    with self.assertRaisesRegex(errors.UserError, words):
      _ = self._own(f"{_THIS}:Twice").content

  def test_places_where_names_are_alike(self):
    ids = [file.name for file in self._own(f"{_THIS}:NoNames").files()]
    self.assertEqual(ids[:2], ["test_00000", "test_00001"])

  def test_a_run(self):
    fly, prepared = self.folder / "fly", self.folder / "prepared"
    model, data = made.Seen(2), self.folder / "data"
    for workdir in (fly, prepared):
      dirs = {"workdir": workdir, "data_dir": data, "source": workdir.name}
      _, said = made.evaluate(model, f"{_THIS}:PetsOfTests", **dirs)
    words = "pets_of_tests: 8 examples of 2 classes (cat, dog), content"
    self.assertIn(words, said)
    self.assertLen(made.cells(fly), 2)
    self.assertEqual(made.cells(fly), made.cells(prepared))
    name = "tfds_c/gaussian_noise_3_short37_crop32_cifar10"
    rows = tfds.load(name, data_dir=data, split="test")
    loaded = {made.sha256(row["image"]) for row in tfds.as_numpy(rows)}
    self.assertContainsSubset(loaded, model.pictures)

  def test_objects(self):
    builder = PetsOfTests(data_dir=self.folder)
    result, _ = made.evaluate(made.Seen(2), builder)
    self.assertEqual({r.dataset for r in result.table}, {"pets_of_tests"})
    root = made.folder(self.folder / "pets" / "val").parent
    builder = tfds.folder_dataset.ImageFolder(str(root))
    result, said = made.evaluate(made.Seen(), builder)
    self.assertIn("pets: 12 examples of 3 classes", said)

  @parameterized.parameters(
    (f"{_THIS}:Several", "it has image: Image, label: Sequence. .*several"),
    (f"{_THIS}:Number", "label: Tensor"),
    (f"{_THIS}:Numbr", "Did you mean 'Number'"),
    (f"{_THIS}:OneClass", "label has 1 classes, expected two"),
    ("tfds:no_module:Other", "its module cannot be imported"),
    ("tfds:oxford_iit_pet", "Did you mean 'oxford_iiit_pet'"),
  )
  def test_refused(self, text, words):
    with self.assertRaisesRegex(errors.UserError, words):
      self._own(text)

  @parameterized.parameters(
    ("tset", "Did you mean 'test'"),
    ("test[a:]", "no part of test, which has 8 examples"),
    ("test[8:]", "no part of test"),
  )
  def test_a_split_that_is_not_there(self, split, words):
    set_ = self._own(f"{_THIS}:PetsOfTests", split=split)
    with self.assertRaisesRegex(errors.UserError, words):
      set_.files()

  @parameterized.parameters("tfrecord", "array_record")
  def test_a_slice(self, file_format):
    format_ = {"file_format": file_format}
    PetsOfTests(data_dir=self.folder, **format_).download_and_prepare()
    set_ = self._own(f"{_THIS}:PetsOfTests", split="test[2:4]")
    self.assertEqual(set_.builder.info.file_format.value, file_format)
    self.assertEqual(set_.split, "test")
    self.assertLen(set_.files(), 2)

  def test_a_data_dir_that_several_sets_share(self):
    few = {"data_dir": self.folder, "conditions": "none"}
    for split in ("test", "more"):
      _, said = made.evaluate(
        made.Seen(2), f"{_THIS}:PetsOfTests", split=split, **few
      )
      self.assertIn(f"read from {self.folder}/pets_of_tests/1.0.0", said)
    self.assertFalse((self.folder / "tfds_c").exists())
