"""The package: imports, layout, version, records."""

import hashlib
import pathlib
import subprocess
import tomllib

from absl.testing import absltest, parameterized
from etils import epath

import robust_tfds
from eval.cells import provenance
from robust_tfds import errors, records, version
from tests import in_process, installed

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_REFUSED = """
from robust_tfds import corruptions, datasets  # have no name of the user's
try:
  from robust_tfds import {name}
except ImportError as e:
  print(e)
"""


class CloneTest(parameterized.TestCase):
  @parameterized.parameters(
    ("evaluate", "models/__init__.py"),
    ("models", "models.py"),
    ("training", "eval/__init__.py"),
  )
  def test_a_package_of_the_user_is_refused(self, name, file):
    """One that comes first on the path; a wheel's are not hidden (wheel_test)."""
    user = pathlib.Path(self.create_tempdir().full_path)
    (user / file).parent.mkdir(exist_ok=True)
    (user / file).write_text("")
    said = installed.python(
      "-c", _REFUSED.format(name=name), cwd=user, path=str(_ROOT)
    )
    top = file.split("/")[0].removesuffix(".py")
    self.assertIn(f"expected the package {top!r} in {_ROOT}, got {user}", said)
    self.assertIn(f"`pip install .` in {_ROOT}", said)

  def test_a_folder_of_other_files_hides_nothing(self):
    """As Python has it: one without `__init__.py` gives way to a package."""
    user = pathlib.Path(self.create_tempdir().full_path)
    (user / "models").mkdir()
    code = "from robust_tfds import models; models.get('digits_cnn')"
    installed.python("-c", code, cwd=user, path=str(_ROOT))

  def test_the_program_finds_its_own_first(self):
    """`robust-tfds` in a folder that has a `models/`: the clone's is run."""
    user = pathlib.Path(self.create_tempdir().full_path)
    (user / "models").mkdir()
    (user / "models/__init__.py").write_text("raise ImportError('foreign')")
    code = (
      "import sys; sys.path.remove(''); sys.argv = ['robust-tfds', 'run',"
      " '--list']; from robust_tfds.__main__ import main; main()"
    )
    said = installed.python("-c", code, cwd=user, path=str(_ROOT))
    self.assertIn("quickstart", said)

  def test_the_module_refuses_a_package_of_the_user(self):
    user = pathlib.Path(self.create_tempdir().full_path)
    (user / "configs").mkdir()
    (user / "configs/__init__.py").write_text("")
    done = in_process.program(
      "robust_tfds",
      "run",
      "--list",
      cwd=user,
      env=installed.clean() | {"PYTHONPATH": str(_ROOT)},
    )
    in_process.check_refused(self, done, "`pip install .`")

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


_CLONE = """
import pkgutil, sys
import robust_tfds
from robust_tfds import corruptions, evaluate, metrics, models, training
from eval.metrics import action
from models import spec
assert models is sys.modules["models"] and models.Spec is spec.Spec
assert evaluate is sys.modules["eval"].evaluate
assert metrics.action is action
assert training.augmix and corruptions.corrupt and robust_tfds.load
assert {"evaluate", "load"} < set(dir(robust_tfds))
assert len([*pkgutil.walk_packages(robust_tfds.__path__)]) < 1000
for name in ("robust_tfds.eval", "robust_tfds.robust_tfds"):
  try:
    __import__(name)
  except ImportError:
    continue
  raise AssertionError(name)
"""
# All else is loaded when it is used: 1.3 times TFDS's own import are the limit.
_LIGHT = """
import sys
import tensorflow_datasets
before = set(sys.modules)
import robust_tfds
print(*sorted(set(sys.modules) - before))
"""


class ImportTest(absltest.TestCase):
  """`import robust_tfds`: what it costs, and the public names behind it."""

  def test_it_loads_little_beside_tfds(self):
    loaded = installed.python("-c", _LIGHT, cwd=_ROOT).split()
    own = ("robust_tfds", "robust_tfds.layout", "robust_tfds.registration")
    self.assertEqual(loaded, [*own, "robust_tfds.version"])

  def test_public_names_are_the_packages(self):
    installed.python("-c", _CLONE, cwd=_ROOT)

  def test_importing_changes_no_signal(self):
    code = (
      "import signal, sys; sys.argv = ['robust-tfds'];"
      "before = signal.getsignal(signal.SIGINT); import robust_tfds;"
      "assert signal.getsignal(signal.SIGINT) is before"
    )
    installed.python("-c", code, cwd=_ROOT)

  def test_an_unknown_name_is_none(self):
    with self.assertRaisesRegex(ImportError, "cannot import name 'evaluation'"):
      from robust_tfds import evaluation  # noqa: F401


class VersionTest(absltest.TestCase):
  """The version has one home, which everybody reads."""

  def test_it_is_one(self):
    self.assertRegex(version.VERSION, r"^\d+\.\d+\.\d+")
    self.assertEqual(robust_tfds.__version__, version.VERSION)
    self.assertEqual(provenance.code_version(), version.VERSION)

  def test_the_package_takes_it_from_here(self):
    text = (_ROOT / "pyproject.toml").read_text("utf-8")
    self.assertIn("version", tomllib.loads(text)["project"]["dynamic"])
    self.assertRegex(text, r'attr = "robust_tfds\.version\.VERSION"')

  def test_the_changelog_and_the_citation_know_it(self):
    lines = {"CHANGELOG.md": "## {} ", "CITATION.cff": "version: {}\n"}
    for file, line in lines.items():
      text = (_ROOT / file).read_text("utf-8")
      self.assertIn(f"\n{line.format(version.VERSION)}", text)


class RecordsTest(absltest.TestCase):
  """Records, and the checksums of those that are signed."""

  def test_of_all_but_itself(self):
    want = hashlib.sha256(b'{"a":[1,2],"b":"x"}').hexdigest()
    fields = {"b": "x", "a": [1, 2]}
    self.assertEqual(records.checksum(fields), want)
    fields["checksum"] = want
    self.assertEqual(records.checksum(fields), want)
    records.check(epath.Path("f.json"), fields)
    fields["b"] = "y"
    with self.assertRaisesRegex(errors.UserError, r"^f\.json: checksum: .*"):
      records.check(epath.Path("f.json"), fields)
