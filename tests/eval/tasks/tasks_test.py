"""Every file of the folder is one task; bound to its setting."""

import pathlib

import ml_collections
from absl.testing import absltest, parameterized

from robust_tfds import conditions, errors
from robust_tfds.eval import tasks
from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks.parts import headlines as headlines_lib

_OF_CELLS = (
  "error",
  "accuracy",
  "flip_probability",
  "unnormalised_t5d",
  "bbox/AP",
  "segm/AP",
  "acc_orig",
  "acc_pmk",
  "drop",
  "map_orig",
  "map_pmk",
  "seen_subtype_accuracy",
  "unseen_subtype_accuracy",
)
_ONE_CONDITION = ("frames", "frame_detection", "subtypes")


class TasksTest(parameterized.TestCase):
  def test_the_folder_is_the_registry(self):
    files = {p.stem for p in pathlib.Path(tasks.__file__).parent.glob("*.py")}
    self.assertCountEqual(tasks.names(), files - {"__init__", "base"})

  @parameterized.parameters(*tasks.names())
  def test_a_file_holds_one_task_with_its_facts(self, name):
    task = tasks.get(name)
    self.assertTrue(issubclass(task, base.Task))
    self.assertEqual(task.facts.task, name)
    self.assertIn(task.family, conditions.FAMILIES.values())
    self.assertEqual(task(base.Setting("digits_c")).setting.dataset, "digits_c")

  def test_every_headline_has_its_cells_and_its_words(self):
    for name in tasks.names():
      task = tasks.get(name)(base.Setting("imagenet_vid_robust"))
      one = name in _ONE_CONDITION
      conditions_ = task.family.conditions()[: 1 if one else None]
      cells = {condition: _OF_CELLS for condition in conditions_}
      listed = task.headlines(cells, cells)
      self.assertNotEmpty(listed)
      self.assertLen({headline.key for headline in listed}, len(listed))
      for headline in listed:
        self.assertEqual(headline.lacks(cells, cells), "")
        self.assertTrue(headline.is_asked(cells))
        found = definitions.find(name, headline.metric)
        self.assertIsNotNone(found, headline.metric)

  def test_a_part_of_the_conditions_has_means_under_their_own_names(self):
    for name in set(tasks.names()) - set(_ONE_CONDITION):
      task = tasks.get(name)(base.Setting("digits_c"))
      asked = [c for c in task.family.conditions() if c.level in (0, 1)][:3]
      numbers = {m: headlines_lib.value_alone([0.5] * 3) for m in _OF_CELLS}
      cells = {condition: numbers for condition in asked}
      over = {key[0] for key in task.over_cells(cells, cells)}
      parts = {m for m in over if definitions.metric(name, m).part_of}
      shown = {m.name for m in task.facts.headlines + task.facts.details}
      self.assertNotEmpty(parts, name)
      wholes = {m: definitions.metric(name, m).part_of for m in parts}
      self.assertContainsSubset({m for m in parts if wholes[m] in shown}, shown)
      self.assertNoCommonElements(parts, task.facts.ranked)
      for metric in parts:
        _, defined = definitions.find(name, metric)
        self.assertStartsWith(defined.name, definitions.PART)

  @parameterized.parameters(
    ("detection", "Detection has no baseline model, got 'alexnet': rPC is rel"),
    ("video", "Video has no baseline model, got 'alexnet': gamma is relative"),
    ("frames", "pm-k is not normalised: set config.baseline='', got 'alexnet'"),
    (
      "subtypes",
      "Subtype robustness is not normalised: set config.baseline=''",
    ),
  )
  def test_baselines_of_what_is_not_normalised(self, name, words):
    task = tasks.get(name)(base.Setting("digits_c", baseline="alexnet"))
    with self.assertRaisesRegex(errors.UserError, words):
      task.check_baseline([])

  def test_unknown(self):
    with self.assertRaisesRegex(errors.UserError, "mean 'sequences'.* Known"):
      tasks.get("sequence")
    for name in ("base", "parts"):
      with self.assertRaisesRegex(errors.UserError, "Unknown task"):
        tasks.get(name)


class BindTest(absltest.TestCase):
  def test_what_a_config_says(self):
    config = ml_collections.ConfigDict(
      {
        "task": "classification",
        "seed": 7,
        "baseline": "alexnet",
        "data": {"name": "imagenet_c", "codec": "raw", "source": "prepared"},
      }
    )
    task = tasks.bind(config, "imagenet")
    setting = base.Setting(
      "imagenet_c", "imagenet", "raw", fly=False, seed=7, baseline="alexnet"
    )
    self.assertEqual(task.setting, setting)
    self.assertEqual(task.setting.data, config.data)

  def test_defaults(self):
    config = ml_collections.ConfigDict({"data": {"name": "digits_c"}})
    task = tasks.bind(config)
    self.assertEqual(task.facts.task, "classification")
    self.assertEqual(task.setting, base.Setting("digits_c"))
