"""One import name: in a clone, installed, and beside a user's own `models/`."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import zipfile

import pytest
from absl.testing import absltest

from tests import in_process

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
assert model.spec.num_classes == 7
"""
_MINE = """
from models import MINE
from robust_tfds.models.spec import Spec

class Model:
  name = "mine"
  spec = Spec(num_classes=7)
  def init(self, key): return {}
  def apply(self, variables, batch): return batch

def build():
  return Model()
"""


def _python(*arguments: str, cwd, path: str = "") -> str:
  environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
  if path:
    environment["PYTHONPATH"] = str(path)
  done = in_process.python(*arguments, cwd=cwd, env=environment)
  assert done.returncode == 0, done.stderr[-3000:]
  return done.stdout


class CloneTest(absltest.TestCase):
  def test_both_names_are_one_module(self):
    _python("-c", _SAME, cwd=_ROOT)

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
    out = _python(
      "-c", "import robust_tfds; print(len(robust_tfds.__path__))", cwd=site
    )
    self.assertEqual(out, "1\n")


class WheelTest(absltest.TestCase):
  """The wheel as pip makes it, unpacked; nothing is installed."""

  @pytest.mark.slow
  def test_it_holds_robust_tfds_alone(self):
    folder = pathlib.Path(tempfile.mkdtemp())
    source, site = folder / "source", folder / "site"
    shutil.copytree(
      _ROOT,
      source,
      symlinks=True,
      ignore=shutil.ignore_patterns(".git", ".venv", ".*_cache", "golden"),
    )
    _python(
      "-m",
      "pip",
      "wheel",
      "--quiet",
      "--no-deps",
      f"--wheel-dir={folder}",
      str(source),
      cwd=folder,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
      names = archive.namelist()
      archive.extractall(site)
    tops = {n.split("/")[0] for n in names if ".dist-info" not in n}
    self.assertEqual(tops, {"robust_tfds"})
    for name in (
      "robust_tfds/eval/main.py",
      "robust_tfds/eval/papers/baselines/alexnet.json",
      "robust_tfds/configs/quickstart.py",
      "robust_tfds/datasets/coco_c/README.md",
    ):
      self.assertIn(name, names)
    user = folder / "user"
    (user / "models").mkdir(parents=True)
    (user / "models" / "__init__.py").write_text("MINE = True\n")
    (user / "mine.py").write_text(_MINE)
    _python("-c", _OWN, cwd=user, path=str(site))
    out = _python(
      "-m",
      "robust_tfds.eval.main",
      f"--config={site}/robust_tfds/configs/quickstart.py",
      "--plan",
      cwd=user,
      path=str(site),
    )
    self.assertIn("192 cells", out)


class OwnModelsTest(absltest.TestCase):
  def test_beside_a_users_own_models(self):
    """An own `models/` comes first, as in any installed environment."""
    user = pathlib.Path(self.create_tempdir().full_path)
    (user / "models").mkdir()
    (user / "models" / "__init__.py").write_text("MINE = True\n")
    (user / "mine.py").write_text(_MINE)
    _python("-c", _OWN, cwd=user, path=str(_ROOT))
