"""One import name: in a clone, installed, and beside a user's own `models/`."""

import pathlib
import shutil
import subprocess
import tempfile
import zipfile

import pytest
from absl.testing import absltest

from robust_tfds import command, version
from tests import in_process, installed

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_SAME = """
import models
from robust_tfds import models as long
assert models is long, (models, long)
import models.spec, robust_tfds.models.spec
assert models.spec is robust_tfds.models.spec
assert models.spec.__spec__.name == "robust_tfds.models.spec"
from eval.metrics import action
import robust_tfds.eval.metrics.action
assert action is robust_tfds.eval.metrics.action
from configs import quickstart
assert quickstart.__name__ == "robust_tfds.configs.quickstart"
"""
_OWN = """
from robust_tfds import models as ours
import models  # the user's
assert models.MINE, models
import mine
model = ours.get("mine:build")
assert model.spec.num_classes == 10
"""
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


class CloneTest(absltest.TestCase):
  @pytest.mark.slow
  def test_both_names_are_one_module(self):
    installed.python("-c", _SAME, cwd=_ROOT)

  def test_commands_run_by_both_names(self):
    # By the short one: tests/eval/run/config_flag_test.py.
    done = in_process.program("robust_tfds.eval.score", "--help")
    self.assertIn("--predictions", done.stdout + done.stderr)

  def test_the_tree_holds_no_link(self):
    """Windows and some archives make text files of them."""
    done = subprocess.run(
      ["git", "ls-files", "--stage"],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      check=False,
    )
    if done.returncode:
      self.skipTest("no git checkout")
    links = [x for x in done.stdout.splitlines() if x.startswith("120000")]
    self.assertEmpty(links)

  def test_an_installed_package_looks_inside_itself_alone(self):
    """Whatever lies beside it: site-packages may have an `eval` of others."""
    site = pathlib.Path(tempfile.mkdtemp())
    for name in ("robust_tfds", "robust_tfds/eval", "eval"):
      (site / name).mkdir()
    shutil.copy(_ROOT / "robust_tfds/__init__.py", site / "robust_tfds")
    for name in ("datasets", "version"):
      (site / "robust_tfds" / f"{name}.py").write_text(
        "VERSION = load = ''\nregister = str\n"
      )
    (site / "eval/main.py").write_text("")
    out = installed.python(
      "-c", "import robust_tfds; print(len(robust_tfds.__path__))", cwd=site
    )
    self.assertEqual(out, "1\n")


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
    self._check_installed(wheel, folder)

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

  def _check_installed(self, wheel: pathlib.Path, folder: pathlib.Path) -> None:
    """The script, in a folder with packages of the names that ours have."""
    python = installed.environment(wheel, folder / "environment")
    script = python.with_name("robust-tfds")
    user = folder / "user"
    for name in ("models", "eval", "configs"):
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


class VersionTest(absltest.TestCase):
  def test_the_citation_is_of_this_version(self):
    text = (_ROOT / "CITATION.cff").read_text("utf-8")
    self.assertIn(f"\nversion: {version.VERSION}\n", text)
    text = (_ROOT / "CHANGELOG.md").read_text("utf-8")
    self.assertIn(f"\n## {version.VERSION} ", text)


class OwnModelsTest(absltest.TestCase):
  def test_beside_a_users_own_models(self):
    """An own `models/` comes first, as in any installed environment."""
    user = pathlib.Path(self.create_tempdir().full_path)
    (user / "models").mkdir()
    (user / "models" / "__init__.py").write_text("MINE = True\n")
    (user / "mine.py").write_text(_MINE)
    installed.python("-c", _OWN, cwd=user, path=str(_ROOT))
