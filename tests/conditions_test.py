"""Conditions, sets by name, registries."""

import dataclasses
import pathlib
from unittest import mock

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

from eval.papers import printed_rows
from eval.tasks import base, video
from robust_tfds import (
  conditions,
  corruptions,
  datasets,
  natural_sets,
  registration,
  registry,
)
from tests import in_process
from tools import same_names

_PLUGINS = pathlib.Path(corruptions.__file__).parent
_FOLDERS = {"pictures": "image", "sequences": "sequence", "videos": "video"}


class TablesTest(parameterized.TestCase):
  """The tables of conditions, their names, and the bytes of their keys."""

  @parameterized.parameters(*_FOLDERS.items())
  def test_tables_equal_the_plugin_folders(self, kind, folder):
    files = {
      p.stem for p in (_PLUGINS / folder).glob("*.py") if p.stem != "__init__"
    }
    rows = conditions.family(kind).rows
    self.assertCountEqual([r.name for r in rows if not r.plugin], files)

  def test_counts(self):
    published = {
      kind: family.select("common,extra", family.levels("gaussian_noise"))
      for kind, family in conditions.FAMILIES.items()
    }
    count = {kind: len(listed) for kind, listed in published.items()}
    self.assertEqual(count, {"pictures": 96, "sequences": 21, "videos": 91})
    self.assertLen(conditions.PICTURES.names("common"), 15)
    self.assertLen(conditions.PICTURES.names("extra"), 4)

  def test_a_row_of_set_own_is_run_by_name_alone(self):
    own = conditions.Row("mine", "noise", "own")
    family = conditions.Family(
      "pictures", "corruption", "severity", (*conditions.PICTURES.rows, own)
    )
    published = conditions.PICTURES.names()
    for words in ("all", "noise", "common", "common,extra"):
      self.assertNotIn("mine", family.resolve(words))
    for words in ("own", "mine", ("fog", "mine")):
      self.assertIn("mine", family.resolve(words))
    self.assertIn("mine", family.names("own"))
    self.assertContainsSubset((*published, "mine"), family.known_names)
    self.assertEqual(family.parse("mine_3"), family.condition("mine", 3))

  def test_a_file_without_a_row_is_of_set_own(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    rows = conditions.PICTURES.rows[:1]
    package = folder / "corruptions" / "image"
    package.mkdir(parents=True)
    for name, text in (
      (rows[0].name, "no GROUP"),
      ("__init__", ""),
      ("mine", 'GROUP = "noise"\n'),
    ):
      (package / f"{name}.py").write_text(text)
    with mock.patch.object(conditions, "__file__", str(folder / "x.py")):
      found = conditions._add_own_rows("image", rows)
      own = conditions.Row("mine", "noise", "own")
      self.assertEqual(found, (*rows, own))
      for text in ("", 'GROUP = "mine"\n', 'GROUP = "noise"\n' * 2):
        (package / "mine.py").write_text(text)
        with self.assertRaisesRegex(ValueError, "mine.py: got GROUP .*'noise'"):
          conditions._add_own_rows("image", rows)
    self.assertLen(conditions.SEQUENCES.names("common"), 10)

  def test_validation_is_the_extra_set(self):
    self.assertEqual(
      conditions.PICTURES.names("validation"),
      conditions.PICTURES.names("extra"),
    )

  @parameterized.parameters(*conditions.FAMILIES)
  def test_noise_is_what_is_called_noise(self, kind):
    family = conditions.family(kind)
    for row in family.rows:
      self.assertEqual(row.noise, row.name.endswith("noise"), row.name)

  @parameterized.parameters(
    ("common", 15),
    ("noise", 4),
    ("fog, frost", 2),
    ("none", 0),
    ("common,extra", 19),
  )
  def test_resolve(self, selection, count):
    names = conditions.PICTURES.resolve(selection)
    self.assertLen(names, count)
    every = conditions.PICTURES.names()
    self.assertEqual(list(names), [n for n in every if n in names])


class ConditionTest(parameterized.TestCase):
  def test_parse_undoes_config(self):
    for kind, family in conditions.FAMILIES.items():
      for condition in family.conditions():
        self.assertEqual(conditions.parse(condition.config, kind), condition)

  @parameterized.parameters(
    ("pictures", "fog/3", "fog_3"),
    ("sequences", "tilt_1", "tilt"),
    ("sequences", "gaussian_noise/2", "gaussian_noise_2"),
  )
  def test_other_spellings(self, kind, text, config):
    self.assertEqual(conditions.parse(text, kind).config, config)

  def test_clean_is_one_condition(self):
    clean = {f.parse("clean") for f in conditions.FAMILIES.values()}
    self.assertEqual(clean, {conditions.Condition()})

  @parameterized.parameters(
    ("pictures", "gausian_noise_3", "Did you mean 'gaussian_noise'"),
    ("pictures", "fog_6", "Severity must be 1-5, got 6 of 'fog'"),
    ("pictures", "fog_0", "'clean'"),
    ("pictures", "fog_-1", "whole number from 1"),
    ("pictures", "fog", "Unknown condition 'fog'"),
    ("pictures", "fog_01", "Unknown condition 'fog_01'"),
    ("pictures", "fog_\u0661", "Unknown condition"),
    ("sequences", "tilt_2", "only noise has"),
    ("sequences", "shot_noise_4", "Difficulty must be 1-3"),
    ("videos", "mpeg9_1", "Unknown perturbation 'mpeg9'"),
    ("films", "clean", "Unknown kind of data"),
  )
  def test_refusals(self, kind, config, message):
    with self.assertRaisesRegex(ValueError, message):
      conditions.parse(config, kind)

  @parameterized.parameters(True, 0, -3, 1.0, "3", None)
  def test_level_must_be_a_whole_number(self, level):
    with self.assertRaisesRegex(ValueError, "whole number from 1"):
      conditions.Condition("fog", level)

  @parameterized.parameters(
    ("pictures", (1, 3, 3), ["clean", "fog_1", "fog_3"]),
    ("videos", 2, ["clean", "jpeg_2"]),
    ("sequences", (1, 2), ["clean", "shot_noise", "shot_noise_2", "tilt"]),
  )
  def test_select(self, kind, levels, configs):
    names = [c.partition("_")[0] for c in configs]
    family = conditions.family(kind)
    wanted = [n for n in family.names() if n.split("_")[0] in names]
    exact = {"pictures": ["fog"], "videos": ["jpeg"]}
    selection = exact.get(kind, ["shot_noise", "tilt"])
    self.assertLessEqual(set(selection), set(wanted))
    selected = family.select(selection, levels)
    self.assertEqual([c.config for c in selected], configs)

  @parameterized.parameters(
    ("temporal_eval", (1, 2, 3, 4, 5), 5 * 2),
    ("spatial_eval", (5,), 4),
    ("mixed_eval", (4, 5), 9 * 2),
    ("spatial_eval,jpeg", (1, 4), 4 + 2),  # a name has the levels asked for
    ("temporal_eval,jumbling", (1, 4), 5 + 1),
  )
  def test_mixes_bring_their_levels(self, selection, levels, count):
    _, *chosen = conditions.VIDEOS.select(selection, levels)
    self.assertLen(chosen, count)
    with self.assertRaisesRegex(ValueError, "tested at severity 4-5, got"):
      conditions.VIDEOS.select(selection, (1, 2, 3))

  def test_mixes_are_the_papers(self):
    ours = {"jumble": "jumbling", "freeze": "freezing"}
    ours |= {"box_jumble": "box_jumbling"}
    ours |= {"static_rotate": "static_rotation", "translate": "translation"}
    lines = printed_rows.lines("schiappa2023", "training_mixes")
    printed = {x["training"]: x for x in lines if x["condition"] == "eval"}
    for name, mix in conditions.VIDEOS.mixes.items():
      line = printed[name.removesuffix("_eval")]
      ends = line["lowest_severity"], line["highest_severity"]
      self.assertEqual([str(v) for v in mix.levels], list(ends))
      names = {ours.get(n, n) for n in line["note"].split(", ")}
      if len(mix.parts) == 1:
        self.assertEqual(set(mix.names), names)
    both = conditions.VIDEOS.mixes["mixed_eval"].parts
    alone = [
      conditions.VIDEOS.mixes[f"{n}_eval"].parts[0]
      for n in ("temporal", "spatial")
    ]
    self.assertEqual(list(both), alone)


class KeysTest(absltest.TestCase):
  def test_bytes_of_keys(self):
    # sha256("0\x1fimagenet_c\x1ffog\x1f3\x1fa.JPEG\x1f0"), first eight bytes.
    key = conditions.Condition("fog", 3).key(0, "imagenet_c", "a.JPEG")
    np.testing.assert_array_equal(key, _FOG_KEY)
    self.assertEqual(key.dtype, np.uint32)

  def test_keys_are_rows_of_key(self):
    condition = conditions.SEQUENCES.condition("shot_noise", 2)
    keys = condition.keys(7, "imagenet_p", ["a", "b"])
    np.testing.assert_array_equal(keys[1], condition.key(7, "imagenet_p", "b"))
    self.assertEqual(keys.shape, (2, 2))

  def test_example_key_wraps_them(self):
    import jax

    key = corruptions.example_key(0, "imagenet_c", "fog", 3, "a.JPEG")
    np.testing.assert_array_equal(jax.random.key_data(key), _FOG_KEY)


_FOG_KEY = np.array([2960694509, 2826600378], np.uint32)


class NaturalSetsTest(absltest.TestCase):
  """The rows of natural sets: known to TFDS, their names nobody's."""

  def test_tfds_knows_them(self):
    for row in natural_sets.rows().values():
      if row.source and not row.folder:
        known = tfds.builder_cls(row.source).builder_configs
        self.assertEqual(row.configs, ",".join(known))

  def test_names(self):
    for name in natural_sets.rows():
      self.assertTrue(natural_sets.is_natural(name))
      self.assertNotIn(name, datasets.names())
    taken = ("imagenet_v2_topimages", "imagenet_v2_reference", "objectnet")
    for name in taken:
      self.assertTrue(natural_sets.is_taken(name))
    self.assertFalse(natural_sets.is_taken("imagenet_v2"))
    row = natural_sets.row_of_set("imagenet2012_real")
    self.assertTrue(row and row.several)
    self.assertIsNone(natural_sets.row_of_set("imagenet2012_real_reference"))


_LAZY = """
import sys
import tensorflow_datasets as tfds
import robust_tfds
sets = "robust_tfds.datasets."
assert not [m for m in sys.modules if m.startswith(sets)]
assert tfds.builder("digits_c/fog_3").name == "digits_c"
assert sets + "digits_c.digits_c_dataset_builder" in sys.modules
assert sets + "coco_c.coco_c_dataset_builder" not in sys.modules
assert tfds.builder_cls("coco_c").name == "coco_c"
robust_tfds.datasets.register()
assert set(robust_tfds.datasets.names()) <= set(tfds.list_builders())
"""


class RegistrationTest(absltest.TestCase):
  """TFDS finds our sets by name, and imports those alone that are asked for."""

  def test_sets_are_imported_when_they_are_asked_for(self):
    done = in_process.python("-c", _LAZY)
    self.assertEqual(done.returncode, 0, done.stderr)

  def test_the_folder_is_the_registry(self):
    folder = pathlib.Path(datasets.__file__).parent
    names = [p.name for p in folder.iterdir() if (p / "README.md").exists()]
    self.assertContainsSubset(registration.names(), names)
    self.assertIn("imagenet_c", registration.names())
    for name in registration.names():
      self.assertEqual(registration.builder_class(name).name, name)


class RegistryTest(absltest.TestCase):
  """Modules of registries."""

  def test_the_class_that_a_module_defines(self):
    self.assertIs(registry.only_class(video.__name__, base.Task), video.Video)

  def test_a_module_without_one(self):
    with self.assertRaises(ValueError):
      registry.only_class(absltest.__name__, base.Task)


def row(paper: str, table: str, **fields: str) -> printed_rows.PrintedRow:
  """A row of a table with other fields."""
  rows = printed_rows.paper_rows(paper)
  first = next(r for r in rows if r.table == table)
  return dataclasses.replace(first, **fields)


class SameNamesTest(parameterized.TestCase):
  """Networks and conditions of two names are one."""

  def test_a_board_calls_a_network_otherwise(self):
    fields = {"network": "ResNet-50 Baseline", "training": ""}
    of_board = row("hendrycks2019", "readme_imagenet_c", **fields)
    name = same_names.network(of_board, "imagenet_c")
    self.assertEqual(name, "ResNet-50")

  def test_a_network_by_data_set(self):
    one = row("shankar2021", "table2", network="ResNet-152", training="+ FT on")
    self.assertEqual(same_names.network(one, "ytbb_robust"), one.label)
    tuned = dataclasses.replace(one, training="+ FT on Youtube-BB")
    self.assertEqual(
      same_names.network(tuned, "ytbb_robust"), "resnet152_finetuned"
    )

  @parameterized.parameters(
    ("table7", "all", ""), ("table4", "all", "all"), ("table4", "reviewed", "")
  )
  def test_conditions_of_the_whole_set(self, table, name, condition):
    one = row("shankar2021", table, name=name)
    self.assertEqual(same_names.condition(one), condition)
