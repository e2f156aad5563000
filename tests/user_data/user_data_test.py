"""Users' own data: TFDS sets and videos."""

import json
import pathlib
import shutil
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized

from eval import main
from eval.run import keywords
from eval.run import plan as plan_lib
from robust_tfds import build, datasets, errors, evaluate, user_data
from robust_tfds.building import videos as building
from tests import in_process, tiny_files
from tests.user_data import made


class OwnTest(parameterized.TestCase):
  """What a text of one's own data may be."""

  @parameterized.parameters(
    ("foldr:/data", "Unknown kind of data 'foldr'. Did you mean 'folder'?"),
    ("/data/pets", "is no benchmark. .* folder:/data/pets"),
    ("folder:", "is no benchmark"),
    ("folder:/is/not/there", "folder:/is/not/there: there is no such folder"),
  )
  def test_refused_at_every_door(self, text, words):
    with self.assertRaisesRegex(errors.UserError, words):
      user_data.builder_class(text)
    with self.assertRaisesRegex(errors.UserError, words):
      datasets.builder_class(text)
    with self.assertRaisesRegex(errors.UserError, words):
      evaluate(len, text)

  def test_a_folder_has_no_splits(self):
    with self.assertRaisesRegex(
      errors.UserError, "Name the folder of the split"
    ):
      user_data.builder_class("folder:/data", user_data.Options(split="train"))

  def test_a_folder_without_its_kind(self):
    with self.assertRaisesRegex(errors.UserError, "own: folder:/data/pets"):
      evaluate(len, "pets")

  @parameterized.parameters(pathlib.Path("/data/pets"), 3, None)
  def test_what_is_no_text(self, data):
    words = f"Got a {type(data).__name__} as data, .*folder:/data/pets"
    with self.assertRaisesRegex(errors.UserError, words):
      evaluate(len, data)

  def test_benchmarks_are_none(self):
    self.assertFalse(any(map(user_data.is_source, datasets.names())))


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
  """`tfds:NAME`: sets of TFDS and builders of one's own."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _own(self, text, **options):
    options = user_data.Options(data_dir=str(self.folder), **options)
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


_IDS = [
  "run/deep/s2_turned.mov",
  "run/s1_a.mp4",
  "run/s1_b.AVI",
  "walk/s2_d.mkv",
  "walk/s3_e.webm",
]


def clips(side_px=32):
  """A model for `eval.main`: a plain function, as `my_module:build` makes it."""
  from models import adapters
  from models.video import spec

  of_two = spec.VideoSpec(num_classes=2, input_px=side_px, resize_px=side_px)
  return adapters.get("on_host")(made.Seen(2), of_two, name="clips")


class VideosTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.root = made.videos(self.folder / "gaits")

  def _own(self, **options):
    text = f"videos:{self.root}"
    return datasets.builder_class(text, user_data.Options(**options)).OWN

  def test_listed(self):
    tiny_files.put(self.root, {"run/.x.mp4": "", "run/notes.txt": ""})
    listed = self._own()
    self.assertEqual([file.name for file in listed.files()], _IDS)
    self.assertEqual([file.label for file in listed.files()], [0, 0, 0, 1, 1])
    self.assertIn("gaits: 5 examples of 2 classes (run, walk)", listed.words)
    self.assertEndsWith(
      listed.words,
      "hidden files left out: 1; files that are no videos left out: 1.",
    )

  @pytest.mark.slow
  def test_prepared_is_on_the_fly_wherever_they_lie(self):
    model = made.Seen(2)
    moved = shutil.copytree(self.root, self.folder / "elsewhere" / "gaits")
    fly, prepared = self.folder / "fly", self.folder / "prepared"
    for workdir, root in ((fly, self.root), (prepared, moved)):
      result, _ = made.evaluate(
        model,
        f"videos:{root}",
        conditions="freezing",
        severities=(1, 2, 3, 4, 5),
        workdir=workdir,
        source=workdir.name,
        groups="/.*(s[0-9])_",
      )
    config = json.loads((fly / "config.json").read_text("utf-8"))
    self.assertEqual(config["data"]["groups"], "/.*(s[0-9])_")  # --rerun's
    self.assertEqual(config["data"]["views"], 5)
    self.assertLen(made.cells(fly), 6)
    self.assertEqual(made.cells(fly), made.cells(prepared))
    self.assertEqual(model.shapes, {(8, 32, 32, 3)})
    data = prepared / "data"
    rows = tfds.load("videos_p/freezing_3", data_dir=data, split="test")
    loaded = {r["example_id"].decode(): r for r in tfds.as_numpy(rows)}
    self.assertEqual(sorted(loaded), _IDS)
    groups = [loaded[i]["group_id"].decode() for i in _IDS]
    self.assertEqual(groups, ["s2", "s1", "s1", "s2", "s3"])
    self.assertEqual(loaded[_IDS[0]]["video"].shape[1:], (32, 48, 3))  # turned
    clean, *_ = result.table
    self.assertEqual((clean.metric, clean.config), ("accuracy", "clean"))
    self.assertEqual((clean.lo, clean.hi), (0, 1))  # of three groups
    gamma = {r.metric for r in result.table if r.corruption == "freezing"}
    self.assertContainsSubset({"gamma_a", "gamma_r"}, gamma)
    report = self.folder / "report"
    result.report(report)
    self.assertIn("gaits (content ", (report / "summary.txt").read_text())

  def test_broken_videos_are_named_before_a_run(self):
    """By their headers, as `--plan` does; or left out."""
    tiny_files.put(self.root, {"run/no.mp4": b"no", "walk/not.avi": b"not"})
    words = r"2 of 7 files cannot be used:\n.*run/no.mp4.*\n.*walk/not.avi"
    text = f"videos:{self.root}"
    with self.assertRaisesRegex(errors.UserError, words):
      datasets.builder_class(text).OWN.content  # noqa: B018
    options = user_data.Options(skip_errors=True)
    whole = datasets.builder_class(text, options).OWN
    self.assertLen(whole.files(), 5)
    self.assertIn("left out: 2 (run/no.mp4, walk/not.avi)", whole.words)

  def test_commands(self):
    ran = in_process.run(
      main,
      f"--config=configs/own_data.py:{__name__}:clips",
      f"--config.data.name=videos:{self.root}",
      "--config.data.perturbations=jpeg",
      "--config.data.views=1",
      "--plan",
    )
    self.assertEqual(ran.returncode, 0, ran.stderr)
    self.assertStartsWith(ran.stdout, "gaits: ")
    flags = "--config=sampling_1", "--groups=/(.*)_"
    ran = in_process.run(
      build, f"videos:{self.root}", *flags, f"--data_dir={self.folder}"
    )
    self.assertIn("videos_p/sampling_1/1.0.0: 5 test examples", ran.stdout)

  def _plan(self, models, **options):
    given = {**keywords.DEFAULTS, "conditions": "jpeg", **options}
    made_of = keywords.spec_of(models, f"videos:{self.root}", given)
    return plan_lib.make(*made_of)

  def test_models_have_crops_and_classes_of_their_own(self):
    plan = self._plan({"a": clips(32), "b": clips(48)})
    self.assertLen(plan.models, 2)
    self.assertEqual(plan.task.setting.data.geometry, "")
    plan = self._plan(made.Seen(3), classes={"run": [0, 2], "walk": 1})
    (outputs,) = plan.outputs.values()
    self.assertEqual(outputs.relabelling.class_of, (0, 1, 0))

  def test_too_large_for_an_example(self):
    with (
      mock.patch.object(building, "_MAX_BYTES", 3_000),
      self.assertRaisesRegex(errors.UserError, "run/.*: the video has"),
    ):
      made.evaluate(made.Seen(2), f"videos:{self.root}", conditions="none")

  @parameterized.parameters(
    ("(", "missing \\)"),
    ("s.", "it has 0 parts"),
    ("(.)(.)", "it has 2 parts"),
    ("(s1)_", "it is not found in 'run/deep/s2_turned.mov'"),
  )
  def test_no_groups(self, groups, words):
    with self.assertRaisesRegex(errors.UserError, words):
      self._own(groups=groups)

  def test_groups_are_of_videos_and_part_of_the_set(self):
    with self.assertRaisesRegex(
      errors.UserError, "only videos: has this option"
    ):
      datasets.builder_class(
        f"folder:{self.root}", user_data.Options(groups="(.)")
      )
    with self.assertRaisesRegex(errors.UserError, "digits_video_p has its"):
      made.evaluate(made.Seen(8), "digits_video_p", groups="(.)")
    self.assertNotEqual(self._own().content, self._own(groups="(.)").content)
