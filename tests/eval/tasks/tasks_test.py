"""Every file of the folder is one task; bound to its setting."""

import dataclasses
import pathlib

import ml_collections
import numpy as np
from absl.testing import absltest, parameterized

from eval import tasks
from eval.metrics import definitions
from eval.tasks import base
from eval.tasks.headlines import headlines as headlines_lib
from robust_tfds import conditions, errors
from robust_tfds.conditions import Condition

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
# What is the mean over corruptions of means over levels.
_PLAIN = {
  **dict.fromkeys(("mean_error", "mean_corruption_error"), "error"),
  "extra_mean_corruption_error": "error",
  "mean_accuracy": "accuracy",
  "mean_flip_probability": "flip_probability",
  "mean_unnormalised_t5d": "unnormalised_t5d",
  **dict.fromkeys(("mean_ap", "mpc", "mpc_validation"), "bbox/AP"),
}


def _random(listed, seed):
  """Numbers of cells; corruption raises all errors."""
  rng = np.random.default_rng(seed)
  return {
    c: {
      m: headlines_lib.value_alone(
        rng.uniform(0.2, 0.4, 3) + 0.4 * (not c.clean)
      )
      if m in ("flip_probability", "unnormalised_t5d")
      else headlines_lib.value_alone(
        rng.uniform(0.2, 0.4) + 0.4 * (not c.clean)
      )
      for m in _OF_CELLS
    }
    for c in listed
  }


def _by_definition(key, cells, ours, theirs):
  """A headline over some of the cells, number by number."""
  metric, corruption, level = key
  kind, _, last = metric.rpartition("/")
  metric = metric if metric in _PLAIN else last

  def at(numbers, condition, name):
    name = name.replace("bbox", kind or "bbox")
    value = numbers[condition][name].value
    noise = value.ndim and len(
      {c.level for c in ours if c.name == condition.name}
    )
    row = 0 if noise and noise > 1 else (level or 1) - 1
    return float(value[row] if value.ndim else value)

  family = next(
    f
    for f in conditions.FAMILIES.values()
    if all(c in f.conditions() for c in ours)
  )
  extra = "extra" in metric or "validation" in metric
  names = (
    [corruption] if corruption else family.names("extra" if extra else "common")
  )
  of_names = {
    n: [
      c
      for c in cells
      if c.name == n
      and (level is None or c.level == level or len(family.levels(n)) == 1)
    ]
    for n in names
  }
  of_names = {n: of for n, of in of_names.items() if of}
  clean = Condition()

  def mean(each):
    return {n: np.mean([each(c) for c in of]) for n, of in of_names.items()}

  if metric in _PLAIN:
    return np.mean([*mean(lambda c: at(ours, c, _PLAIN[metric])).values()])
  if metric in ("fr", "mfr", "t5d", "mt5d"):
    plain = "flip_probability" if "fr" in metric else "unnormalised_t5d"
    each = mean(lambda c: at(ours, c, plain) / at(theirs, c, plain))
    return np.mean([*each.values()])
  if metric == "accuracy_retained":
    right = 1 - at(ours, clean, "error")
    each = mean(lambda c: (1 - at(ours, c, "error")) / right)
    return np.mean([*each.values()])
  if "ce" in metric:
    less = [0.0, 0.0]
    if "relative" in metric:
      less = [at(numbers, clean, "error") for numbers in (ours, theirs)]
    sums = [
      [
        sum(at(numbers, c, "error") - x for c in of)
        for numbers, x in zip((ours, theirs), less)
      ]
      for of in of_names.values()
    ]
    return np.mean([a / b for a, b in sums])
  whole = at(ours, clean, "accuracy")
  each = mean(
    lambda c: (
      at(ours, c, "accuracy") / whole
      if metric == "gamma_r"
      else 1 - (whole - at(ours, c, "accuracy"))
    )
  )
  groups = {}
  for name, value in each.items():
    groups.setdefault(family.row(name).group, []).append(value)
  return np.mean([np.mean(values) for values in groups.values()])


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

  @parameterized.parameters(*sorted(set(tasks.names()) - set(_ONE_CONDITION)))
  def test_a_part_is_the_headline_over_its_cells(self, name):
    """Of all cells it is the headline, of some what its definition says."""
    task = tasks.get(name)(base.Setting("digits_c"))
    every = task.family.conditions()
    ours, theirs = (_random(every, seed) for seed in (0, 1))
    for headline in task.headlines(ours, theirs):
      if headline.over is not None:
        corrupted = [c for c in headline.cells if not c.clean]
        again = dataclasses.replace(headline, formula=headline.over(corrupted))
        whole, value = (h.number(ours, theirs) for h in (headline, again))
        np.testing.assert_array_equal(whole.value, value.value)
        expected = _by_definition(headline.key, corrupted, ours, theirs)
        self.assertAlmostEqual(float(whole.value), expected)
    some = [c for i, c in enumerate(every) if c.clean or i % 7 in (0, 1, 4)]
    there = {c: ours[c] for c in some}
    held_out = [c for c in every if c not in some]
    for prefix, numbers in (
      ("part_", task.over_cells(there, theirs)),
      ("held_out_", task.over_cells(ours, theirs, seen=held_out)),
    ):
      parts = {key: n for key, n in numbers.items() if prefix in key[0]}
      self.assertGreaterEqual(len(parts), 2)
      for (metric, *rest), number in parts.items():
        key = metric.replace(prefix, ""), *rest
        expected = _by_definition(key, some, ours, theirs)
        self.assertAlmostEqual(float(number.value), expected, msg=metric)

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
