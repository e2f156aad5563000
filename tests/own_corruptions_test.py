"""A corruption of one's own: one plugin file and one row of the table, or a file
that is registered.

In a copy of the project or a process of its own, so that nothing is left behind.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest
from absl.testing import absltest

from robust_tfds.eval import score
from robust_tfds.eval.cells import table
from tests import in_process, pages

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_COPIED = ("robust_tfds", "eval", "models", "configs")
_PLUGIN = '''"""Invert: every level v becomes s / 5 of the way to 255 - v."""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import layout

_FIFTHS = (1, 2, 3, 4, 5)
SEVERITIES = {name: _FIFTHS for name in ("imagenet", "tiny_imagenet", "cifar10")}


def tables(edition: spec.Edition) -> plugins.Arrays:
  """`fifths`, int32 `[5]`."""
  return {"fifths": np.array(edition.row(SEVERITIES), np.int32)}


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Levels, int32 `[H, W * 3]`."""
  levels = layout.flat(scene.image).astype(jnp.int32)
  return levels + (255 - 2 * levels) * scene.table["fifths"] // 5


PLUGIN = plugins.Corruption(severities=SEVERITIES, tables=tables, apply=apply)
'''
# Tests that look at all rows of the tables.
_OF_ALL_ROWS = (
  "tests/conditions_test.py",
  "tests/build_test.py",
  "tests/building/base_test.py",
  "tests/datasets/datasets_test.py",
  "tests/corruptions/corruptions_test.py",
  "tests/corruptions/plugins_test.py",
  "tests/corruptions/refusal_test.py",
  "tests/eval/tasks/tasks_test.py",
  "tests/eval/tasks/parts/error_headlines_test.py",
  "tests/eval/tasks/parts/precision_headlines_test.py",
  "tests/eval/metrics/corruption_error_test.py",
  "tests/eval/metrics/detection/benchmark_test.py",
)
_LAST_ROW = '    Row("saturate", "digital", "extra"),\n'
_OWN_ROW = '    Row("invert", "digital", "own"),\n'
_SCRIPT = """
import importlib
import json
import sys
import numpy as np
from robust_tfds.eval.metrics import corruption_error
from robust_tfds import conditions
from robust_tfds import corruptions
from robust_tfds import datasets
from tests import in_process, pages

for module, *arguments in json.loads(sys.argv[1]):
  done = in_process.run(importlib.import_module(module), *arguments)
  assert done.returncode == 0, done.stderr
image = np.arange(32 * 32 * 3, dtype=np.uint8).reshape(32, 32, 3)
key = corruptions.example_key(0, "digits_c", "invert", 5, "a")
inverted = {
  edition: corruptions.corrupt(image, "invert", 5, edition=edition, key=key)
  for edition in ("cifar10", "any")
}
errors = {n: [0.5] * 5 for n in corruptions.names("common")}
baseline = {
  "errors": {n: [0.25] * 5 for n in corruptions.names("all")},
  "clean_error": 0.1,
}
with_own = {**errors, "invert": [1.0] * 5}
print(json.dumps({
  "all": corruptions.names("all"),
  "common": corruptions.names("common"),
  "extra": corruptions.names("extra"),
  "own": corruptions.names("own"),
  "inverted": {
    edition: bool((np.asarray(levels) == 255 - image).all())
    for edition, levels in inverted.items()
  },
  "parsed": str(conditions.parse("invert_3")),
  "configs": datasets.conditions("digits_c"),
  "without": corruption_error.summarize(errors, 0.1, baseline)["mce"],
  "with": corruption_error.summarize(with_own, 0.1, baseline)["mce"],
  "ce": corruption_error.summarize(with_own, 0.1, baseline)["ce"]["invert"],
}))
"""


def copy_with_plugin(folder: pathlib.Path) -> None:
  """Copies the project into a folder and adds the corruption `invert`."""
  for name in _COPIED:
    shutil.copytree(
      _ROOT / name,
      folder / name,
      symlinks=True,
      ignore=shutil.ignore_patterns("__pycache__"),
    )
  plugin = folder / "robust_tfds" / "corruptions" / "image" / "invert.py"
  plugin.write_text(_PLUGIN, "utf-8")
  rows = folder / "robust_tfds" / "conditions.py"
  text = rows.read_text("utf-8")
  assert text.count(_LAST_ROW) == 1, "the table of pictures ends otherwise now"
  rows.write_text(text.replace(_LAST_ROW, _LAST_ROW + _OWN_ROW), "utf-8")


def run_in(folder: pathlib.Path, *arguments: str) -> str:
  """What a Python process prints that imports the copy, not this project."""
  environment = {
    **os.environ,
    "PYTHONPATH": f"{folder}{os.pathsep}{_ROOT}",  # of which it takes `tests`
    "JAX_PLATFORMS": "cpu",
    "TF_CPP_MIN_LOG_LEVEL": "3",
  }
  process = subprocess.run(
    [sys.executable, *arguments],
    cwd=folder,
    env=environment,
    capture_output=True,
    text=True,
  )
  if process.returncode:
    raise AssertionError(process.stdout + process.stderr)
  return process.stdout


def _flags(workdir: pathlib.Path, selection: str, limit: int) -> list[str]:
  """Of a run of the evaluator's command in the copy, on some digits."""
  return [
    "--config=configs/quickstart.py",
    f"--workdir={workdir}",
    f"--config.data.corruptions={selection}",
    f"--config.data.limit={limit}",
    "--config.batch_size=16",
    "--config.models.digits_cnn.train.steps=5",
  ]


# Of a file that is registered: it says its group itself.
_REGISTERED = _PLUGIN.replace("_FIFTHS =", 'GROUP = "digital"\n_FIFTHS =')
_REGISTERING = """
import importlib
import json
import pathlib
import sys
import numpy as np
import tensorflow_datasets as tfds
from robust_tfds import corruptions, own_corruptions
from robust_tfds.eval import evaluate
from tests import in_process, pages

folder = pathlib.Path(sys.argv[1])

def refusal(function, *arguments, **options):
  try:
    function(*arguments, **options)
  except Exception as e:
    return str(e)

def predict(images):
  return np.asarray(images, np.float32).mean((1, 2, 3))[:, None] * np.arange(10)

def command(module, *arguments):
  done = in_process.run(importlib.import_module(module), *arguments)
  return done.stdout + done.stderr

register, options = corruptions.register, {"limit": 8, "batch_size": 8}
refused = {
  file.stem: refusal(register, str(file))
  for file in sorted((folder / "bad").glob("*.py"))
}
refused["absent"] = refusal(register, "no_such_module")
register(folder / "imagenet_only.py")
refused["edition"] = refusal(
  evaluate, predict, "digits_c", conditions="own", **options
)
names = [register(folder / "invert.py") for _ in range(2)]
names.append(register(folder / "posterize.py"))
refused["another"] = refusal(register, folder / "changed" / "invert.py")
result = evaluate(
  predict, "digits_c", conditions="invert,posterize", workdir=folder / "run", **options
)
flags = ["--config=invert_5", "--workers=2", f"--data_dir={folder}/data"]
built = command("robust_tfds.build", "digits_c", "--limit=4", *flags)
(folder / "in").mkdir()
inverted = next(iter(tfds.as_numpy(tfds.load(
  "digits_c/invert_5", split="test", data_dir=f"{folder}/data/first_4"
))))
clean = next(iter(tfds.as_numpy(tfds.load(
  "digits_c", split="test", data_dir=f"{folder}/clean"
).filter(lambda x: x["example_id"] == inverted["example_id"]))))
print(json.dumps({
  "names": names,
  "own": corruptions.names("own"),
  "refused": refused,
  "summary": result.summary,
  "built": built,
  "sha256": own_corruptions.sha256("invert"),
  "equal": bool((inverted["image"] == 255 - clean["image"]).all()),
}))
"""


def _of_the_docs() -> str:
  """The file that docs/OWN_DATA.md shows."""
  blocks = sum(pages.sections("OWN_DATA.md").values(), [])
  texts = {pages.file_name(text): text for _, text in blocks}
  return texts["posterize.py"]


class RegisterTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(tempfile.mkdtemp())
    for name, text in (
      ("invert", _REGISTERED),
      ("changed/invert", _REGISTERED.replace("(1, 2, 3, 4, 5)", "(5,) * 5")),
      (
        "imagenet_only",
        _REGISTERED.replace(', "tiny_imagenet", "cifar10")', ",)"),
      ),
      ("posterize", _of_the_docs()),
      ("bad/fog", _REGISTERED),
      ("bad/invert_2", _REGISTERED),
      ("bad/no_group", _PLUGIN),
      ("bad/no_plugin", 'GROUP = "noise"\n'),
      ("bad/wrong", "1 / 0\n"),
    ):
      file = cls.folder / f"{name}.py"
      file.parent.mkdir(exist_ok=True)
      file.write_text(text, "utf-8")
    said = run_in(_ROOT, "-c", _REGISTERING, str(cls.folder))
    cls.facts = json.loads(said.splitlines()[-1])

  def test_what_a_file_must_be_is_refused_in_words(self):
    for name, words in (
      ("fog", "fog.py: the name 'fog' is taken"),
      ("invert_2", "without a number at the end, got 'invert_2'"),
      ("no_group", "GROUP: got None, expected one of 'noise'"),
      ("no_plugin", "it must end in PLUGIN = plugins.Corruption"),
      ("wrong", "wrong.py: it fails: ZeroDivisionError"),
      ("absent", "neither a module of one Python file"),
      ("another", "another invert"),
    ):
      self.assertIn(words, self.facts["refused"][name])

  def test_what_an_edition_lacks_is_said_before_data_are_prepared(self):
    self.assertStartsWith(
      self.facts["refused"]["edition"],
      "imagenet_only has severities for edition 'imagenet' alone; digits_c needs"
      " 'cifar10': add a row",
    )

  def test_it_serves_runs_builds_and_tfds(self):
    self.assertEqual(self.facts["names"], ["invert"] * 2 + ["posterize"])
    own = ["imagenet_only", "invert", "posterize"]
    self.assertEqual(self.facts["own"], own)
    summary = self.facts["summary"]
    means = {f"mean_error/{name}" for name in own[1:]}
    self.assertEqual(set(summary), {"clean_error", *means})
    # Made by two worker processes, which know the file too.
    self.assertIn("digits_c/invert_5/1.0.0: 4 test", self.facts["built"])
    self.assertTrue(self.facts["equal"])

  def test_nobody_elses_file_is_run(self):
    for note in self.folder.glob("run/cells/**/provenance.json"):
      settings = json.loads(note.read_text("utf-8"))["data"]["settings"]
      own = settings.get("own_corruption")
      if "invert" in str(note.parent):
        self.assertEqual(own, self.facts["sha256"])
      self.assertEqual(own is None, "clean" in str(note.parent))
    run = f"--predictions={self.folder}/run"
    out = self.folder / "again"
    done = in_process.run(score, run, f"--out={out}")
    words = r"(invert|posterize) is a corruption of its author's own"
    self.assertNotEqual(done.returncode, 0)
    self.assertRegex(done.stderr, words)
    self.assertIn("none is here", done.stderr)
    self.assertIn("--own_corruptions=", done.stderr)
    flags = "-m", "robust_tfds.eval.score", run, f"--out={out}"
    own = [f"--own_corruptions={self.folder}/posterize.py"]
    with self.assertRaisesRegex(AssertionError, "another one is registered"):
      run_in(_ROOT, *flags, f"{own[0]},{self.folder}/changed/invert.py")
    said = run_in(_ROOT, *flags, f"{own[0]},{self.folder}/invert.py")
    self.assertRegex(said, r"(?m)^invert +\d+\.\d$")


class OwnCorruptionTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(tempfile.mkdtemp())
    copy_with_plugin(cls.folder)
    cls.data, cls.workdir, cls.scored = (
      cls.folder / name for name in ("data", "run", "scored")
    )
    commands = [
      ["robust_tfds.build", "digits_c", "--config=invert_3"]
      + ["--limit=4", f"--data_dir={cls.data}"],
      ["robust_tfds.eval.main", *_flags(cls.workdir, "own,brightness", 16)],
      ["robust_tfds.eval.score", f"--predictions={cls.workdir}"]
      + [f"--out={cls.scored}"],
    ]
    said = run_in(cls.folder, "-c", _SCRIPT, json.dumps(commands))
    cls.facts = json.loads(said.splitlines()[-1])

  def test_names(self):
    self.assertEqual(self.facts["own"], ["invert"])
    self.assertEqual(self.facts["all"][-1], "invert")
    self.assertLen(self.facts["all"], 20)
    self.assertNotIn("invert", self.facts["common"] + self.facts["extra"])

  def test_pixels_of_a_fixed_and_of_any_size(self):
    self.assertEqual(self.facts["inverted"], {"cifar10": True, "any": True})

  def test_configs_of_builders(self):
    for severity in range(1, 6):
      self.assertIn(f"invert_{severity}", self.facts["configs"])

  def test_no_published_mean(self):
    self.assertEqual(self.facts["with"], self.facts["without"])
    self.assertEqual(self.facts["ce"], 4.0)

  def test_builder_run_table_and_score(self):
    self.assertNotEmpty(list(self.data.glob("**/invert_3/**/*.tfrecord*")))
    rows = table.read(self.workdir / "table.csv")
    cells = table.select(rows, metric="error", corruption="invert")
    self.assertLen(cells, 10)  # five severities of two models
    self.assertNotEmpty(table.select(rows, metric="mean_error"))
    means = [r for r in rows if not r.corruption and not r.config]
    known = {"clean_error", "part_mean_corruption_error"}  # of brightness
    self.assertEqual({r.metric for r in means if r.has_value}, known)
    (mce, _) = table.select(means, metric="mce")
    self.assertNotIn("invert", mce.note)
    self.assertIn("(70 of 75)", mce.note)
    page = (self.workdir / "reports" / "report.html").read_text()
    self.assertIn("invert", page)
    again, run = (f / "table.csv" for f in (self.scored, self.workdir))
    self.assertEqual(again.read_bytes(), run.read_bytes())

  @pytest.mark.slow
  def test_the_projects_own_tests_pass_with_it(self):
    # A row of one edition, as most people's: what is of all is of the published.
    shutil.copytree(
      _ROOT / "tests",
      self.folder / "tests",
      ignore=shutil.ignore_patterns("__pycache__", "golden"),
    )
    (self.folder / "tests" / "golden").symlink_to(_ROOT / "tests" / "golden")
    shutil.copy(_ROOT / "pyproject.toml", self.folder)
    plugin = self.folder / "robust_tfds/corruptions/image/invert.py"
    one = _PLUGIN.replace(
      '"imagenet", "tiny_imagenet", "cifar10"', '"cifar10",'
    )
    plugin.write_text(one, "utf-8")
    self.addCleanup(plugin.write_text, _PLUGIN, "utf-8")
    said = run_in(self.folder, "-m", "pytest", "-q", "-n", "0", *_OF_ALL_ROWS)
    self.assertIn(" passed", said)
    contract = "tests/corruptions/image/image_test.py"
    own = ("-m", "slow or not slow", "-k", "invert or NamesTest")
    run_in(self.folder, "-m", "pytest", "-q", "-n", "0", contract, *own)

  @pytest.mark.slow
  def test_published_means_of_a_whole_run_leave_it_out(self):
    means = []
    for selection in ("all", "common,extra"):
      workdir = self.folder / selection
      run_in(self.folder, "-m", "eval.main", *_flags(workdir, selection, 128))
      rows = table.read(workdir / "table.csv")
      means.append(
        {
          (r.model, r.metric): r.value
          for r in rows
          if not r.corruption and not r.config
        }
      )
    every, published = means
    self.assertEqual(every, published)
    self.assertIn(("digits_cnn", "mce"), every)
