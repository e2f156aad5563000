"""Which cases of plugins' contracts are in the fast suite."""

import pathlib
import tempfile
from unittest import mock

from absl.testing import absltest

from tests import contracts

_CODE = '''"""Docstring."""

import os


def f(x):
  """Return x."""
  return "# no comment" + x  # a comment
'''


class DigestTest(absltest.TestCase):
  def test_comments_and_docstrings_are_no_code(self):
    prose = _CODE.replace("Return", "Give").replace("a comment", "another")
    self.assertEqual(contracts.code(prose), contracts.code(_CODE))
    for old, new in (("# no", "no"), ("+ x", "* x"), ("os", "sys")):
      changed = _CODE.replace(old, new)
      self.assertNotEqual(contracts.code(changed), contracts.code(_CODE))

  def test_a_folder_is_all_its_code(self):
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "a.py").write_text(_CODE)
    one = contracts.digest(folder)
    (folder / "README.md").write_text("words")
    self.assertEqual(contracts.digest(folder), one)
    (folder / "b.py").write_text(_CODE)
    self.assertNotEqual(contracts.digest(folder), one)


def _test(self, name):
  pass


class CasesTest(absltest.TestCase):
  def _marks(self, quick=()) -> dict[str, list[str]]:
    listed = {"old": contracts.digest("old"), "changed": "of before"}
    seen: dict[str, list[str]] = {}
    with (
      mock.patch.object(contracts, "table", lambda: listed),
      mock.patch.dict(contracts._digests),
    ):
      decorate = contracts.cases(["old", "changed", "new"], str, quick)
      for name, case in zip(("old", "changed", "new"), decorate(_test)):
        marks = getattr(case, "pytestmark", [])
        seen[name] = [mark.name for mark in marks]
    return seen

  def test_what_is_new_or_changed_is_fast(self):
    marks = {"old": ["slow"], "changed": ["contract"], "new": ["contract"]}
    self.assertEqual(self._marks(), marks)

  def test_quick_cases_are_never_slow(self):
    marks = {"old": [], "changed": ["contract"], "new": ["contract"]}
    self.assertEqual(self._marks(quick=["old", "new"]), marks)
