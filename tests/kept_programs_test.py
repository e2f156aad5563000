"""Programs that a second process need not compile."""

import os
import pathlib
import tempfile

import pytest
from absl.testing import absltest
from PIL import Image

from tests import in_process, tiny_files

_PROGRAM = """
import jax, jax.numpy as jnp
from robust_tfds import kept_programs
jnp.zeros(3) + 1  # something was compiled before
kept_programs._MIN_SECONDS = 0
print(kept_programs.keep())
jax.jit(lambda x: jnp.sort(x) @ x.T)(jnp.ones((9, 9))).block_until_ready()
"""


class KeepTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(tempfile.mkdtemp())

  def _run(self, *arguments: str, **variables: str) -> str:
    lacking = ("JAX_COMPILATION_CACHE_DIR", "ROBUST_TFDS_CACHE")
    env = {k: v for k, v in os.environ.items() if k not in lacking}
    env |= {"XDG_CACHE_HOME": str(self.folder), **variables}
    done = in_process.python(*arguments or ("-c", _PROGRAM), env=env)
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    return done.stdout.strip()

  def _programs(self, folder: pathlib.Path) -> set[str]:
    return {p.name for p in folder.rglob("*-cache")}

  def test_in_the_users_cache_for_the_next_process(self):
    said = self._run()
    self.assertRegex(
      said, f"^compiled .* in {self.folder}/robust_tfds/programs/"
    )
    first = self._programs(self.folder)
    self.assertNotEmpty([name for name in first if "lambda" in name])
    self.assertEqual(self._run(), said)
    self.assertEqual(self._programs(self.folder), first)

  def test_corrupt_keeps_its_own(self):
    pictures = self.folder / "in"
    pictures.mkdir()
    Image.fromarray(tiny_files.noise(32, 32)).save(pictures / "a.png")
    arguments = ("--corruption=glass_blur", "--severity=1")
    said = self._run(
      *("-m", "robust_tfds.corrupt_folder", str(pictures)),
      *(str(self.folder / "out"), *arguments),
    )
    first, *_ = said.splitlines()
    self.assertRegex(
      first,
      f"^compiled programs are kept in {self.folder}/robust_tfds/programs/",
    )
    self.assertNotEmpty(self._programs(self.folder))

  def test_who_named_a_folder_keeps_it(self):
    named = pathlib.Path(tempfile.mkdtemp())
    options = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    self.assertEqual(
      self._run(JAX_COMPILATION_CACHE_DIR=str(named), **options), ""
    )
    self.assertNotEmpty(self._programs(named))
    self.assertEmpty(list(self.folder.iterdir()))

  @pytest.mark.slow
  def test_a_cache_that_cannot_be_written(self):
    file = self.folder / "file"
    file.touch()
    self.assertEqual(self._run(ROBUST_TFDS_CACHE=str(file)), "")
