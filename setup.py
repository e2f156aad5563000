"""What is installed, and README for a package index; the rest: pyproject.toml."""

import pathlib
import re
import sys
import tomllib

import setuptools

# They lie at the top of the repository; a wheel has them inside robust_tfds.
TOP = ("eval", "models", "configs")
HERE = pathlib.Path(__file__).resolve().parent


def _packages(top: str) -> list[str]:
  return setuptools.find_namespace_packages(
    include=[top, f"{top}.*"], exclude=["*.dummy_data*"]
  )


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


project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
options = {
  "long_description": description(
    (HERE / "README.md").read_text("utf-8"),
    project["urls"].get("Repository", "").rstrip("/"),
  ),
  "long_description_content_type": "text/markdown",
}
packages = _packages("robust_tfds")
if "editable_wheel" in sys.argv:
  # As in a clone: robust_tfds/__init__.py finds them beside itself, and the short
  # names are importable too (robust_tfds/short_names.py).
  setuptools.setup(packages=[*packages, *TOP], **options)
else:
  packages += [f"robust_tfds.{p}" for top in TOP for p in _packages(top)]
  setuptools.setup(
    packages=packages,
    package_dir={f"robust_tfds.{top}": top for top in TOP},
    **options,
  )
