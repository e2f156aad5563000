"""BUILD is what the imports say, and Bazel could read it."""

import ast

from absl.testing import absltest

from tools import build_file
from tools import import_graph

_RULES = ("py_library", "py_binary", "py_test")


def _parsed() -> dict[str, dict]:
  """Label -> arguments of every target in BUILD, which is Python's syntax too."""
  tree = ast.parse((import_graph.ROOT / "BUILD").read_text("utf-8"))
  out = {}
  for node in tree.body:
    call = node.value
    if isinstance(call, ast.Call) and call.func.id in _RULES:
      arguments = {
        k.arg: ast.literal_eval(k.value)
        for k in call.keywords
        if not isinstance(k.value, ast.Call)
      }
      globs = [
        pattern
        for k in call.keywords
        if isinstance(k.value, ast.Call)
        for pattern in ast.literal_eval(k.value.args[0])
      ]
      name = arguments["name"]
      assert name not in out, f"two targets called {name}"
      out[name] = {**arguments, "rule": call.func.id, "globs": globs}
  return out


class BuildTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.targets = _parsed()

  def test_it_is_up_to_date(self):
    self.assertEqual(
      (import_graph.ROOT / "BUILD").read_text("utf-8"),
      build_file.text(),
      "BUILD is out of date: run python tools/build_file.py",
    )

  def test_labels_exist(self):
    declared = (import_graph.ROOT / "MODULE.bazel").read_text("utf-8")
    self.assertIn('hub_name = "pypi"', declared)
    for name, target in self.targets.items():
      for label in target.get("deps", ()):
        if label.startswith("@pypi//"):
          continue
        self.assertIn(label.removeprefix(":"), self.targets, name)

  def test_packages_are_pinned(self):
    text = (import_graph.ROOT / "requirements_lock.txt").read_text("utf-8")
    pinned = {
      line.split("==")[0].lower().replace("-", "_").replace(".", "_")
      for line in text.splitlines()
      if "==" in line
    }
    used = {
      label.removeprefix("@pypi//")
      for target in self.targets.values()
      for label in target.get("deps", ())
      if label.startswith("@pypi//")
    }
    self.assertEmpty(used - pinned)

  def test_every_file_is_in_a_target(self):
    sources = {s for t in self.targets.values() for s in t.get("srcs", ())}
    for path in build_file._modules().values():
      self.assertIn(str(path), sources)

  def test_sources_and_data_exist(self):
    for name, target in self.targets.items():
      for source in target.get("srcs", ()):
        self.assertTrue((import_graph.ROOT / source).is_file(), source)
      for pattern in target["globs"]:
        self.assertNotEmpty(list(import_graph.ROOT.glob(pattern)), name)

  def test_no_cycle(self):
    edges = {
      name: frozenset(
        d.removeprefix(":") for d in t.get("deps", ()) if d.startswith(":")
      )
      for name, t in self.targets.items()
    }
    self.assertEmpty(import_graph.cycles(edges))

  def test_deps_are_the_imports(self):
    owner = {
      source: name
      for name, t in self.targets.items()
      if t["rule"] == "py_library"
      for source in t.get("srcs", ())
    }
    modules = build_file._modules()
    for module, imported in import_graph.graph(build_file._FOLDERS).items():
      name = owner.get(str(modules[module]))
      for other in imported:
        library = owner.get(str(modules[other]))
        if name and library and name != library:
          self.assertIn(f":{library}", self.targets[name]["deps"], module)


if __name__ == "__main__":
  absltest.main()
