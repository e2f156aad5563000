"""A corruption of one's own: one plugin file and one row of the table.

In a copy of the project, so that nothing of it is left behind.
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

from robust_tfds.eval.cells import table

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
from tests import in_process

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
    raise AssertionError(process.stderr)
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
    self.assertEqual({r.metric for r in means if r.has_value}, {"clean_error"})
    (mce, _) = table.select(means, metric="mce")
    self.assertNotIn("invert", mce.note)
    self.assertIn("(70 of 75)", mce.note)
    page = (self.workdir / "reports" / "report.html").read_text()
    self.assertIn("invert", page)
    again, run = (f / "table.csv" for f in (self.scored, self.workdir))
    self.assertEqual(again.read_bytes(), run.read_bytes())

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
