"""Import every module as the first of ours in a process: `python -m tests.first_imports`.

A circle that lazy imports hide shows only in the process that enters it at the
wrong module. Others' packages are imported once, before the processes fork.
"""

import importlib
import os
import sys
import traceback

from tools import import_graph

_OTHERS = ("etils.epath", "flax", "jax", "pydantic", "tensorflow_datasets")


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
  for package in _OTHERS:
    importlib.import_module(package)
  assert not {*import_graph.PACKAGES} & {*sys.modules}
  modules = [m for m in import_graph.files() if not m.endswith("__main__")]
  failed = [module for module in modules if not _imports(module)]
  print(f"{len(modules)} modules, {len(failed)} cannot be imported first")
  sys.exit(bool(failed))
