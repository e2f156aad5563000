"""The wheel: one import name, also beside somebody's own `models/`."""

import ast
import pathlib
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence

import pytest
from absl.testing import absltest, parameterized

import setup
from robust_tfds import command, version
from tests import in_process, installed
from tools import import_graph

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_MINE = """
from models import MINE
from robust_tfds.models.spec import Spec

class Model:
  name = "mine"
  spec = Spec(num_classes=10)
  def init(self, key): return {}
  def preprocess(self, batch): return batch
  def apply(self, variables, batch): return batch[:, 0, :10, 0]

def build():
  return Model()
"""


# Every module of the wheel, beside packages of other people.
_ALL = """
import importlib, pkgutil, sys
import robust_tfds
from robust_tfds import corruptions, evaluate, metrics, models, training
assert models is sys.modules["robust_tfds.models"]
assert metrics is sys.modules["robust_tfds.eval.metrics"]
place = "{site}/robust_tfds"
names = [m.name for m in pkgutil.walk_packages([place], "robust_tfds.")]
for name in names:
  module = importlib.import_module(name)
  assert module.__file__.startswith("{site}"), module
foreign = {{"eval", "models", "configs"}} & set(sys.modules)
assert not foreign, foreign
print(*names)
"""


_IMPORTING = {
  "PackageLoader",
  "__import__",
  "files",
  "find_spec",
  "import_module",
  "only_class",
  "run_module",
}


class RewrittenTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      "from eval.cells import table\n",
      "from robust_tfds.eval.cells import table\n",
    ),
    (
      "def f():\n  from models import (\n    a,\n  )\n",
      "def f():\n  from robust_tfds.models import (\n    a,\n  )\n",
    ),
    ("import models\n", "from robust_tfds import models\n"),
    (
      "import models as m  # why\n",
      "from robust_tfds import models as m  # why\n",
    ),
    (
      "if x:\n  import a; from eval import b\n",
      "if x:\n  import a; from robust_tfds.eval import b\n",
    ),
    *(
      (line, line)
      for line in (
        "from robust_tfds.eval import x\n",
        "from .models import x\n",
        "import torchvision.models as library\n",
        "from evaluation import x\nimport models_of_others\n",
        "TEXT = 'from eval import evaluate'\n",
      )
    ),
  )
  def test_imports(self, text, expected):
    self.assertEqual(setup.in_wheel(text), expected)

  @parameterized.parameters(
    "import eval.main", "import models.a as b", "import os, models"
  )
  def test_what_cannot_be_rewritten_is_refused(self, line):
    with self.assertRaisesRegex(
      ValueError, f"Line 2: got '{line}', expected from"
    ):
      setup.in_wheel(f"import a\n{line}\n")

  def test_no_module_is_named_by_a_text(self):
    """A text is not rewritten; `f"{configs.__name__}.x"` is right in both."""
    named = []
    for path in import_graph.files().values():
      text = (_ROOT / path).read_text("utf-8")
      setup.in_wheel(text)  # refuses what it cannot rewrite
      if not any(word in text for word in _IMPORTING):
        continue
      for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call) and _names_ours(call):
          named.append(f"{path}:{call.lineno}: {ast.unparse(call)}")
    self.assertEmpty(named)


def _names_ours(call: ast.Call) -> bool:
  """Whether a call imports, or looks for, a module of ours that a text names."""
  if (
    ast.unparse(call.func).rpartition(".")[2] not in _IMPORTING or not call.args
  ):
    return False
  text = ast.unparse(call.args[0]).lstrip("f").strip("\"'")
  return text.removeprefix("robust_tfds.").split(".")[0] in setup.TOP


class WheelTest(absltest.TestCase):
  """The wheel as pip makes it, in an environment beside somebody's own project."""

  @pytest.mark.slow
  def test_the_wheel(self):
    folder = pathlib.Path(tempfile.mkdtemp())
    wheel = _wheel(folder)
    with zipfile.ZipFile(wheel) as archive:
      names = archive.namelist()
      metadata = archive.read(next(n for n in names if n.endswith("METADATA")))
    tops = {n.split("/")[0] for n in names if ".dist-info" not in n}
    self.assertEqual(tops, {"robust_tfds"})
    for name in (
      "robust_tfds/py.typed",
      "robust_tfds/eval/main.py",
      "robust_tfds/eval/papers/baselines/alexnet.json",
      "robust_tfds/configs/quickstart.py",
      "robust_tfds/datasets/coco_c/README.md",
    ):
      self.assertIn(name, names)
    self._check_metadata(metadata.decode())
    self._check_installed(wheel, folder, names)

  def _check_metadata(self, text: str) -> None:
    for words in (
      f"Version: {version.VERSION}\n",
      "Classifier: Programming Language :: Python :: 3.13\n",
      "Project-URL: ",
      "Provides-Extra: cuda12\n",
    ):
      self.assertIn(words, text)
    self.assertNotRegex(text, r"Requires-Dist: tensorflow\S*$")  # but of extras
    # No link of README leads nowhere on a package index.
    self.assertNotRegex(text, r"\]\((?!https?:|#)")

  def _check_modules(
    self, python: pathlib.Path, user: pathlib.Path, names: Sequence[str]
  ) -> None:
    """All of them can be imported, and none takes a package of the user's."""
    (site,) = (python.parents[1] / "lib").glob("python*/site-packages")
    done = subprocess.run(
      [python, "-c", _ALL.format(site=site)],
      cwd=user,
      env=installed.clean(),
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertEqual(done.returncode, 0, done.stderr[-3000:])
    files = [n for n in names if n.endswith(".py")]
    modules = {n.removesuffix(".py").removesuffix("/__init__") for n in files}
    got = {name.replace(".", "/") for name in done.stdout.split()}
    self.assertEqual(modules, {"robust_tfds", *got})

  def _check_installed(
    self, wheel: pathlib.Path, folder: pathlib.Path, names: Sequence[str]
  ) -> None:
    """The script, in a folder with packages of the names that ours have."""
    python = installed.environment(wheel, folder / "environment")
    script = python.with_name("robust-tfds")
    user = folder / "user"
    for name in setup.TOP:
      (user / name).mkdir(parents=True)
      (user / name / "__init__.py").write_text("MINE = True\n")
    (user / "mine.py").write_text(_MINE)

    def said(*words: str) -> subprocess.CompletedProcess:
      return subprocess.run(
        [script, *words],
        cwd=user,
        env=installed.clean(),
        capture_output=True,
        text=True,
        check=False,
      )

    self._check_modules(python, user, names)
    self.assertEqual(said("--version").stdout, f"{command.VERSION}\n")
    own = ("--config=own_data:mine:build", "--config.data.name=tfds:digits")
    for words, expected in (
      (("run", "--list"), "\nquickstart[:DATASET"),
      (("run", "--config=quickstart", "--plan"), "x 2 models ="),
      (("run", *own, "--plan"), "clean: mine\n"),
    ):
      done = said(*words)
      self.assertEqual(done.returncode, 0, done.stderr[-3000:])
      self.assertIn(expected, done.stdout)
    done = said("run", "--config=configs/quickstart.py", "--plan")
    in_process.check_refused(self, done, "shipped config: --config=quickstart")


def _wheel(folder: pathlib.Path) -> pathlib.Path:
  """Builds the wheel from the sdist; the one of the sources is the same."""
  source = installed.source(folder)
  direct = installed.wheel(source, folder / "direct")
  shutil.rmtree(source / "build", ignore_errors=True)
  installed.python("-m", "build", f"--outdir={folder}", source, cwd=folder)
  (wheel,) = folder.glob("*.whl")
  contents = [
    {n: archive.read(n) for n in archive.namelist()}
    for archive in map(zipfile.ZipFile, (direct, wheel))
  ]
  assert contents[0] == contents[1], sorted(contents[0].keys() ^ contents[1])
  return wheel
