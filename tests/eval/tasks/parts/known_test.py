"""What is known of data sets, and what is held against it."""

import functools

import numpy as np
import pytest
from absl.testing import parameterized

from eval.cells.cell_facts import DataFacts
from eval.pipeline import inputs
from eval.tasks.parts import known
from robust_tfds import datasets, errors, strings
from robust_tfds.building import base
from robust_tfds.building.sources import imagenet
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from tests import quick

_IDS = list(digits.labels("test"))


def _prepared(name: str, folder: str) -> list[str]:
  """Ids of a set that is prepared, in its order."""
  builder = datasets.prepare(name, data_dir=folder)
  source = inputs.Source(builder, builder.SPLIT, batch_size=1)
  rows = source.metadata((source.pixels,))
  return [strings.text(row["example_id"]) for row in rows]


def _columns(example_id: str, frame: int, group: str) -> dict[str, np.ndarray]:
  """Of one row."""
  row = {"example_id": example_id, "group_id": group, "frame": frame}
  return {name: np.array([value]) for name, value in row.items()}


class KnownTest(parameterized.TestCase):
  def test_examples_of_a_published_set(self):
    facts = DataFacts(dataset="imagenet_c", split="validation", subset="")
    ids = [str(i) for i in range(50_000)]
    got = known.check_examples("x", facts, 0, ids)
    self.assertEqual(
      got.verified, "imagenet_c: 50,000 examples, as many as it has"
    )
    self.assertIn("has these examples and no others", got.unverified)
    with self.assertRaisesRegex(
      errors.UserError, "x: 49,999 examples, but imagenet_c has 50,000"
    ):
      known.check_examples("x", facts, 0, ids[1:])

  def test_official_names(self):
    facts = DataFacts(dataset="imagenet_c", split="validation")
    ids = imagenet.official_names()
    got = known.check_examples("x", facts, 0, ids)
    self.assertEqual(got, ("imagenet_c: its 50,000 examples, by their ids", ""))
    with self.assertRaisesRegex(errors.UserError, "no example 'other'"):
      known.check_examples("x", facts, 0, [*ids[1:], "other"])
    subset = facts.model_copy(update={"subset": "robustbench5k"})
    with self.assertRaisesRegex(errors.UserError, "whose ids are a fixed list"):
      known.check_examples("x", subset, 0, ids[:5000])

  def test_the_first_examples_where_ids_are_not_known(self):
    facts = DataFacts(dataset="imagenet_c", split="validation")
    ids = [f"n01440764_{i}.JPEG" for i in range(300)]
    got = known.check_examples("x", facts, 300, ids)
    words = "that these are the first 300 examples of imagenet_c"
    self.assertEqual(got, ("", words))

  def test_examples_that_are_known_one_by_one(self):
    facts = DataFacts(dataset="digits_c", split="test", subset="")
    got = known.check_examples("x", facts, 0, _IDS)
    self.assertEqual(got, ("digits_c: its 359 examples, by their ids", ""))
    with self.assertRaisesRegex(errors.UserError, "358 examples, but digits_c"):
      known.check_examples("x", facts, 0, _IDS[1:])
    with self.assertRaisesRegex(errors.UserError, "no example 'other'"):
      known.check_examples("x", facts, 1, ["other"])
    other = facts.model_copy(update={"split": "train"})
    with self.assertRaisesRegex(errors.UserError, "digits_c has 'test' alone"):
      known.check_examples("x", other, 0, _IDS)

  @quick.cases(
    ["digits_c", "cifar10_c", "imagenet_p"],
    ["digits_detection_c", "digits_vid_robust"],
  )
  def test_ids_are_those_of_the_builder(self, name):
    builder = datasets.builder_class(name)
    ids = builder.known_ids()
    self.assertLen(set(ids), len(ids))
    if builder.PUBLISHED_EXAMPLES:
      self.assertLen(ids, builder.PUBLISHED_EXAMPLES)
    else:
      prepared = _prepared(name, self.create_tempdir().full_path)
      in_order = sorted(ids, key=functools.partial(base.place, "test"))
      self.assertEqual(prepared, in_order)

  @pytest.mark.slow
  def test_unreviewed_frames_are_known_too(self):
    facts = DataFacts(dataset="digits_vid_robust", split="test", config="all")
    with self.assertRaisesRegex(errors.UserError, "1 examples, but .* 2,520"):
      known.check_examples("x", facts, 0, ["digit_0004/000000.png"])

  def test_of_other_sets_nothing_is_known(self):
    facts = DataFacts(dataset="mine")
    got = known.check_examples("x", facts, 0, ["a"])
    self.assertEqual(got, ("", "that mine has these examples and no others"))
    self.assertEqual(known.check_labels("x", "mine", ["a"], np.array([3])), 0)
    known.check_kind("mine", "pictures")
    with self.assertRaisesRegex(errors.UserError, "takes the first 2 of mine"):
      known.check_examples("x", facts, 2, ["a"])
    chosen = facts.model_copy(update={"subset": "mine-01234567"})
    got = known.check_examples("x", chosen, 0, ["a"])
    self.assertIn("how the subset mine-01234567 was chosen", got.unverified)

  @parameterized.parameters(
    ("digits_c", "digit_0004", 4),
    ("digits_p", "digit_0004", 4),
    ("digits_vid_robust", "digit_0004/000010.png", 4),
    ("digits_video_p", "test_0011.mp4", 3),
    ("imagenet_c", "n01440764_00000293.JPEG", 0),
    ("imagenet64_p", "ILSVRC2012_val_00000001.JPEG", 65),
  )
  def test_labels_that_ids_tell(self, dataset, example_id, label):
    check = known.check_labels
    self.assertEqual(check("x", dataset, [example_id], np.array([label])), 1)
    with self.assertRaisesRegex(
      errors.UserError, f"got {label + 1}, but its id says class {label}"
    ):
      check("x", dataset, [example_id], np.array([label + 1]))

  @parameterized.parameters(
    ("digits_c", "digit_0004", 0, "digit_0004"),
    ("digits_video_p", "test_0011.mp4", 0, "test_0011.mp4"),
    ("imagenet_p", "ILSVRC2012_val_00000001.JPEG", 0, None),
    ("ucf101_p", "v_Archery_g01_c06.avi", 0, "v_Archery_g01"),
    (*("hmdb51_p", "wave/April_09_wave_u_nm_np1_ba_goo_0.avi", 0), "April_09"),
    ("digits_vid_robust", "digit_0004/000007.png", -3, "digit_0004/000010.png"),
    ("imagenet_vid_robust", "val/x_0/000105.JPEG", 7, "val/x_0/000098.JPEG"),
    ("ytbb_robust", "a_12000/frame-101.jpg", 3, "a_12000/frame-98.jpg"),
    ("cityscapes_c", "ulm_000001_000294_leftImg8bit.png", 294, "ulm_000001"),
    ("coco_c", "139", 2, "139"),
  )
  def test_groups_that_ids_tell(self, dataset, example_id, frame, group):
    columns = _columns(example_id, frame, group or example_id)
    known.check_groups("x", dataset, columns)
    with self.assertRaisesRegex(
      errors.UserError, f"x: group_id of '{example_id}': got 'g1', but in"
    ):
      known.check_groups("x", dataset, _columns(example_id, frame, "g1"))

  @parameterized.parameters(
    ("mine", "a"),
    ("ucf101_ds", "Archery/a.mp4"),  # its annotation says it
    ("ucf101_p", "a.avi"),
    ("ytbb_robust", "a.jpg"),
  )
  def test_groups_of_which_nothing_is_known(self, dataset, example_id):
    known.check_groups("x", dataset, _columns(example_id, 0, "g1"))

  def test_ids_that_tell_nothing(self):
    ids, labels = ["n99999999_1.JPEG", "x.JPEG"], np.array([1, 2])
    self.assertEqual(known.check_labels("x", "imagenet_c", ids, labels), 0)
