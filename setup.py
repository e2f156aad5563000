"""What is installed, and README for a package index; the rest: pyproject.toml."""

import ast
import pathlib
import re
import sys
import tomllib

import setuptools
from setuptools.command import build_py

# Packages that lie beside robust_tfds; a wheel, of one top-level name, has them inside.
TOP = ("eval", "models", "configs")
HERE = pathlib.Path(__file__).resolve().parent


def in_wheel(text: str) -> str:
  """Return a file of ours as a wheel has it: `eval.x` is `robust_tfds.eval.x` there.

  Raises:
    ValueError: an import that cannot be rewritten; says what to write.
  """
  lines = text.splitlines(keepends=True)
  for node in ast.walk(ast.parse(text)):
    if isinstance(node, ast.ImportFrom) and not node.level:
      old, new, names = "from ", "from robust_tfds.", [str(node.module)]
    elif isinstance(node, ast.Import):
      old, new, names = "import ", "from robust_tfds import ", _names(node)
    else:
      continue
    if not any(name.split(".")[0] in TOP for name in names):
      continue
    if old == "import " and (len(names) > 1 or "." in names[0]):
      line = ast.unparse(node)
      raise ValueError(
        f"Line {node.lineno}: got {line!r}, expected from ... import."
      )
    line, start = lines[node.lineno - 1], node.col_offset
    lines[node.lineno - 1] = line[:start] + line[start:].replace(old, new, 1)
  return "".join(lines)


def _names(node: ast.Import) -> list[str]:
  return [alias.name for alias in node.names]


class BuildPy(build_py.build_py):
  """Copies the files of a wheel, and rewrites what they import from each other."""

  def build_module(self, module, module_file, package):  # noqa: D102
    copied = super().build_module(module, module_file, package)
    path = pathlib.Path(copied[0])
    path.write_text(in_wheel(path.read_text("utf-8")), "utf-8")
    return copied


def description(text: str, repository: str) -> str:
  """README with links that work outside the repository.

  Args:
    text: Markdown.
    repository: its address; empty: links become words, pictures their titles.
  """

  def link(found: re.Match) -> str:
    picture, words, place = found.groups()
    if repository:
      kind = "raw" if picture else "blob"
      return f"{picture}[{words}]({repository}/{kind}/main/{place})"
    return words if words.strip("`") == place else f"{words} ({place})"

  return re.sub(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)", link, text)


def _packages(top: str) -> list[str]:
  return setuptools.find_namespace_packages(
    include=[top, f"{top}.*"], exclude=["*.dummy_data*"]
  )


def main() -> None:
  """Installs; an editable install leaves the packages side by side, as a clone."""
  text = (HERE / "pyproject.toml").read_text("utf-8")
  urls = tomllib.loads(text)["project"]["urls"]
  options = {
    "long_description": description(
      (HERE / "README.md").read_text("utf-8"),
      urls.get("Repository", "").rstrip("/"),
    ),
    "long_description_content_type": "text/markdown",
  }
  packages = _packages("robust_tfds")
  if "editable_wheel" in sys.argv:
    beside = [p for top in TOP for p in _packages(top)]
    setuptools.setup(packages=[*packages, *beside], **options)
    return
  packages += [f"robust_tfds.{p}" for top in TOP for p in _packages(top)]
  setuptools.setup(
    packages=packages,
    package_dir={f"robust_tfds.{top}": top for top in TOP},
    cmdclass={"build_py": BuildPy},
    **options,
  )


if __name__ == "__main__":
  main()
