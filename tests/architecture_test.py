"""Imports point one way: who may import whom, and what is imported lazily."""

import ast
import functools
import re
import subprocess
import sys

import pytest
from absl.testing import absltest

from tools import import_graph

# Area (the longest prefix wins) -> what of the project its modules may import,
# at any depth. Every area may import itself.
_ANYBODY = (
  "robust_tfds.charts",
  "robust_tfds.coco",
  "robust_tfds.conditions",
  "robust_tfds.cores",
  "robust_tfds.durations",
  "robust_tfds.errors",
  "robust_tfds.hosts",
  "robust_tfds.html_pages",
  "robust_tfds.kept_programs",
  "robust_tfds.missing",
  "robust_tfds.natural_sets",
  "robust_tfds.own_corruptions",
  "robust_tfds.reading",
  "robust_tfds.records",
  "robust_tfds.registry",
  "robust_tfds.resizing",
  "robust_tfds.shards",
  "robust_tfds.step_lines",
  "robust_tfds.stopping",
  "robust_tfds.storage",
  "robust_tfds.strings",
  "robust_tfds.tensorflow_lines",
  "robust_tfds.version",
  "robust_tfds.layout",
)
_CELLS = "eval.cells"
_ALLOWED = {
  "robust_tfds": ("robust_tfds.registration",),
  "robust_tfds.errors": (),
  "robust_tfds.missing": ("robust_tfds.errors",),
  "robust_tfds.conditions": ("robust_tfds.errors",),
  "robust_tfds.storage": ("robust_tfds.errors",),
  "robust_tfds.reading": ("robust_tfds.errors", "robust_tfds.storage"),
  "robust_tfds.charts": ("robust_tfds.conditions", "robust_tfds.errors"),
  "robust_tfds.command": (),
  "robust_tfds.durations": (),
  "robust_tfds.kept_programs": (),
  "robust_tfds.config_flag": ("robust_tfds.command",),
  "robust_tfds.devices": ("robust_tfds.errors",),
  "robust_tfds.hosts": (),
  "robust_tfds.html_pages": ("robust_tfds.version",),
  "robust_tfds.multihost": ("robust_tfds.errors", "robust_tfds.stopping"),
  "robust_tfds.natural_sets": ("robust_tfds.errors",),
  "robust_tfds.records": ("robust_tfds.errors", "robust_tfds.reading"),
  "robust_tfds.registry": (),
  "robust_tfds.resizing": (),
  "robust_tfds.settings": (
    "robust_tfds.conditions",
    "robust_tfds.errors",
    "robust_tfds.records",
  ),
  "robust_tfds.step_lines": ("robust_tfds.durations",),
  "robust_tfds.stopping": (),
  "robust_tfds.shards": ("robust_tfds.errors",),
  "robust_tfds.strings": (),
  "robust_tfds.tensorflow_lines": (),
  "robust_tfds.version": (),
  "robust_tfds.layout": (),
  "robust_tfds.registration": (),
  "robust_tfds.corruptions": (),
  # MPEG is a codec of containers (DESIGN, "Decisions").
  "robust_tfds.corruptions.ops.mpeg": ("robust_tfds.movies",),
  "robust_tfds.coco": ("robust_tfds.errors",),
  "robust_tfds.building": (
    "robust_tfds.corruptions",
    "robust_tfds.movies",
  ),
  "robust_tfds.datasets": (
    "robust_tfds.building",
    "robust_tfds.movies",
    "robust_tfds.user_data",
    "robust_tfds.registration",
  ),
  "robust_tfds.user_data": ("robust_tfds.building",),
  "robust_tfds.build": (
    "robust_tfds.building",
    "robust_tfds.command",
    "robust_tfds.datasets",
    "robust_tfds.user_data",
  ),
  "robust_tfds.corrupt_folder": (
    "robust_tfds.command",
    "robust_tfds.corruptions",
    "robust_tfds.folder_manifest",
    "robust_tfds.folder_overview",
    "robust_tfds.folder_work",
  ),
  "robust_tfds.folder_overview": ("robust_tfds.folder_work",),
  "robust_tfds.folder_manifest": ("robust_tfds.folder_work",),
  "robust_tfds.folder_work": ("robust_tfds.corruptions",),
  "configs": ("eval.papers",),
  "models": (),
  "models.training": (
    "robust_tfds.building",
    "robust_tfds.command",
    "robust_tfds.config_flag",
    "robust_tfds.corruptions",
    "robust_tfds.datasets",
    "robust_tfds.devices",
    "models",
    "robust_tfds.multihost",
    "robust_tfds.user_data",
    "robust_tfds.settings",
  ),
  "models.card": ("robust_tfds.command", "models"),
  "models.convert.__main__": (
    "robust_tfds.command",
    "models",
  ),
  "models.zero_shot.__main__": (
    "robust_tfds.command",
    "models",
  ),
  "eval.metrics": (),
  "eval.cells": ("eval.metrics",),
  "eval.papers": ("eval.metrics",),
  "eval.pipeline": (
    "robust_tfds.devices",
    "robust_tfds.corruptions",
    "robust_tfds.building",
    "robust_tfds.datasets",
    "robust_tfds.movies",
  ),
  "eval.tasks": (
    "eval.metrics",
    _CELLS,
    "eval.papers",
    "eval.pipeline",
    "robust_tfds.corruptions",
    "robust_tfds.building",
    "robust_tfds.datasets",
  ),
  "eval.readers": (
    _CELLS,
    "eval.tasks",
    "eval.metrics",
    "eval.papers",
    "robust_tfds.building",
    "robust_tfds.datasets",
  ),
  "eval.charts": (_CELLS, "eval.metrics"),
  "eval.tables": (_CELLS, "eval.metrics", "eval.papers"),
  "eval.compare": (
    _CELLS,
    "eval.charts",
    "eval.metrics",
    "eval.papers",
    "eval.readers",
    "eval.tables",
    "eval.tasks",
  ),
  "eval.report": (
    _CELLS,
    "eval.charts",
    "eval.compare.boards.board",
    "eval.compare.boards.tables",
    "eval.metrics",
    "eval.papers",
    "eval.tables",
  ),
  "eval.report.figures": (
    _CELLS,
    "eval.charts",
    "eval.compare",
    "eval.metrics",
    "eval.papers",
    "eval.readers",
    "eval.report",
    "eval.tables",
    "eval.tasks",
    "robust_tfds.corruptions",
  ),
  "eval.compare.__main__": (
    "robust_tfds.command",
    "eval.compare",
  ),
  "eval.submissions": (
    "robust_tfds.corruptions",
    _CELLS,
    "robust_tfds.datasets",
    "eval.compare",
    "eval.metrics",
    "eval.readers",
    "eval.run",  # of --rerun alone
    "eval.tasks",
    "models.weights_file",
  ),
  "eval": ("configs", "models", "robust_tfds"),  # the commands and eval.run
}
# Packages that a module may import when it is imported; others inside functions.
_THIRD_PARTY = {
  "robust_tfds": {
    "tensorflow_datasets",
    "numpy",
    "absl",
    "etils",
    "pydantic",
    "typing_extensions",
  },
  "robust_tfds.charts": {"etils", "matplotlib", "numpy"},
  "robust_tfds.coco": {"numpy"},
  "robust_tfds.config_flag": {"absl", "ml_collections"},
  "robust_tfds.settings": {"ml_collections", "numpy", "pydantic"},
  "robust_tfds.devices": {"jax", "numpy"},
  "robust_tfds.errors": set(),
  "robust_tfds.hosts": {"jax", "numpy"},
  "robust_tfds.storage": {"etils", "filelock", "absl", "numpy"},
  "robust_tfds.conditions": {"numpy"},
  "robust_tfds.reading": {"numpy", "etils"},
  "robust_tfds.corruptions": {"jax", "numpy", "etils"},
  "configs": {"ml_collections"},
  "models": {"jax", "flax", "numpy", "absl", "etils", "pydantic"},
  "models.training": {
    "flax",
    "absl",
    "dm_pix",
    "etils",
    "jax",
    "ml_collections",
    "numpy",
    "optax",
    "pydantic",
  },
  "eval.metrics": {"numpy", "scipy"},
  "eval.papers": {"numpy"},
  "eval.charts": {"numpy", "matplotlib", "etils"},
  "eval.report": {"numpy", "matplotlib", "etils"},
  "eval.report.pages": {"etils"},
  "robust_tfds.html_pages": {"jinja2", "markupsafe"},
  "eval.compare": {"numpy", "matplotlib", "etils"},
  "eval.compare.__main__": {"absl"},
  "eval": {
    "jax",
    "numpy",
    "absl",
    "etils",
    "ml_collections",
    "optax",
    "pydantic",
    "typing_extensions",
  },
}
# What opens files that somebody else wrote: `robust_tfds.reading` alone may.
_OPENERS = {
  "csv.DictReader",
  "csv.reader",
  "json.load",
  "json.loads",
  "np.fromfile",
  "np.genfromtxt",
  "np.load",
  "np.loadtxt",
  "Image.open",
}
_OPENS = {name.rpartition(".")[2] for name in _OPENERS}
# Its bytes hang on Pillow's version: `robust_tfds.resizing` is for what counts.
_RESIZES = {"resize", "thumbnail", "draft"}
_NOT_PILLOW = ("np.", "jnp.", "jax.", "tf.")
_MAY_RESIZE = {
  "robust_tfds.building.geometry",  # by the nearest neighbour alone
  "eval.report.figures.parts.picture_pairs",  # of a figure
}
_OPENING_PACKAGES = {"defusedxml", "gzip", "tarfile", "xml", "zipfile"}
# Zip files are written here; what is read goes through the door.
_WRITERS = {
  "eval.cells.files.parts": "zipfile",
  "robust_tfds.storage.npz": "zipfile",
}
_VAGUE = {"utils", "util", "helpers", "misc", "common"}


def _rule(table: dict, module: str):
  areas = [a for a in table if module == a or module.startswith(a + ".")]
  return table[max(areas, key=len)]


def _area(module: str) -> str:
  areas = [a for a in _ALLOWED if module == a or module.startswith(a + ".")]
  return max(areas, key=len)


def _opens(module: str) -> list[str]:
  """What a module opens past the door, but for types."""
  source = _source(module)
  if not any(word in source for word in {*_OPENERS, *_OPENING_PACKAGES}):
    return []
  tree = ast.parse(source)
  typed = [
    statement
    for node in ast.walk(tree)
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    for statement in node.body
  ]
  openings = []
  for node in ast.walk(tree):
    if isinstance(node, ast.Attribute) and node.attr in _OPENS:
      name = ast.unparse(node)
      openings += [f"line {node.lineno}: {name}"] * (name in _OPENERS)
    if isinstance(node, ast.Import | ast.ImportFrom) and node not in typed:
      names = [a.name for a in node.names]
      if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
      packages = {n.split(".")[0] for n in names} & _OPENING_PACKAGES
      openings += [f"line {node.lineno}: {p}" for p in packages]
  return openings


@functools.cache
def _source(module: str) -> str:
  path = import_graph.ROOT / import_graph.files()[module]
  return path.read_text("utf-8")


def _room(module: str) -> str:
  """Return the folder of `eval` that a module lies in; '' for all others."""
  parts = module.split(".")
  is_in_room = parts[0] == "eval" and len(parts) > 2
  return ".".join(parts[:2]) if is_in_room else ""


def _is_in(name: str, areas: tuple[str, ...]) -> bool:
  return any(name == a or name.startswith(a + ".") for a in areas)


class ArchitectureTest(absltest.TestCase):
  def test_imports_of_the_project(self):
    offenders = []
    for module, imported in import_graph.graph().items():
      allowed = (*_rule(_ALLOWED, module), *_ANYBODY, _area(module))
      wrong = [name for name in imported if not _is_in(name, allowed)]
      if wrong:
        offenders.append(f"{module} imports {wrong}; it may import {allowed}.")
    self.assertEmpty(offenders, "\n".join(offenders))

  def test_imports_of_others(self):
    offenders = []
    for module in import_graph.files():
      names = import_graph.imports(_source(module), top_level=True)
      packages = {name.split(".")[0] for name in names}
      packages -= {*sys.stdlib_module_names, *import_graph.PACKAGES}
      wrong = packages - _rule(_THIRD_PARTY, module)
      if wrong:
        offenders.append(f"{module} imports {sorted(wrong)}")
    self.assertEmpty(
      offenders,
      "At module level; import them inside the function that needs them, or"
      " move the code:\n" + "\n".join(offenders),
    )

  def test_files_of_others_are_opened_by_reading(self):
    offenders = []
    for module in import_graph.files():
      if "robust_tfds.reading" in module:
        continue
      own = _WRITERS.get(module, "-")
      past = [opening for opening in _opens(module) if own not in opening]
      offenders += [f"{module}: {opening}" for opening in past]
    self.assertEmpty(
      offenders,
      "Open them through robust_tfds.reading:\n" + "\n".join(offenders),
    )

  def test_pillow_resizes_nothing_that_counts(self):
    offenders = []
    resizing = re.compile(rf"\b({'|'.join(_RESIZES)})\(")
    files = [m for m in import_graph.files() if resizing.search(_source(m))]
    for module in files:
      for node in ast.walk(ast.parse(_source(module))):
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        resizes = name.rpartition(".")[2] in _RESIZES
        if resizes and not name.startswith(_NOT_PILLOW):
          offenders += [f"{module}: {name}"] * (module not in _MAY_RESIZE)
    self.assertEmpty(offenders, "Use robust_tfds.resizing.")

  def test_no_two_modules_import_each_other(self):
    self.assertEmpty(import_graph.cycles(import_graph.graph()))

  @pytest.mark.slow
  def test_every_package_can_be_a_process_first_import(self):
    command = [sys.executable, "-m", "tests.first_imports"]
    done = subprocess.run(
      command, cwd=import_graph.ROOT, capture_output=True, text=True
    )
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

  def test_no_two_rooms_of_eval_import_each_other(self):
    rooms: dict[str, set[str]] = {}
    for module, imported in import_graph.graph().items():
      room = _room(module)
      if room:
        rooms.setdefault(room, set()).update(map(_room, imported))
    edges = {a: frozenset(to - {a, ""}) for a, to in rooms.items()}
    self.assertEmpty(import_graph.cycles(edges))

  def test_names_say_what_they_are(self):
    names = [m for m in import_graph.files() if m.rpartition(".")[2] in _VAGUE]
    self.assertEmpty(names)

  def test_the_builtin_is_not_hidden(self):
    line = "from robust_tfds import eval\n"
    hidden = [m for m in import_graph.files() if line in _source(m)]
    self.assertEmpty(hidden)

  def test_a_cycle_is_seen(self):
    edges = {
      "a": frozenset("b"),
      "b": frozenset("c"),
      "c": frozenset("a"),
      "d": frozenset("a"),
    }
    self.assertEqual(import_graph.cycles(edges), [["a", "b", "c"]])

  def test_imports_inside_functions_are_seen(self):
    source = "def f():\n  from eval.cells import table\n"
    self.assertEqual(import_graph.imports(source), {"eval.cells.table"})
    self.assertEmpty(import_graph.imports(source, top_level=True))
