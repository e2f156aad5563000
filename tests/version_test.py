"""The version has one home, which everybody reads."""

import pathlib
import re
import tomllib

from absl.testing import absltest

import robust_tfds
from eval.cells import provenance
from robust_tfds import version

_ROOT = pathlib.Path(__file__).resolve().parents[1]


class VersionTest(absltest.TestCase):
  def test_it_is_one(self):
    self.assertRegex(version.VERSION, r"^\d+\.\d+\.\d+")
    self.assertEqual(robust_tfds.__version__, version.VERSION)
    self.assertEqual(provenance.code_version(), version.VERSION)

  def test_the_package_takes_it_from_here(self):
    text = (_ROOT / "pyproject.toml").read_text("utf-8")
    self.assertIn("version", tomllib.loads(text)["project"]["dynamic"])
    self.assertRegex(text, r'attr = "robust_tfds\.version\.VERSION"')

  def test_the_changelog_and_the_citation_know_it(self):
    number = re.escape(version.VERSION)
    for file in ("CHANGELOG.md", "CITATION.cff"):
      self.assertRegex((_ROOT / file).read_text("utf-8"), rf"\b{number}\b")
