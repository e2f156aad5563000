"""Imports point one way: DESIGN's table of who may import whom, held true."""

import ast
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_LOCAL = ("robust_tfds", "eval", "models", "configs")

# Area (longest prefix wins) -> what its modules may import of the project, and
# which third-party packages at module level. Functions may import optional
# packages anywhere; project imports are checked at any depth.
_PROJECT = {
  "configs": ("configs",),
  # MPEG is a codec of containers (DESIGN, "Decisions").
  "robust_tfds.corruptions.ops.mpeg": ("robust_tfds.movies",),
  "robust_tfds.corruptions": ("robust_tfds.corruptions",),
  "robust_tfds": ("robust_tfds",),
  "models": ("models",),
  "eval.metrics": ("eval.metrics",),
  "eval.reports": ("eval.reports", "eval.results.table"),
  "eval.results.table": (),
  "eval.tasks": ("eval", "robust_tfds"),
  "eval": ("eval", "models", "robust_tfds"),
}
_THIRD_PARTY = {
  "configs": {"ml_collections"},
  "robust_tfds.corruptions": {"jax", "numpy"},
  "robust_tfds": {"numpy", "tensorflow_datasets", "absl"},
  "models": {"jax", "flax", "numpy", "absl"},
  "eval.metrics": {"numpy", "scipy"},
  "eval.reports": {"numpy", "matplotlib"},
  "eval.results.table": set(),
  "eval.run.augment": {"jax", "dm_pix"},
  "eval": {"jax", "numpy", "absl", "ml_collections", "optax"},
}
_STANDARD = set(__import__("sys").stdlib_module_names)


def _modules() -> dict[str, pathlib.Path]:
  found = {}
  for package in _LOCAL:
    for path in sorted((_ROOT / package).rglob("*.py")):
      parts = path.relative_to(_ROOT).with_suffix("").parts
      if parts[-1] == "__init__":
        parts = parts[:-1]
      found[".".join(parts)] = path
  return found


def _imports(tree: ast.AST) -> list[str]:
  names = []
  for node in ast.walk(tree):
    if isinstance(node, ast.Import):
      names += [a.name for a in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
      names += [f"{node.module}.{a.name}" for a in node.names]
  return names


def _top_level(tree: ast.Module) -> list[str]:
  statements = list(tree.body)
  for node in tree.body:
    if isinstance(node, (ast.If, ast.Try)):
      statements += node.body
  return _imports(
    ast.Module(
      [n for n in statements if isinstance(n, (ast.Import, ast.ImportFrom))], []
    )
  )


def _rule(table: dict, module: str):
  fit = [a for a in table if module == a or module.startswith(a + ".")]
  return table[max(fit, key=len)]


class ArchitectureTest(parameterized.TestCase):
  @parameterized.parameters(sorted(_modules().items()))
  def test_imports(self, module, path):
    tree = ast.parse(path.read_text("utf-8"))
    allowed = _rule(_PROJECT, module)
    for name in _imports(tree):
      if name.split(".")[0] in _LOCAL:
        self.assertTrue(
          any(name == a or name.startswith(a + ".") for a in allowed),
          f"{module} imports {name}; it may import {allowed} of the project.",
        )
    third_party = _rule(_THIRD_PARTY, module)
    for name in _top_level(tree):
      package = name.split(".")[0]
      if package in _LOCAL or package in _STANDARD or package == "__future__":
        continue
      self.assertIn(
        package,
        third_party,
        f"{module} imports {package} at module level; import it inside the"
        " function that needs it, or move the code.",
      )

  @parameterized.parameters(sorted(_modules().items()))
  def test_name_says_what_it_is(self, module, path):
    vague = {"utils", "util", "helpers", "misc", "common"}
    if module == "configs.common":
      return
    self.assertNotIn(module.split(".")[-1], vague)
    self.assertNotIn("import eval\n", path.read_text("utf-8"))


if __name__ == "__main__":
  absltest.main()
