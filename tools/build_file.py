"""Writes the top-level BUILD file from the imports.

  python tools/build_file.py

A folder is one `py_library` with its data. Bazel allows no cycle: in a folder that
would close one (its files import from folders that import others of its files)
every file is a target of its own. A command is a `py_binary` with a library of its
own, a test file a `py_test`. Dependencies come as `@pypi//<name>`, as MODULE.bazel
and requirements_lock.txt have them; packages of extras do not: they are imported
where they are used and may be absent.
`tests/build_test.py` holds BUILD to what this writes.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import pathlib
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tools import import_graph

_HEAD = """# Made by tools/build_file.py from the imports; do not edit.

load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

package(default_visibility = ["//visibility:public"])

licenses(["notice"])
"""
_FOLDERS = (*import_graph.PACKAGES, *import_graph.OTHERS)
# Distributions whose module has another name; else "-" becomes "_".
DISTRIBUTIONS = {
  "PIL": "pillow",
  "absl": "absl-py",
  "orbax": "orbax-checkpoint",
  "pywt": "pywavelets",
  "skimage": "scikit-image",
  "sklearn": "scikit-learn",
  "tensorflow": "tensorflow-cpu",
}
# Modules that load others by name -> the folders that these lie in.
REGISTRIES = {
  "robust_tfds.corruptions.plugins": "robust_tfds/corruptions",
  "robust_tfds.datasets": "robust_tfds/datasets",
  "robust_tfds.eval.report.reports": "eval/report/reports",
  "robust_tfds.eval.tasks": "eval/tasks",
  "robust_tfds.models.catalogue": "models",
}
_NO_DATA = ("__pycache__",)


@dataclasses.dataclass
class Target:
  """A rule of the BUILD file.

  Attributes:
    name: its label without the colon.
    rule: `py_library`, `py_binary` or `py_test`.
    sources: files, relative to the repository.
    deps: labels.
    data: globs.
    testonly: only tests may use it.
  """

  name: str
  rule: str
  sources: list[str]
  deps: set[str]
  data: list[str] = dataclasses.field(default_factory=list)
  testonly: bool = False

  def text(self) -> str:
    """As Starlark."""
    lines = [f"{self.rule}(", f'    name = "{self.name}",']
    if self.testonly:
      lines.append("    testonly = True,")
    lines += _listed("srcs", self.sources)
    if self.rule != "py_library":
      lines.append(f'    main = "{self.sources[0]}",')
    if self.data:
      globs = ", ".join(f'"{g}"' for g in self.data)
      lines.append(f"    data = glob([{globs}]),")
    lines += _listed("deps", sorted(self.deps))
    return "\n".join([*lines, ")", ""])


def _listed(name: str, values: Iterable[str]) -> list[str]:
  values = list(values)
  if not values:
    return []
  return [f"    {name} = [", *(f'        "{v}",' for v in values), "    ],"]


@functools.cache
def _modules() -> Mapping[str, pathlib.Path]:
  return import_graph.files(_FOLDERS)


@functools.cache
def _source(module: str) -> str:
  return (import_graph.ROOT / _modules()[module]).read_text("utf-8")


@functools.cache
def _is_program(module: str) -> bool:
  tree = ast.parse(_source(module))
  guarded = any(
    isinstance(n, ast.If) and "__main__" in ast.dump(n.test) for n in tree.body
  )
  return guarded or _modules()[module].name == "__main__.py"


@functools.cache
def _library_of(module: str, split: frozenset[str]) -> str:
  """The library that holds a module's file.

  Args:
    module: of the repository.
    split: folders that are not one library.
  """
  path = _modules()[module]
  if path.name == "__main__.py" or _is_program(module):
    return f"{path.with_suffix('')}_lib"
  folder = str(path.parent)
  return str(path.with_suffix("")) if folder in split else folder


@functools.cache
def _split() -> frozenset[str]:
  """Folders that would close a cycle as one target; the outermost ones."""
  out: set[str] = set()
  while groups := import_graph.cycles(_library_graph(frozenset(out))):
    folders = {str(_modules()[m].parent) for m in _modules()} - out
    for group in groups:
      cyclic = [name for name in group if name in folders]
      out.add(min(cyclic, key=lambda name: (name.count("/"), name)))
  return frozenset(out)


def _library_graph(split: frozenset[str]) -> Mapping[str, frozenset[str]]:
  edges: dict[str, set[str]] = {}
  for module, targets in import_graph.graph(_FOLDERS).items():
    if _is_test(module):
      continue
    library = _library_of(module, split)
    edges.setdefault(library, set()).update(
      _library_of(t, split) for t in targets if not _is_test(t)
    )
  return {k: frozenset(v - {k}) for k, v in edges.items()}


def _is_test(module: str) -> bool:
  return _modules()[module].name.endswith("_test.py")


@functools.cache
def _declared() -> frozenset[str]:
  """Distributions of pyproject.toml: dependencies, and what tests need."""
  text = (import_graph.ROOT / "pyproject.toml").read_text("utf-8")
  project = tomllib.loads(text)["project"]
  rows = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
  return frozenset(
    re.match(r"[\w.-]+", row).group().lower().replace("_", "-")  # type: ignore[union-attr]
    for row in rows
  )


def _external(modules: Iterable[str]) -> set[str]:
  """Labels of the packages from the index that modules import."""
  out = set()
  for module in modules:
    for name in import_graph.imports(_source(module)):
      top = name.split(".")[0]
      distribution = DISTRIBUTIONS.get(top, top.replace("_", "-")).lower()
      if distribution in _declared():
        out.add(f"@pypi//{re.sub('[-.]', '_', distribution)}")
  return out


def _libraries() -> list[Target]:
  members: dict[str, list[str]] = {}
  for module in _modules():
    if not _is_test(module):
      members.setdefault(_library_of(module, _split()), []).append(module)
  edges = _library_graph(_split())
  return [
    Target(
      name=name,
      rule="py_library",
      sources=[str(_modules()[m]) for m in modules],
      deps={f":{d}" for d in edges[name]} | _external(modules),
      data=_data(name)
      if pathlib.Path(import_graph.ROOT, name).is_dir()
      else [],
      testonly=name.split("/")[0] == "tests",
    )
    for name, modules in members.items()
  ]


def _data(folder: str) -> list[str]:
  """Globs of the other files of a folder, and below it where no code lies."""
  root = import_graph.ROOT / folder
  globs = set()
  for path in sorted(root.iterdir()):
    if path.is_file() and path.suffix not in (".py", ".pyc"):
      globs.add(f"{folder}/*{path.suffix}")
    elif path.is_dir() and not path.is_symlink() and _without_code(path):
      globs.add(f"{folder}/{path.name}/**")
  return sorted(globs)


def _without_code(folder: pathlib.Path) -> bool:
  return folder.name not in _NO_DATA and not any(folder.rglob("*.py"))


def _programs_and_tests() -> list[Target]:
  out = []
  for module, targets in import_graph.graph(_FOLDERS).items():
    path = str(_modules()[module])
    if _is_test(module):
      others = [str(_modules()[t]) for t in sorted(targets) if _is_test(t)]
      libraries = {
        f":{_library_of(t, _split())}" for t in targets if not _is_test(t)
      }
      deps = libraries | _loaded(module) | _external([module])
      name = path.removesuffix(".py")
      out.append(Target(name, "py_test", [path, *others], deps))
    elif _is_program(module):
      library = f":{_library_of(module, _split())}"
      name = path.removesuffix(".py")
      testonly = path.startswith("tests/")
      deps = {library} | _loaded(module)
      out.append(Target(name, "py_binary", [path], deps, testonly=testonly))
  return out


def _loaded(module: str) -> set[str]:
  """Labels of what a program or test may load by name."""
  reached = import_graph.reachable(module, import_graph.graph(_FOLDERS))
  return {f":{f}/all" for name, f in REGISTRIES.items() if name in reached}


def _registries() -> list[Target]:
  """For every registry one target of all that it may load."""
  return [
    Target(
      name=f"{folder}/all",
      rule="py_library",
      sources=[],
      deps={
        f":{_library_of(module, _split())}"
        for module, path in _modules().items()
        if str(path).startswith(f"{folder}/")
      },
    )
    for folder in REGISTRIES.values()
  ]


def targets() -> list[Target]:
  """All targets, by name."""
  listed = [*_libraries(), *_registries(), *_programs_and_tests()]
  return sorted(listed, key=lambda t: t.name)


def text() -> str:
  """The BUILD file that fits the tree."""
  return "\n".join([_HEAD, *(t.text() for t in targets())])


if __name__ == "__main__":
  (import_graph.ROOT / "BUILD").write_text(text(), "utf-8")
