"""Import every package that can be loaded in two orders: `python -m tests.first_imports`.

Loading a module loads the packages above it first, whose `__init__` files may import
it again. Such a circle works or fails by where a process enters it, and it is always
entered at its package, which loads the whole of it. So each package is imported as the
first of ours in a process of its own. Others' packages are imported before they fork.
"""

import importlib
import os
import sys
import traceback

from tools import import_graph

_OTHERS = ("etils.epath", "flax", "jax", "pydantic", "tensorflow_datasets")


def packages() -> list[str]:
  """Return the package of each circle of modules that load each other."""
  known = import_graph.files()
  edges = {}
  for module, path in known.items():
    text = (import_graph.ROOT / path).read_text("utf-8")
    names = import_graph.imports(text, top_level=True)
    loaded = {import_graph.module_of(name, known) for name in names} - {None}
    above = {name for m in (module, *loaded) if m for name in _above(m)}
    edges[module] = frozenset(known.keys() & above - {module})
  circles = import_graph.cycles(edges)
  first = [min(circle, key=len) for circle in circles]
  for package, circle in zip(first, circles):
    assert all(m.startswith(package) for m in circle), (package, circle)
  return first


def _above(module: str) -> list[str]:
  """Return a module's packages, and itself.

  >>> _above("a.b.c")
  ['a', 'a.b', 'a.b.c']
  """
  parts = module.split(".")
  return [".".join(parts[: i + 1]) for i in range(len(parts))]


def _imports(module: str) -> bool:
  """Return whether a new process can import a module before all others."""
  child = os.fork()
  if not child:
    try:
      importlib.import_module(module)
    except BaseException:
      print(f"{module}:\n{traceback.format_exc()}", flush=True)
      os._exit(1)
    os._exit(0)
  return os.waitpid(child, 0)[1] == 0


if __name__ == "__main__":
  for other in _OTHERS:
    importlib.import_module(other)
  assert not {*import_graph.PACKAGES} & {*sys.modules}
  names = packages()
  failed = [name for name in names if not _imports(name)]
  print(f"{len(names)} packages, {len(failed)} cannot be imported first")
  sys.exit(bool(failed))
