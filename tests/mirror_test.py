"""Tests mirror the tree: a file's test has the file's name and place.

`eval/run/plan.py` is tested by `tests/eval/run/plan_test.py`, and
`robust_tfds/errors.py` by `tests/errors_test.py`; the code of a folder's
`__init__.py` by a test of the folder's name in its mirror. Where all files of a
folder do one thing, as the corruptions of images do, one contract test runs over
them instead: its cases name them. The campaigns, of bad inputs and of intervals,
mirror nothing.
"""

import ast
import functools
import importlib
import pathlib
import re
import unittest
from collections.abc import Iterator, Mapping

from absl.testing import absltest

from models import family
from tools import import_graph

_TESTS = "tests"
# Of no file alone: bad inputs at every public door, intervals of every task.
_CAMPAIGNS = ("tests/faults", "tests/eval/coverage")
_CODE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Folder whose files are plugins of one kind -> the test that runs over them.
_CONTRACTS = {
  "configs": "tests/configs_test.py",
  "eval/report/figures/hendrycks": (
    "tests/eval/report/figures/figures_test.py"
  ),
  "eval/report/figures/parts": "tests/eval/report/figures/figures_test.py",
  "eval/report/figures/michaelis": (
    "tests/eval/report/figures/figures_test.py"
  ),
  "eval/report/figures/schiappa": ("tests/eval/report/figures/figures_test.py"),
  "eval/report/figures/shankar": ("tests/eval/report/figures/figures_test.py"),
  "eval/report/figures/taori": "tests/eval/report/figures/figures_test.py",
  "eval/report/reports/classification": "tests/eval/report/reports/reports_test.py",
  "eval/report/reports/detection": "tests/eval/report/reports/reports_test.py",
  "eval/report/reports/every_task": "tests/eval/report/reports/reports_test.py",
  "eval/report/reports/frame_detection": (
    "tests/eval/report/reports/reports_test.py"
  ),
  "eval/report/reports/frames": "tests/eval/report/reports/reports_test.py",
  "eval/report/reports/sequences": "tests/eval/report/reports/reports_test.py",
  "eval/report/reports/subtypes": "tests/eval/report/reports/reports_test.py",
  "eval/report/reports/video": "tests/eval/report/reports/reports_test.py",
  "eval/metrics/definitions": (
    "tests/eval/metrics/definitions/definitions_test.py"
  ),
  "models/adapters": "tests/models/adapters/adapters_test.py",
  "models/adapters/onnx_graph/operators": (
    "tests/models/adapters/onnx_graph/operators/operators_test.py"
  ),
  "models/classification": "tests/models/catalogue_test.py",
  "models/detection": "tests/models/catalogue_test.py",
  "models/training/recipes": "tests/models/training/recipes/recipes_test.py",
  "models/enhancements": "tests/models/enhancements/enhancements_test.py",
  "models/video": "tests/models/catalogue_test.py",
  "robust_tfds/corruptions/image": "tests/corruptions/image/image_test.py",
  "robust_tfds/corruptions/sequence": (
    "tests/corruptions/sequence/sequence_test.py"
  ),
  "robust_tfds/corruptions/video": "tests/corruptions/video/video_test.py",
}
# Every folder of a data set holds a builder; this test runs over them.
_BUILDERS = "tests/building/base_test.py"


def _mirror(path: pathlib.Path) -> pathlib.Path:
  """Where a folder has its tests; `tests` mirrors what `robust_tfds` holds."""
  parts = path.parts[1:] if path.parts[0] == "robust_tfds" else path.parts
  return pathlib.Path(_TESTS, *parts)


def _test_of(path: pathlib.Path) -> pathlib.Path:
  """The test that has a file's name and place."""
  folder = _mirror(path.parent)
  if path.name == "__init__.py":
    return folder / f"{path.parent.name}_test.py"
  return folder / f"{path.stem.strip('_')}_test.py"


def _files() -> list[pathlib.Path]:
  """Files that need a test; of the `__init__.py` those with code of their own."""
  out = []
  for path in import_graph.files().values():
    text = (import_graph.ROOT / path).read_text("utf-8")
    code = any(isinstance(node, _CODE) for node in ast.parse(text).body)
    if code or path.name != "__init__.py":
      out.append(path)
  return out


def _exists(path: pathlib.Path) -> bool:
  return (import_graph.ROOT / path).exists()


def _case_names(suite: unittest.TestSuite) -> Iterator[str]:
  for test in suite:
    if isinstance(test, unittest.TestSuite):
      yield from _case_names(test)
    else:
      yield test.id()


@functools.cache
def _named(test: str) -> frozenset[str]:
  """What the parameters of a file's cases name: `fog` of `test_x0 ('fog')`.

  Of names with a detail (`imagenet_c:resnet50`) what stands before it.
  """
  module = importlib.import_module(test.removesuffix(".py").replace("/", "."))
  suite = unittest.defaultTestLoader.loadTestsFromModule(module)
  text = "\n".join(_case_names(suite))
  return frozenset(re.findall(r"'(\w+)[':]", text))


def _in_contract(path: pathlib.Path) -> bool:
  """Whether a contract test runs over the file."""
  name = path.stem
  if name.endswith("_dataset_builder"):
    return path.parent.name in _named(_BUILDERS)
  test = _CONTRACTS.get(path.parent.as_posix())
  if test is None:
    return False
  if path.parts[0] == "models":
    return bool({name, *_models_of(path)} & _named(test))
  if path.parent.parent.as_posix() == "eval/report/reports":
    name = _task_of(path)  # the test writes every report of a task
  if path.parent.parent.as_posix() == "eval/report/figures":
    kind = path.parent.name == "parts"
    name = name if kind else f"{path.parent.name}_{name}"
  return name in _named(test)


def _models_of(path: pathlib.Path) -> Mapping[str, object]:
  """Names of the models of a file's family; none of layers that they share."""
  name = ".".join(path.with_suffix("").parts)
  member = vars(importlib.import_module(name)).get("FAMILY")
  return member.variants if isinstance(member, family.Family) else {}


def _task_of(path: pathlib.Path) -> str:
  """A task that has the report; empty where the registry does not know it."""
  from eval.report import reports

  folder = path.parent.name
  task = "classification" if folder == "every_task" else folder
  module = ".".join(path.with_suffix("").parts)
  known = {type(report).__module__ for report in reports.of_task(task)}
  return task if module in known else ""


class MirrorTest(absltest.TestCase):
  def test_tests_lie_beside_what_exists(self):
    mirrors = {_mirror(path.parent) for path in import_graph.files().values()}
    mirrors |= {pathlib.Path(path) for path in (_TESTS, *_CAMPAIGNS)}
    for path in (import_graph.ROOT / _TESTS).rglob("*_test.py"):
      folder = path.relative_to(import_graph.ROOT).parent
      self.assertIn(folder, mirrors, f"{path.name} tests a folder that is gone")

  def test_every_file_has_its_test(self):
    offenders = [
      f"{path}: write {_test_of(path)}"
      for path in _files()
      if not _exists(_test_of(path)) and not _in_contract(path)
    ]
    self.assertEmpty(offenders, "\n".join(offenders))

  def test_contracts_are_of_folders_and_tests_that_exist(self):
    for folder, test in (*_CONTRACTS.items(), ("robust_tfds", _BUILDERS)):
      self.assertTrue(_exists(pathlib.Path(folder)), folder)
      self.assertTrue(_exists(pathlib.Path(test)), test)

  def test_a_plugin_without_a_case_is_seen(self):
    folder = pathlib.Path("robust_tfds/corruptions/image")
    self.assertTrue(_in_contract(folder / "fog.py"))
    self.assertFalse(_in_contract(folder / "invert.py"))
    self.assertFalse(_in_contract(pathlib.Path("eval/run/plan.py")))

  def test_places(self):
    for path, test in (
      ("robust_tfds/errors.py", "tests/errors_test.py"),
      ("robust_tfds/coco/rle.py", "tests/coco/rle_test.py"),
      ("eval/readers/__init__.py", "tests/eval/readers/readers_test.py"),
      ("models/convert/__main__.py", "tests/models/convert/main_test.py"),
    ):
      self.assertEqual(_test_of(pathlib.Path(path)).as_posix(), test)
