"""`robust-tfds new`: what it writes passes every check as it is."""

import ast
import contextlib
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest
from absl.testing import absltest, parameterized

from robust_tfds import errors, new
from tests import in_process

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_LONG = "a_name_of_24_characters"
_COPIED = ("robust_tfds", "eval", "models", "configs", "tools", "tests")
# Tests that look at all rows of the tables of conditions, or at all data sets.
_OF_ALL = (
  "tests/conditions_test.py",
  "tests/build_test.py",
  "tests/building/base_test.py",
  "tests/datasets/builders_test.py",
  "tests/corruptions/corruptions_test.py",
  "tests/corruptions/refusal_test.py",
  "tests/eval/tasks/tasks_test.py",
  "tests/eval/tasks/parts/headlines_test.py",
  "tests/eval/metrics/metrics_test.py",
  "tests/eval/metrics/answers_test.py",
  "tests/eval/run/dataset_config_test.py",
)


def _folder(*files: str) -> pathlib.Path:
  """Return a new folder with some of this project's files, or empty folders."""
  folder = pathlib.Path(tempfile.mkdtemp())
  for name in files:
    if (_ROOT / name).is_dir():
      (folder / name).mkdir()
    else:
      shutil.copy(_ROOT / name, folder)
  return folder


def _run(folder: pathlib.Path, *words: str) -> subprocess.CompletedProcess:
  """Run Python in a copy of this project."""
  return subprocess.run(
    [sys.executable, *words],
    cwd=folder,
    env={**os.environ, "PYTHONPATH": str(folder)},
    capture_output=True,
    text=True,
  )


class WriteTest(parameterized.TestCase):
  def test_style(self):
    folder = _folder("CONTRIBUTING.md", "pyproject.toml", "tests")
    for kind in new.KINDS:
      for name in ("a", _LONG):
        paths = new.write(kind, name, folder)
        self.assertTrue(paths[-1].name.endswith("_test.py"), paths)
    for command in (["check"], ["format", "--check"]):
      done = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "."],
        cwd=folder,
        capture_output=True,
        text=True,
      )
      self.assertEqual(done.returncode, 0, done.stdout)

  @parameterized.parameters(*new.KINDS)
  def test_the_contract_is_the_one_in_the_code(self, kind):
    text = next(iter(new.files(kind, "mine").values()))
    self.assertRegex(text, r"(?m)^# The contract \([a-z_/]+\.py\):\n#\n# [A-Z]")
    self.assertNotRegex(text, "CONTRACT|@")

  @parameterized.parameters(*new.KINDS)
  def test_names_of_modules_exist(self, kind):
    python = [
      t for p, t in new.files(kind, "mine").items() if p.endswith(".py")
    ]
    for tree in map(ast.parse, python):
      imports: dict[str, object] = {}
      for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
          exec(ast.unparse(node), imports)
      for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
          thing = imports.get(ast.unparse(node.value))
          known = not inspect.ismodule(thing) or hasattr(thing, node.attr)
          self.assertTrue(known, ast.unparse(node))

  def test_refusals(self):
    clone, other = _folder("CONTRIBUTING.md", "tests"), _folder()
    new.write("reader", "mine", clone)
    for kind, name, folder, words in (
      ("modell", "mine", clone, "Did you mean 'model'"),
      ("reader", "Mine", clone, "Got the name 'Mine', expected small letters"),
      ("reader", "../mine", clone, "expected small letters"),
      ("corruption", "mine_2", clone, "without a number at the end"),
      ("reader", "mine", clone, r"readers/mine.py already exists"),
      ("model", "mine", other, "lies in a clone of the repository"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        new.write(kind, name, folder)
    self.assertEmpty(list(other.iterdir()))

  def test_arguments(self):
    for words in ((), ("model",), ("model", "a", "b")):
      done = in_process.run(new, *words)
      self.assertIn("expected KIND NAME", done.stderr)

  def test_without_a_clone_a_corruption_is_one_file_to_register(self):
    folder = _folder()
    (path,) = new.write("corruption", "mine", folder)
    self.assertEqual(path, folder / "mine.py")
    done = in_process.python(
      "-c",
      "import sys, numpy as np\n"
      "from robust_tfds import corruptions\n"
      "name = corruptions.register(sys.argv[1])\n"
      "grey = np.full((32, 32, 3), 100, np.uint8)\n"
      "print(name, corruptions.corrupt(grey, name, 5, seed=0).max())",
      str(path),
    )
    self.assertEqual(done.stdout, "mine 124\n", done.stderr)


@pytest.mark.slow
class CloneTest(absltest.TestCase):
  """All kinds together in a copy of the project."""

  def test_everything_passes(self):
    folder = _folder("CONTRIBUTING.md", "pyproject.toml")
    for name in _COPIED:
      without = ["__pycache__", *["golden"] * (name == "tests")]
      ignored = shutil.ignore_patterns(*without)
      shutil.copytree(
        _ROOT / name, folder / name, symlinks=True, ignore=ignored
      )
    (folder / "tests" / "golden").symlink_to(_ROOT / "tests" / "golden")
    with contextlib.suppress(OSError):  # saves a minute if it is here
      shutil.copytree(_ROOT / ".mypy_cache", folder / ".mypy_cache")
    paths = [
      path
      for kind in new.KINDS
      for path in new.write(kind, f"mine_{kind}", folder)
    ]
    tests = [str(path) for path in paths if path.name.endswith("_test.py")]
    quietly = ("-q", "-n", "0", "-p", "no:cacheprovider")
    for words in (
      ("-m", "mypy"),
      ("-m", "pytest", *quietly, *tests, *_OF_ALL),
      ("-m", "tests.contracts"),
    ):
      done = _run(folder, *words)
      self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    table = folder / "tests" / "contracts.tsv"
    plugin = "robust_tfds/corruptions/image/mine_corruption.py"
    self.assertIn(f"\n{plugin}\t", table.read_text("utf-8"))
    # One whose pixels depend on what lies beside the picture.
    text, shift = (folder / plugin).read_text("utf-8"), 'scene.table["shift"]'
    self.assertIn(shift, text)
    spread = text.replace(shift, f"{shift} * (jnp.mean(levels) > 99)")
    (folder / plugin).write_text(spread, "utf-8")
    done = _run(folder, "-m", "tests.contracts")
    self.assertNotEqual(done.returncode, 0)
    self.assertRegex(done.stdout, r"FAILED .*padding")
