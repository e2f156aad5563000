"""Every file of the three folders says one plugin of its kind, and no more."""

import dataclasses
import importlib
import inspect
import sys
import types
from unittest import mock

from absl.testing import absltest

from robust_tfds import conditions, errors
from robust_tfds.corruptions import plugins, spec

_CLASSES = {
  "pictures": (plugins.Corruption,),
  "sequences": (plugins.FrameByFrame, plugins.Successive),
  "videos": (plugins.OfFrames, plugins.OfIndices),
}
_LOADERS = {
  "pictures": plugins.picture,
  "sequences": plugins.sequence,
  "videos": plugins.video,
}
_PLUGINS = [
  (kind, name)
  for kind, family in conditions.FAMILIES.items()
  for name in family.names()
  if not family.row(name).plugin  # a row that says it all has no file
]
_HOOKS = {
  field.name
  for classes in _CLASSES.values()
  for plugin_class in classes
  for field in dataclasses.fields(plugin_class)
  if "Callable" in str(field.type) or field.type in ("Draw", "Apply")
} | {"frames"}


def _module(kind: str, name: str) -> types.ModuleType:
  folder = plugins.FOLDERS[kind]
  return importlib.import_module(f"robust_tfds.corruptions.{folder}.{name}")


def _forgotten(kind: str, name: str) -> list[str]:
  """Hooks of a file that its PLUGIN does not name: they would not be called."""
  plugin = _LOADERS[kind](name)
  named = [getattr(plugin, f.name) for f in dataclasses.fields(plugin)]
  return [
    f"{kind} {name}: {hook}"
    for hook, function in vars(_module(kind, name)).items()
    if hook in _HOOKS and inspect.isfunction(function) and function not in named
  ]


class ContractTest(absltest.TestCase):
  def test_a_file_is_a_plugin_of_its_folder(self):
    for kind, name in _PLUGINS:
      plugin = _LOADERS[kind](name)
      self.assertIsInstance(plugin, _CLASSES[kind], name)
      self.assertIs(plugin, _module(kind, name).PLUGIN, name)

  def test_no_function_of_a_file_is_forgotten(self):
    self.assertEmpty(
      [hook for plugin in _PLUGINS for hook in _forgotten(*plugin)]
    )

  def test_every_edition_has_five_severities(self):
    own = conditions.PICTURES.names("own")
    for name in conditions.PICTURES.names():
      severities = plugins.picture(name).severities
      self.assertNotEmpty(severities, name)
      for edition in severities if name in own else spec.EDITIONS:
        self.assertLen(spec.edition(edition).row(severities), 5, name)

  def test_editions_of_sequences_exist(self):
    for name in conditions.SEQUENCES.names():
      on_source = plugins.sequence(name).on_source
      self.assertLessEqual(set(on_source), set(spec.EDITIONS), name)

  def test_noise_sequences_draw_nothing_ahead(self):
    for name in conditions.SEQUENCES.members("noise"):
      self.assertIs(plugins.sequence(name).draw, plugins.no_draws)


class RefusalsTest(absltest.TestCase):
  def test_misspelt_hooks(self):
    fog = plugins.picture("fog")
    with self.assertRaisesRegex(TypeError, "drow"):
      plugins.Corruption(
        severities=fog.severities, tables=fog.tables, apply=fog.apply, drow=None
      )
    with self.assertRaisesRegex(TypeError, "apply"):
      plugins.Corruption(severities=fog.severities, tables=fog.tables)

  def test_names(self):
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'fog'"):
      plugins.picture("fogg")
    with self.assertRaisesRegex(errors.UserError, "Unknown perturbation 'fog'"):
      plugins.video("fog")

  def test_a_file_without_a_plugin(self):
    path = "robust_tfds.corruptions.image.fog"
    empty = types.ModuleType(path)
    with mock.patch.dict(sys.modules, {path: empty}):
      with self.assertRaisesRegex(TypeError, r"must end in PLUGIN = plugins"):
        plugins.picture("fog")
      empty.PLUGIN = plugins.video("jpeg")
      with self.assertRaisesRegex(TypeError, "got OfImage"):
        plugins.picture("fog")
