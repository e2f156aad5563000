"""A clone beside somebody's packages of the same names: what hides, what is refused."""

import pathlib
import subprocess

from absl.testing import absltest, parameterized

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


if __name__ == "__main__":
  absltest.main()
