"""The wheel as pip makes it, and an environment that has it installed."""

import os
import pathlib
import shutil
import sysconfig

from tests import in_process

_ROOT = pathlib.Path(__file__).resolve().parents[1]


def clean() -> dict[str, str]:
  """This process's variables without the clone on Python's path."""
  return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def python(*arguments: object, cwd: pathlib.Path, path: str = "") -> str:
  """What Python printed, outside the clone unless `path` says so."""
  environment = clean() | ({"PYTHONPATH": path} if path else {})
  done = in_process.python(*arguments, cwd=cwd, env=environment)
  assert done.returncode == 0, done.stderr[-3000:]
  return done.stdout


def source(folder: pathlib.Path) -> pathlib.Path:
  """The tree's copy in a folder: pip leaves its `build` there."""
  place = folder / "source"
  left_out = (".*", "build", "*.egg-info", "golden")
  ignored = shutil.ignore_patterns(*left_out)
  shutil.copytree(_ROOT, place, symlinks=True, ignore=ignored)
  return place


def wheel(source: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
  """The wheel of a tree, in a folder."""
  options = ("--quiet", "--no-deps", f"--wheel-dir={folder}")
  python("-m", "pip", "wheel", *options, source, cwd=source.parent)
  (made,) = folder.glob("*.whl")
  return made


def environment(wheel: pathlib.Path, place: pathlib.Path) -> pathlib.Path:
  """One with the wheel, and this one's packages; returns its Python."""
  folder = wheel.parent
  python("-m", "venv", "--without-pip", place, cwd=folder)
  (site,) = place.glob("lib/python*/site-packages")
  (site / "others.pth").write_text(sysconfig.get_path("purelib"))
  interpreter = place / "bin/python"
  pip = ("-m", "pip", "--python", interpreter, "install")
  python(*pip, "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
  return interpreter
