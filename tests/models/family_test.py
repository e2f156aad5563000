"""Every family says sound facts of its checkpoints and references."""

import dataclasses
import re

from absl.testing import absltest, parameterized

from models import catalogue, family
from robust_tfds import models

_FAMILIES = {catalogue.family_of(name): name for name in models.names()}


class DefaultsTest(absltest.TestCase):
  def test_a_network_and_its_variants_are_enough(self):
    plain = family.Family(network=object, variants={})
    for field in dataclasses.fields(plain)[2:]:
      self.assertFalse(vars(plain)[field.name], field.name)
    with self.assertRaises(dataclasses.FrozenInstanceError):
      plain.ignored = ("a",)

  def test_families_are_told_apart_by_identity(self):
    one, two = (family.Family(network=object, variants={}) for _ in range(2))
    self.assertNotEqual(one, two)
    self.assertLen({one, two, one}, 2)


class ContractTest(parameterized.TestCase):
  @parameterized.parameters(*sorted(_FAMILIES.values()))
  def test_facts_are_sound(self, name):
    part_of = catalogue.family_of(name)
    self.assertIn(name, part_of.variants)
    self.assertContainsSubset(part_of.oracles, part_of.variants)
    for style, rules in part_of.checkpoints.items():
      self.assertNotIn(style, ("own", "torch"), "these need no rules")
      for pattern, replacement in rules:
        groups = re.compile(pattern).groups
        for number in re.findall(r"\\(\d)", replacement):
          self.assertLessEqual(int(number), groups, (style, pattern))
    self.assertContainsSubset(part_of.exclusive, part_of.checkpoints)
    for pattern in part_of.ignored:
      re.compile(pattern)
      self.assertIsNone(re.search(pattern, ""), "it would ignore everything")
