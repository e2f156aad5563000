"""What is known of data sets, and what is held against it."""

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.eval.cells.cell_facts import DataFacts
from robust_tfds.eval.tasks.parts import known

_IDS = list(digits.labels("test"))


class KnownTest(parameterized.TestCase):
  def test_examples_of_a_published_set(self):
    facts = DataFacts(dataset="imagenet_c", split="validation", subset="")
    ids = [str(i) for i in range(50_000)]
    self.assertTrue(known.check_examples("x", facts, 0, ids))
    with self.assertRaisesRegex(
      errors.UserError, "x: 49,999 examples, but imagenet_c has 50,000"
    ):
      known.check_examples("x", facts, 0, ids[1:])
    self.assertTrue(known.check_examples("x", facts, 49_999, ids[1:]))
    subset = facts.model_copy(update={"subset": "robustbench5k"})
    self.assertTrue(known.check_examples("x", subset, 0, ids[:5000]))

  def test_examples_that_are_known_one_by_one(self):
    facts = DataFacts(dataset="digits_c", split="test", subset="")
    self.assertTrue(known.check_examples("x", facts, 0, _IDS))
    with self.assertRaisesRegex(errors.UserError, "358 examples, but digits_c"):
      known.check_examples("x", facts, 0, _IDS[1:])
    with self.assertRaisesRegex(errors.UserError, "no example 'other'"):
      known.check_examples("x", facts, 1, ["other"])

  def test_of_other_sets_nothing_is_known(self):
    facts = DataFacts(dataset="mine")
    self.assertFalse(known.check_examples("x", facts, 0, ["a"]))
    self.assertEqual(known.check_labels("x", "mine", ["a"], np.array([3])), 0)

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
    (
      *("hmdb51_p", "wave/April_09_wave_u_nm_np1_ba_goo_0.avi", 0),
      "April_09",
    ),
    ("digits_vid_robust", "digit_0004/000007.png", -3, "digit_0004/000010.png"),
    ("imagenet_vid_robust", "val/x_0/000105.JPEG", 7, "val/x_0/000098.JPEG"),
    ("ytbb_robust", "a_12000/frame-101.jpg", 3, "a_12000/frame-98.jpg"),
    ("cityscapes_c", "ulm_000001_000294_leftImg8bit.png", 294, "ulm_000001"),
    ("coco_c", "139", 2, "139"),
  )
  def test_groups_that_ids_tell(self, dataset, example_id, frame, group):
    def columns(name):
      return {
        "example_id": np.array([example_id]),
        "group_id": np.array([name]),
        "frame": np.array([frame]),
      }

    known.check_groups("x", dataset, columns(group or example_id))
    with self.assertRaisesRegex(
      errors.UserError, f"x: group_id of '{example_id}': got 'g1', but in"
    ):
      known.check_groups("x", dataset, columns("g1"))

  @parameterized.parameters(
    ("mine", "a"),
    ("ucf101_ds", "Archery/a.mp4"),  # its annotation says it
    ("ucf101_p", "a.avi"),
    ("ytbb_robust", "a.jpg"),
  )
  def test_groups_of_which_nothing_is_known(self, dataset, example_id):
    columns = {
      "example_id": np.array([example_id]),
      "group_id": np.array(["g1"]),
      "frame": np.array([0]),
    }
    known.check_groups("x", dataset, columns)

  def test_ids_that_tell_nothing(self):
    ids, labels = ["n99999999_1.JPEG", "x.JPEG"], np.array([1, 2])
    self.assertEqual(known.check_labels("x", "imagenet_c", ids, labels), 0)

  @parameterized.parameters("v_{}_g01_c0{}.avi", "{}/video{}.mp4")
  def test_names_of_classes_in_ids(self, form):
    ids = [form.format(n, i) for n in ("Archery", "Bowling") for i in (1, 2)]
    check = known.check_labels
    self.assertEqual(check("x", "ucf101_p", ids, np.array([5, 5, 9, 9])), 4)
    with self.assertRaisesRegex(errors.UserError, "both ids name the class"):
      check("x", "ucf101_p", ids, np.array([5, 6, 9, 9]))
    with self.assertRaisesRegex(errors.UserError, "whose ids name two classes"):
      check("x", "ucf101_p", ids, np.array([5, 5, 5, 5]))

  def test_folders_that_are_no_classes(self):
    ids = ["a/1.png", "b/1.png", "c/1.png"]
    labels = np.array([1, 1, 2])
    self.assertEqual(known.check_labels("x", "mine", ids, labels), 0)
