"""Every file of the three folders says one plugin of its kind, and no more."""

import dataclasses
import importlib
import inspect
import sys
import types
from unittest import mock

from absl.testing import absltest, parameterized

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


class ContractTest(parameterized.TestCase):
  @parameterized.parameters(*_PLUGINS)
  def test_a_file_is_a_plugin_of_its_folder(self, kind, name):
    plugin = _LOADERS[kind](name)
    self.assertIsInstance(plugin, _CLASSES[kind])
    self.assertIs(plugin, _module(kind, name).PLUGIN)

  @parameterized.parameters(*_PLUGINS)
  def test_no_function_of_a_file_is_forgotten(self, kind, name):
    """A `draw` that PLUGIN does not name would never be called."""
    plugin = _LOADERS[kind](name)
    named = [getattr(plugin, f.name) for f in dataclasses.fields(plugin)]
    for hook, function in vars(_module(kind, name)).items():
      if hook in _HOOKS and inspect.isfunction(function):
        self.assertIn(function, named, hook)

  @parameterized.parameters(*conditions.PICTURES.names())
  def test_every_edition_has_five_severities(self, name):
    for edition in spec.EDITIONS.values():
      self.assertLen(edition.row(plugins.picture(name).severities), 5)

  @parameterized.parameters(*conditions.SEQUENCES.names())
  def test_editions_of_sequences_exist(self, name):
    self.assertLessEqual(
      set(plugins.sequence(name).on_source), set(spec.EDITIONS)
    )

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


if __name__ == "__main__":
  absltest.main()
