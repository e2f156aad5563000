"""Runs mypy over the package as an installed one lies.

  python -m tools.check_types

`eval`, `models` and `configs` lie at the top of the repository and are modules of
`robust_tfds` (robust_tfds/__init__.py), which mypy cannot know: it is shown copies
of the files, where a wheel has them, under `.mypy_cache/`. Its arguments may
follow; it ends with mypy's exit status.
"""

import shutil
import subprocess
import sys

from tools import import_graph

_CACHE = import_graph.ROOT / ".mypy_cache"


def lay_out() -> None:
  """Copies what is to be checked; times stay, so that mypy's cache holds."""
  tree = _CACHE / "tree"
  shutil.rmtree(tree, ignore_errors=True)
  for path in import_graph.files().values():
    inside = path.parts[0] == "robust_tfds"
    target = tree / path if inside else tree / "robust_tfds" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(import_graph.ROOT / path, target)


def main(arguments: list[str]) -> int:
  """Checks; returns mypy's exit status."""
  lay_out()
  settings = f"--config-file={import_graph.ROOT / 'pyproject.toml'}"
  cache = f"--cache-dir={_CACHE}"
  return subprocess.run(
    [sys.executable, "-m", "mypy", settings, cache, *arguments],
    cwd=_CACHE / "tree",
    check=False,
  ).returncode


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
