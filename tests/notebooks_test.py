"""The notebooks: their form, what they show, and each run from the wheel."""

import contextlib
import io
import json
import pathlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import pytest
from absl.testing import parameterized

from tests import in_folder, in_process, installed, pages
from tools import notebooks

_NAMES = sorted(path.name for path in notebooks.FOLDER.glob("*.ipynb"))
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_KEPT_KB = 300  # of one file


def _cells(path: pathlib.Path) -> list[Mapping[str, Any]]:
  return json.loads(path.read_text("utf-8"))["cells"]


def _code(cells: list[Mapping[str, Any]]) -> list[tuple[str, Mapping]]:
  return [("".join(c["source"]), c) for c in cells if c["cell_type"] == "code"]


def _shown(cells: list[Mapping[str, Any]]) -> Iterator[str]:
  """Printed text, and the kinds of what else is shown."""
  for _, cell in _code(cells):
    for output in cell["outputs"]:
      yield "".join(output.get("text", ""))
      yield " ".join(sorted(output.get("data", ())))


class FormTest(parameterized.TestCase):
  def test_what_there_is(self):
    self.assertContainsSubset(
      {f"{n}.ipynb" for n in ("quickstart", "own_model", "detection", "video")},
      _NAMES,
    )

  @parameterized.parameters(_NAMES)
  def test_begins_with_badge_and_install_cell(self, name):
    title, install, *_ = _cells(notebooks.FOLDER / name)
    self.assertStartsWith(
      "".join(title["source"]), notebooks.badge(name) + "\n"
    )
    pattern = re.escape(notebooks.INSTALL).replace(
      r"\{extra\}", r"(?:\[(\w+)\])?"
    )
    match = re.fullmatch(pattern, "".join(install["source"]))
    self.assertIsNotNone(match, "Write tools.notebooks.INSTALL.")
    text = (notebooks.ROOT / "pyproject.toml").read_text("utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    self.assertIn(match[1], {None, *extras})

  @parameterized.parameters(_NAMES)
  def test_public_names_and_no_place_of_one_machine(self, name):
    text = (notebooks.FOLDER / name).read_text("utf-8")
    self.assertNotRegex(text, r'"\s*(?:from|import) (?:eval|models|configs)\b')
    self.assertNotRegex(text, r"robust_tfds\.(?:eval|models|configs)\b")
    pictures = re.compile(r'"image/jpeg": "[^"]*"')
    self.assertNotRegex(
      pictures.sub("", text), r"(?<![\w.])/(?:content|home|root|tmp|work)\b"
    )

  @parameterized.parameters(_NAMES)
  def test_shows_a_picture_and_is_small(self, name):
    path = notebooks.FOLDER / name
    cells = _cells(path)
    counts = [cell["execution_count"] for _, cell in _code(cells)]
    self.assertEqual(
      counts, [*range(1, len(counts) + 1)], "python tools/notebooks.py"
    )
    self.assertIn("image/jpeg", " ".join(_shown(cells)))
    self.assertLess(path.stat().st_size, _KEPT_KB * 1024)

  @parameterized.parameters(
    ("", "/"), ("https://github.com/a/b/", "/a/b/blob/main/notebooks/x.ipynb")
  )
  def test_badge_leads_to_the_repository(self, repository, expected):
    project = {"project": {"urls": {"Repository": repository}}}
    with mock.patch.object(tomllib, "loads", return_value=project):
      self.assertIn(f"/github{expected})", notebooks.badge("x.ipynb"))


class RunTest(in_folder.TestCase):
  def test_own_data(self):
    printed = io.StringIO()
    with contextlib.chdir(self.root), contextlib.redirect_stdout(printed):
      names = pages.run_notebook("own_data.ipynb")
    self.assertEqual(names["result"].summary["clean_error"], 0)
    self.assertIn("mean over 6 of 75 cells", printed.getvalue())
    self.assertIn("blind/clean_error", names["both"].summary)


class WheelTest(in_folder.TestCase):
  """Each as a reader has it: the wheel, an empty folder, no clone."""

  @pytest.mark.slow
  def test_they_show_what_they_showed(self):
    wheel = installed.wheel(installed.source(self.root), self.root / "wheel")
    python = str(installed.environment(wheel, self.root / "environment"))
    listing = ("-m", "pip", "list", "--format=freeze")
    with mock.patch.object(in_process.sys, "executable", python):
      before = installed.python(*listing, cwd=self.root)
      installed.python(notebooks.__file__, f"--out={self.root}", cwd=self.root)
      after = installed.python(*listing, cwd=self.root)
    self.assertEqual(before, after)  # the install cells moved nothing
    for name in _NAMES:
      with self.subTest(name):
        self._check_shown(name)

  def _check_shown(self, name: str) -> None:
    new = "\n".join(_shown(_cells(self.root / name)))
    old = "\n".join(_shown(_cells(notebooks.FOLDER / name)))
    self.assertEqual(_NUMBER.sub("#", new), _NUMBER.sub("#", old))
    for ours, theirs in zip(_NUMBER.findall(new), _NUMBER.findall(old)):
      self.assertAlmostEqual(float(ours), float(theirs), delta=0.6)
