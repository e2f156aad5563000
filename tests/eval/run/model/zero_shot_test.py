"""Runs of CLIP by prompts: over photographs and embedded pictures, refusals."""

import json
import pathlib

import numpy as np
from absl.testing import parameterized

from eval.run import spec as spec_lib
from eval.run.model import zero_shot
from models.zero_shot import texts as texts_lib
from robust_tfds import errors, evaluate, models
from tests.models.convert import torchvision_cpu
from tests.models.zero_shot import tiny
from tests.user_data import made

_NAME = "clip_vit_b_32"
_PROMPTS = ["a photo of a {}.", "a blurry {}"]


def _entry(**fields):
  values = {"name": _NAME, "checkpoint": "x.pt", "prompts": "single"}
  return spec_lib.Model(**{**values, **fields})


class TextsTest(parameterized.TestCase):
  def test_names(self):
    own = zero_shot.texts(_entry(), ["fire_truck", "Füchse"], 2)
    self.assertEqual(own.names, ("fire truck", "Füchse"))
    self.assertIn("underscores as blanks", own.notes[0])
    lines = ["1\tgo", "0\tstop"]
    file = self.create_tempfile(content="\n".join(lines)).full_path
    for stated in (lines, file):
      got = zero_shot.texts(_entry(class_names=stated), (), 2)
      self.assertEqual(got.names, ("stop", "go"))

  def test_curated_names_by_wnid(self):
    torchvision_cpu.package("open_clip")
    got = zero_shot.texts(_entry(), ["n01443537", "n01440764"], 2)
    self.assertEqual(got.names, ("goldfish", "tench"))
    self.assertIn("open_clip_torch", got.notes[0])
    words = ["n01443537\ta fish", "n01440764\tanother"]
    got = zero_shot.texts(
      _entry(class_names=words), ["n01443537", "n01440764"], 2
    )
    self.assertEqual(got.names, ("a fish", "another"))

  @parameterized.parameters(
    ({"classes": "x.txt"}, ["a", "b"], "prompts and classes are both set"),
    ({"num_classes": 2}, ["a", "b"], "prompts and num_classes are both set"),
    ({"checkpoint": ""}, ["a", "b"], "set checkpoint to the file of both tow"),
    ({}, [], "nothing says what the data set's 2 classes are called"),
    ({}, ["n00000001", "n00000002"], "nothing says .* is n00000001"),
    ({}, ["a_b", "a b"], "'a b' is the name of 2 classes"),
    ({"class_names": ["a\tx"]}, ["a", "b"], "1 of 2 classes have no line"),
    ({"class_names": ["a\tx", "c\ty"]}, ["a", "b"], "Unknown class 'c'"),
    ({"class_names": ["a\tx", "a\ty"]}, ["a", "b"], "one line a class"),
    ({"class_names": ["x", "y"]}, ["a", "b"], "expected class<TAB>words"),
    ({"class_names": ["a\tx", "b\t"]}, ["a", "b"], "class 1 of 2 has no name"),
  )
  def test_refusals(self, fields, classes, words):
    with self.assertRaisesRegex(errors.UserError, words):
      zero_shot.texts(_entry(**fields), classes, 2)


class RunTest(parameterized.TestCase):
  """End to end with random weights."""

  def setUp(self):
    super().setUp()
    self.enter_context(tiny.towers())
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.file = tiny.checkpoint(str(self.folder))

  def test_photographs_in_a_folder(self):
    torchvision_cpu.package("ftfy")  # a class is called Füchse
    root = made.folder(self.folder / "pets")
    result, said = made.evaluate(
      _NAME,
      f"folder:{root}",
      checkpoint=self.file,
      prompts=_PROMPTS,
      size=None,
      workdir=self.folder / "run",
    )
    self.assertIn(
      "prompts a class: 2; 1 name a corruption ('a blurry {}')", said
    )
    self.assertIn("the data set's own, underscores as blanks", said)
    self.assertIn("QuickGELU, as clip_vit_b_32 says", said)
    self.assertIn("embedding 6 prompts", said)
    self.assertIn("clean_error", result.summary)
    files = (self.folder / "run").rglob("cells/**/*.json")
    notes = [json.loads(file.read_text()) for file in files]
    facts = [note["by"]["prompts"] for note in notes if "by" in note]
    self.assertNotEmpty(facts)
    for each in facts:
      self.assertRegex(each["names"], r"^3, sha256 \w{64}$")
      self.assertRegex(each["templates"], r"^2, sha256 \w{64}$")
    variables = models.convert.load(_NAME, self._joined(), num_classes=3)
    model = models.get(_NAME, num_classes=3)
    by_hand, _ = made.evaluate(
      model, f"folder:{root}", variables=variables, size=None
    )
    self.assertEqual(result.summary.keys(), by_hand.summary.keys())
    for metric, value in by_hand.summary.items():
      self.assertAlmostEqual(result.summary[metric], value, 5, metric)

  def _joined(self):
    """Return a file of the vision tower and of embeddings made by hand."""
    texts = texts_lib.make(sorted(made.CLASSES), _PROMPTS, "mine")
    head = texts_lib.head(_NAME, self.file, texts)
    path = self.folder / "joined.npz"
    np.savez(path, **tiny.arrays(), text=head.embeddings())
    return path

  def test_embedded_pictures_and_refusals(self):
    run = {"checkpoint": self.file, "limit": 8, "conditions": "contrast"}
    run["severities"] = 3
    with self.assertRaisesRegex(errors.UserError, "class_names"):
      evaluate(_NAME, "digits_c", prompts="single", **run)
    with self.assertRaisesRegex(errors.UserError, "resnet18 has no text tower"):
      evaluate("resnet18", "signs_c", prompts="single", **run)
    with self.assertRaisesRegex(errors.UserError, "words for prompts"):
      evaluate(_NAME, "signs_c", class_names={"stop": "a"}, **run)
    with self.assertRaisesRegex(errors.UserError, "label_space: prompts make"):
      evaluate(_NAME, "signs_c", prompts="single", label_space="all", **run)
    digits = {str(i): f"the digit {i}" for i in range(10)}
    result = evaluate(
      _NAME, "digits_c", prompts="single", class_names=digits, **run
    )
    self.assertIn("clean_error", result.summary)
