"""The imports between this repository's modules, at any depth of a file.

A public name of `robust_tfds` counts as the module that it is loaded from. What only
type checkers import (`if TYPE_CHECKING:`) does not count.
"""

import ast
import functools
import pathlib
from collections.abc import Iterator, Mapping

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = ("robust_tfds", "eval", "models", "configs")


@functools.cache
def files(folders: tuple[str, ...] = PACKAGES) -> Mapping[str, pathlib.Path]:
  """Return module -> file, relative to the repository."""
  out = {}
  for folder in folders:
    for path in sorted((ROOT / folder).rglob("*.py")):
      relative = path.relative_to(ROOT)
      parts = relative.with_suffix("").parts
      name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
      out[name] = relative
  return out


@functools.cache
def imports(source: str, *, top_level: bool = False) -> frozenset[str]:
  """Return the names that a file imports, `a.b` for both `import` statements.

  Args:
    source: Python text.
    top_level: leave out imports inside functions.
  """
  names = set()
  for node in _nodes(ast.parse(source), top_level):
    if isinstance(node, ast.Import):
      names |= {a.name for a in node.names}
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
      names |= {_real(f"{node.module}.{a.name}") for a in node.names}
  return frozenset(names)


def _real(name: str) -> str:
  """Return the module behind a public name: `robust_tfds.metrics` is `eval.metrics`."""
  package, _, public = name.partition(".")
  return public_names().get(public, name) if package == "robust_tfds" else name


@functools.cache
def public_names() -> Mapping[str, str]:
  """Return what `robust_tfds` loads when it is used: name -> module."""
  tree = ast.parse((ROOT / "robust_tfds/__init__.py").read_text("utf-8"))
  (table,) = (
    node.value
    for node in tree.body
    if isinstance(node, ast.Assign)
    and ast.unparse(node.targets[0]) == "_BESIDE"
  )
  names: Mapping[str, str] = ast.literal_eval(table)
  return names


def _nodes(tree: ast.AST, top_level: bool) -> Iterator[ast.AST]:
  for node in ast.iter_child_nodes(tree):
    if not isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
      continue  # no statement lies below
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
      continue
    if top_level and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
      continue
    yield node
    yield from _nodes(node, top_level)


def module_of(name: str, known: Mapping[str, object]) -> str | None:
  """Return the module of an imported name; None if it is not one of these."""
  if name in known:
    return name
  parent = name.rpartition(".")[0]
  return parent if parent in known else None


@functools.cache
def graph(
  folders: tuple[str, ...] = PACKAGES,
) -> Mapping[str, frozenset[str]]:
  """Return module -> the modules of these folders that it imports."""
  known = files(folders)
  out = {}
  for module, path in known.items():
    names = imports((ROOT / path).read_text("utf-8"))
    targets = {module_of(n, known) for n in names} - {None, module}
    out[module] = frozenset(t for t in targets if t)
  return out


def cycles(edges: Mapping[str, frozenset[str]]) -> list[list[str]]:
  """Return groups of nodes that reach each other, sorted."""
  reach = {node: reachable(node, edges) for node in edges}
  groups = {
    frozenset(m for m in reach[node] if node in reach[m])
    for node in edges
    if node in reach[node]
  }
  return sorted(sorted(group) for group in groups)


def reachable(start: str, edges: Mapping[str, frozenset[str]]) -> set[str]:
  """Return the nodes reachable from a node; itself only in a cycle."""
  seen: set[str] = set()
  waiting = list(edges[start])
  while waiting:
    node = waiting.pop()
    if node not in seen:
      seen.add(node)
      waiting += edges[node]
  return seen
