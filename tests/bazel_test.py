"""BUILD, written by hand: a target a room; its deps are what the room imports."""

import functools
import pathlib
import re
import tomllib

from absl.testing import absltest

from tools import import_graph

_ROOT = import_graph.ROOT
_FOLDERS = (*import_graph.PACKAGES, "tests", "tools", "benchmarks")
_DISTRIBUTIONS = {
  "PIL": "pillow",
  "absl": "absl-py",
  "orbax": "orbax-checkpoint",
  "sklearn": "scikit-learn",
  "tensorflow": "tensorflow-cpu",
}


def _glob(include: list[str], exclude: list[str] = ()) -> list[str]:
  """Bazel's `glob`: files below the repository, relative to it."""

  def paths(patterns):
    return {
      path.relative_to(_ROOT).as_posix()
      for pattern in patterns
      for path in _ROOT.glob(pattern)
      if path.is_file() and "__pycache__" not in path.parts
    }

  return sorted(paths(include) - paths(exclude))


@functools.cache
def _targets() -> dict[str, dict]:
  """Name -> arguments and rule; BUILD is Python's syntax too."""
  targets: dict[str, dict] = {}

  def rule(kind):
    def declare(*, name, **arguments):
      assert name not in targets, f"two targets called {name}"
      targets[name] = {"rule": kind, **arguments}

    return declare

  ignored = lambda *args, **kwargs: None
  rules = ("py_binary", "py_library", "py_test")
  scope = {kind: rule(kind) for kind in rules} | {"glob": _glob}
  scope |= {"load": ignored, "package": ignored}
  exec(compile((_ROOT / "BUILD").read_text("utf-8"), "BUILD", "exec"), scope)
  return targets


def _rooms() -> dict[str, str]:
  """File -> the library that holds it."""
  return {
    source: name
    for name, target in _targets().items()
    if target["rule"] == "py_library"
    for source in target.get("srcs", ())
  }


@functools.cache
def _packages() -> frozenset[str]:
  """Distributions of the dependencies and of what tests need."""
  project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
  rows = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
  names = (re.match(r"[\w.-]+", row).group() for row in rows)
  return frozenset(name.lower().replace("_", "-") for name in names)


def _external(source: str) -> set[str]:
  """Labels of the declared packages that a file imports; extras may be absent."""
  labels = set()
  for name in import_graph.imports((_ROOT / source).read_text("utf-8")):
    top = name.split(".")[0]
    distribution = _DISTRIBUTIONS.get(top, top).lower().replace("_", "-")
    if distribution in _packages():
      labels.add(f"@pypi//{distribution.replace('-', '_')}")
  return labels


def _imported() -> dict[str, set[str]]:
  """Room -> labels of what its files import."""
  rooms, files = _rooms(), import_graph.files(_FOLDERS)
  labels: dict[str, set[str]] = {name: set() for name in rooms.values()}
  for module, imported in import_graph.graph(_FOLDERS).items():
    source = files[module].as_posix()
    room = rooms[source]
    labels[room] |= _external(source)
    others = {rooms[files[name].as_posix()] for name in imported}
    labels[room] |= {f":{other}" for other in others - {room}}
  return labels


class BazelTest(absltest.TestCase):
  def test_it_is_short(self):
    lines = (_ROOT / "BUILD").read_text("utf-8").splitlines()
    self.assertLessEqual(len(lines), 200)

  def test_every_file_is_in_one_room(self):
    sources = [
      source
      for target in _targets().values()
      if target["rule"] == "py_library"
      for source in target.get("srcs", ())
    ]
    files = [p.as_posix() for p in import_graph.files(_FOLDERS).values()]
    self.assertCountEqual(sources, files)

  def test_deps_are_the_imports(self):
    wrong = []
    for name, labels in _imported().items():
      stated = set(_targets()[name].get("deps", ()))
      if stated != labels:
        more, less = sorted(labels - stated), sorted(stated - labels)
        wrong.append(f"{name}: add {more}, remove {less}")
    self.assertEmpty(wrong, "\n".join(wrong))

  def test_no_cycle(self):
    edges = {
      name: frozenset(
        dep.removeprefix(":")
        for dep in target.get("deps", ())
        if dep.startswith(":")
      )
      for name, target in _targets().items()
    }
    self.assertEmpty(import_graph.cycles(edges))

  def test_programs_are_there_and_bring_the_package(self):
    for name, target in _targets().items():
      if target["rule"] != "py_library":
        self.assertTrue((_ROOT / target["main"]).is_file(), name)
        self.assertIn(":robust_tfds", target["deps"], name)

  def test_other_files_of_the_package_are_data(self):
    data = {f for t in _targets().values() for f in t.get("data", ())}
    kinds = {".css", ".html", ".j2", ".js", ".json", ".md", ".tsv", ".csv"}
    missing = [
      path.relative_to(_ROOT).as_posix()
      for folder in import_graph.PACKAGES
      for path in (_ROOT / folder).rglob("*")
      if path.suffix in kinds and path.relative_to(_ROOT).as_posix() not in data
    ]
    self.assertEmpty(missing)

  def test_packages_are_pinned(self):
    lines = (_ROOT / "requirements_lock.txt").read_text("utf-8").splitlines()
    pinned = {
      re.sub("[-.]", "_", line.split("==")[0].lower())
      for line in lines
      if "==" in line
    }
    used = {
      dep.removeprefix("@pypi//")
      for target in _targets().values()
      for dep in target.get("deps", ())
      if dep.startswith("@pypi//")
    }
    self.assertEmpty(used - pinned)
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for asked in (*project["dependencies"], *extras["dev"], *extras["docs"]):
      name, *marker = re.split(r"[\[>=<; ]", asked, maxsplit=1)
      if "sys_platform !=" not in "".join(marker):  # the file is of Linux
        self.assertIn(re.sub("[-.]", "_", name.lower()), pinned)
    module = pathlib.Path(_ROOT / "MODULE.bazel").read_text("utf-8")
    self.assertIn('hub_name = "pypi"', module)
