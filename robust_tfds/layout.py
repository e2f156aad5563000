"""The places of our packages: four in a clone, in a wheel all in this one.

In a clone and an editable install `robust_tfds`, `eval`, `models` and `configs` are
ordinary packages that import each other by these names. A wheel brings one
top-level name: setup.py puts the three into it and rewrites what they import, so
`eval.main` of a clone is `robust_tfds.eval.main` there. Imports the standard library
alone; everybody may import it.
"""

import functools
import importlib
import importlib.util
import pathlib
import sys
import types

NAMES = ("eval", "models", "configs")
HERE = pathlib.Path(__file__).resolve().parent
_IN_WHEEL = (HERE / "eval" / "main.py").is_file()
_ROOT = HERE if _IN_WHEEL else HERE.parent


class ForeignPackageError(ImportError):
  """Another package of the same name hides ours."""


def folder(name: str) -> pathlib.Path:
  """Return the folder of one of `NAMES`."""
  return _ROOT / name


def folders() -> tuple[str, ...]:
  """Return the folders that hold the code of this project."""
  return (str(HERE), *(str(folder(name)) for name in NAMES))


def module(name: str) -> types.ModuleType:
  """Import a module of `eval`, `models` or `configs`, wherever they lie.

  Args:
    name: as in a clone, e.g. `eval.metrics`.

  Raises:
    ForeignPackageError: another package of that name is first on Python's path.
  """
  check()
  return importlib.import_module(f"{__package__}.{name}" * _IN_WHEEL or name)


def put_on_path() -> None:
  """Make the packages of a clone importable, behind what is on Python's path."""
  if str(HERE.parent) not in sys.path:
    sys.path.append(str(HERE.parent))


@functools.cache
def check() -> None:
  """Refuse other packages that hide ours; a wheel's cannot be hidden.

  Raises:
    ForeignPackageError: says which, and how both can be there.
  """
  for name in () if _IN_WHEEL else NAMES:
    place = _place(name)
    if place != _ROOT / name:
      got = f"got {place}" if place else "it is not on Python's path"
      raise ForeignPackageError(
        f"robust_tfds runs from its sources: expected the package {name!r} in"
        f" {_ROOT}, {got}. Install it as one package, which works beside any"
        f" code: `pip install .` in {_ROOT}."
      )


def _place(name: str) -> pathlib.Path | None:
  """Return the folder or file that `import name` loads, or has loaded."""
  loaded = sys.modules.get(name)
  spec = loaded.__spec__ if loaded else importlib.util.find_spec(name)
  if spec is None:
    return None
  places = [*(spec.submodule_search_locations or ()), spec.origin]
  return pathlib.Path(str(places[0])).resolve()
