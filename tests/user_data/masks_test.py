"""`masks:PATH` at the public door: numbers, sizes, bad files."""

import shutil

import numpy as np
import pytest
from absl.testing import parameterized
from PIL import Image

from eval.metrics import segmentation
from robust_tfds import errors, user_data
from tests import in_folder, tiny_files
from tests.user_data import made

_NAMES = ["red", "green", "blue"]


class Answers:
  """A function of pictures that keeps what it saw and said, by shape."""

  __name__ = "answers"

  def __init__(self, every: int = 1):
    """Answers logits at every n-th pixel; 0: class ids."""
    self._every = every
    self.shapes: set[tuple[int, ...]] = set()

  def __call__(self, pictures: np.ndarray) -> np.ndarray:
    """uint8 `[B, h, w, 3]` -> logits `[B, h, w, 3]`, or ids `[B, h, w]`."""
    self.shapes.add(pictures.shape[1:3])
    if not self._every:
      return pictures.argmax(-1)
    return pictures[:, :: self._every, :: self._every].astype(np.float32)


class MasksTest(in_folder.TestCase, parameterized.TestCase):
  def _evaluate(self, model, **options):
    place = f"masks:{self.root / 'mine'}"
    given = {"classes": _NAMES, "conditions": "none", "size": None}
    return made.evaluate(model, place, **{**given, **options})

  def _own(self, **options):
    given = {"classes": tuple(_NAMES), **options}
    place = f"masks:{self.root / 'mine'}"
    return user_data.builder_class(place, user_data.Options(**given)).OWN

  def test_numbers_are_of_all_pixels(self):
    made.masks(self.root / "mine")
    ids, logits = Answers(0), Answers(1)
    result, said = self._evaluate({"ids": ids, "logits": logits})
    total = np.zeros((3, 3), np.int64)
    for name in made.MASKED:
      image, mask = (
        np.asarray(Image.open(self.root / f"mine/{part}/{name}.png"))
        for part in ("images", "masks")
      )
      total += segmentation.confusion(mask, image.argmax(-1), 3)
    expected = segmentation.summarize(total)
    self.assertAlmostEqual(result.summary["ids/clean_miou"], expected.miou)
    self.assertEqual(
      result.summary["ids/clean_miou"], result.summary["logits/clean_miou"]
    )
    for i, iou in enumerate(expected.iou):
      name = f"ids/clean_iou/class={i}"
      self.assertAlmostEqual(result.summary[name], iou)
    self.assertEqual(ids.shapes, {*made.MASKED.values()})
    self.assertIn("mine: 3 examples of 3 classes (red, green, blue)", said)
    self.assertIn("masks stay those of the clean pictures", said)

  @pytest.mark.slow
  def test_corrupted_against_a_baseline_and_continued(self):
    made.masks(self.root / "mine")
    options = {
      "conditions": ("gaussian_noise", "fog"),
      "severities": (1, 3),
      "baseline": "model:coarse",
      "workdir": self.root / "run",
    }
    models = {"fine": Answers(1), "coarse": Answers(4)}
    first, _ = self._evaluate(models, **options)
    miou = {
      (r.model, r.corruption, r.severity): r.value
      for r in first.table
      if r.metric == "miou"
    }
    tables = {
      model: {
        name: [miou[model, name, s] for s in (1, 3)]
        for name in ("gaussian_noise", "fog")
      }
      for model in models
    }
    expected = segmentation.degradation(
      tables["fine"],
      miou["fine", "", 0],
      tables["coarse"],
      miou["coarse", "", 0],
    )
    summary = first.summary
    for name, value in (
      ("part_mcd", expected.mcd),
      ("part_mrcd", expected.mrcd),
      ("part_mean_miou", expected.mean_miou),
      ("part_retention", expected.retention),
      ("part_gam", expected.gam),
    ):
      self.assertAlmostEqual(summary[f"fine/{name}"], value, msg=name)
    self.assertEqual(summary["coarse/part_mcd"], 1)
    cells = made.cells(self.root / "run")
    for place in list(cells)[:3]:
      shutil.rmtree((self.root / "run" / place).parent)
    again, _ = self._evaluate(models, **options)
    self.assertEqual(made.cells(self.root / "run"), cells)
    self.assertEqual(again.table, first.table)
    first.report(self.root / "report")
    names = {p.name for p in (self.root / "report").iterdir()}
    self.assertContainsSubset(
      {
        "severity_curves.png",
        "segmentation_gallery.png",
        "segmentation_classes.png",
        "cells.md",
        "report.html",
      },
      names,
    )

  def test_ignored_id_and_palettes(self):
    made.masks(self.root / "mine")
    before = self._own().content
    for path in (self.root / "mine/masks").rglob("*.png"):
      ids = np.asarray(Image.open(path)).copy()
      ids[ids == 255] = 3
      mask = Image.fromarray(ids, "P")
      mask.putpalette([9, 9, 9, 200, 0, 0, 0, 200, 0])
      mask.save(path)
    own = self._own(ignore=3)
    self.assertNotEqual(own.content, before)
    _, mask = own.sources[0].read()
    self.assertTrue((mask[0] == 255).all())
    self.assertLessEqual(int(mask[1:].max()), 2)

  def test_all_ignored_is_said(self):
    made.masks(self.root / "mine")
    ids = np.full(made.MASKED["c"], 255, np.uint8)
    tiny_files.put(self.root / "mine/masks", {"c.png": tiny_files.encoded(ids)})
    self.assertIn("pictures of which no pixel counts: 1", self._own().words)
    for name, shape in made.MASKED.items():
      ids = np.full(shape, 255, np.uint8)
      path = f"mine/masks/{name}.png"
      tiny_files.put(self.root, {path: tiny_files.encoded(ids)})
    with self.assertRaisesRegex(errors.UserError, "every pixel .* the id 255"):
      _ = self._own().words

  @parameterized.parameters(
    ("size", "a.png is 61 x 40 px, its mask .*a.png is 60 x 40 px"),
    ("rgb", "a.png: a mask of mode RGB, expected one id a pixel"),
    ("rgba", "a.png: a mask of mode RGBA, expected one id a pixel"),
    ("renamed", "a.png: a mask as JPEG, which changes ids"),
    ("outside", r"a.png: holds the id 3, expected 0 to 2, or 255 .*ignore="),
    ("deep", "a.png: holds the id 300, expected 0 to 2"),
    ("jpeg", "a.jpg: a mask as JPEG, which changes ids"),
    ("missing", r"1 of 3 pictures have no mask \(a.png\)"),
    ("twice", "two pictures are called 'a', and one mask"),
    ("two", "two masks of one picture, masks/a.bmp and masks/a.png"),
  )
  def test_bad_masks_by_file(self, fault, message):
    root = made.masks(self.root / "mine") / "masks"
    ids = np.asarray(Image.open(root / "a.png")).copy()
    form, name = "PNG", "a.png"
    if fault == "size":
      ids = ids[:, :-1]
    elif fault in ("rgb", "rgba"):
      ids = np.stack([ids] * len(fault), axis=-1)
    elif fault == "outside":
      ids[5, 5] = 3
    elif fault == "deep":
      ids = ids.astype(np.uint16)
      ids[5, 5] = 300
    elif fault in ("jpeg", "renamed"):
      form, name = "JPEG", "a.jpg" if fault == "jpeg" else name
    elif fault == "two":
      shutil.copy(root / "a.png", root / "a.bmp")
    elif fault == "twice":
      shutil.copy(root.parent / "images/a.png", root.parent / "images/a.bmp")
    (root / "a.png").unlink()
    if fault != "missing":
      tiny_files.put(root, {name: tiny_files.encoded(ids, form)})
    with self.assertRaisesRegex(errors.UserError, message):
      self._own().check_decoded()

  @parameterized.parameters(
    ({"classes": None}, "0 names of classes, expected 2 to 255"),
    ({"classes": ["a", "a"]}, "classes= names one class twice: 'a'"),
    (
      {"classes": {"a": 2, "b": 0}},
      r"gives 'a' the ids \[2\], expected names",
    ),
    ({"size": 64}, "size=64: a segmenter is shown pictures of their own sizes"),
    ({"protocol": "fan_91"}, "Unknown protocol 'fan_91'.*fan_19"),
    (
      {"protocol": "fan_19", "conditions": "fog", "severities": (5,)},
      "protocol=fan_19: has none of the cells .* fog_5. Its cells: .*fog_3",
    ),
    ({"baseline": "model:other"}, "baseline model 'other'"),
  )
  def test_refusals_of_keywords(self, options, message):
    made.masks(self.root / "mine")
    with self.assertRaisesRegex(errors.UserError, message):
      self._evaluate(Answers(1), **options)

  @parameterized.parameters(
    (lambda p: p[..., 0].astype(int), "class id .* expected 0 to 2"),
    (lambda p: p[..., 0] / 255.0, r"answered with float64 .* expected float"),
    (lambda p: p * np.float32("nan"), "NaN or infinite logits"),
  )
  def test_answers_that_are_none(self, function, message):
    made.masks(self.root / "mine")
    with self.assertRaisesRegex(errors.UserError, message):
      self._evaluate(function)

  def test_options_of_other_kinds(self):
    made.folder(self.root / "pets")
    options = user_data.Options(ignore=0)
    with self.assertRaisesRegex(
      errors.UserError, "ignore=0: only masks: has this option"
    ):
      user_data.builder_class(f"folder:{self.root / 'pets'}", options)
