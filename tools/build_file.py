"""Writes the top-level BUILD file: a target for every Python file.

  python tools/build_file.py          # rewrites BUILD
  python tools/build_file.py --check  # fails if BUILD is out of date

`tests/build_test.py` runs the check.
"""

import ast
import pathlib
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_LIBRARIES = ("robust_tfds", "eval", "models", "configs", "tools", "benchmarks")
_LOCAL = (*_LIBRARIES, "tests")
_HEAD = """# Made by tools/build_file.py from the imports; do not edit.

load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

package(default_visibility = ["//visibility:public"])

licenses(["notice"])
"""


def _files() -> list[pathlib.Path]:
  return sorted(
    path.relative_to(_ROOT)
    for folder in _LOCAL
    for path in (_ROOT / folder).rglob("*.py")
    if "__pycache__" not in path.parts
  )


def _target(path: pathlib.Path) -> str:
  parts = path.with_suffix("").parts
  return "/".join(parts)


def _dependencies(path: pathlib.Path, known: set[str]) -> list[str]:
  found = set()
  for node in ast.walk(ast.parse((_ROOT / path).read_text("utf-8"))):
    if isinstance(node, ast.Import):
      names = [a.name for a in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
      names = [node.module]
      names += [f"{node.module}.{a.name}" for a in node.names]
    else:
      continue
    for name in names:
      stem = name.replace(".", "/")
      for target in (stem, f"{stem}/__init__"):
        if target in known:
          found.add(target)
  found.discard(_target(path))
  return sorted(found)


def _rule(path: pathlib.Path) -> str:
  if path.name.endswith("_test.py"):
    return "py_test"
  source = (_ROOT / path).read_text("utf-8")
  runs = '__name__ == "__main__"' in source or path.name == "__main__.py"
  return "py_binary" if runs else "py_library"


def text() -> str:
  """The BUILD file that fits the tree."""
  files = _files()
  known = {_target(p) for p in files}
  out = [_HEAD]
  for path in files:
    rule, target = _rule(path), _target(path)
    lines = [f"{rule}(", f'    name = "{target}",', f'    srcs = ["{path}"],']
    if rule != "py_library":
      lines.append(f'    main = "{path}",')
    dependencies = _dependencies(path, known)
    if dependencies:
      lines.append("    deps = [")
      lines += [f'        ":{d}",' for d in dependencies]
      lines.append("    ],")
    out.append("\n".join([*lines, ")"]) + "\n")
  return "\n".join(out)


def main() -> None:
  """Rewrites BUILD, or with --check compares it."""
  build = _ROOT / "BUILD"
  if "--check" in sys.argv[1:]:
    if not build.exists() or build.read_text("utf-8") != text():
      sys.exit("BUILD is out of date: run python tools/build_file.py")
  else:
    build.write_text(text(), "utf-8")


if __name__ == "__main__":
  main()
