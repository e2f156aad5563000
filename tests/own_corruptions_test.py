"""A corruption of one's own: a file that is registered.

In a process of its own, so that nothing is left behind.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest
from absl.testing import absltest

from eval import score
from tests import in_process, pages

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_PLUGIN = '''"""Invert: every level v becomes s / 5 of the way to 255 - v."""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import layout

GROUP = "digital"
_FIFTHS = (1, 2, 3, 4, 5)
SEVERITIES = {name: _FIFTHS for name in ("imagenet", "cifar10")}


def tables(edition: spec.Edition) -> plugins.Arrays:
  """`fifths`, int32 `[5]`."""
  return {"fifths": np.array(edition.row(SEVERITIES), np.int32)}


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Levels, int32 `[H, W * 3]`."""
  levels = layout.flat(scene.image).astype(jnp.int32)
  return levels + (255 - 2 * levels) * scene.table["fifths"] // 5


PLUGIN = plugins.Corruption(severities=SEVERITIES, tables=tables, apply=apply)
'''
_SCRIPT = """
import importlib
import json
import pathlib
import sys
import numpy as np
import tensorflow_datasets as tfds
from robust_tfds import corruptions, datasets, own_corruptions
from robust_tfds import evaluate
from models.training import named_conditions
from tests import in_process, pages

folder = pathlib.Path(sys.argv[1])

def refusal(function, *arguments, **options):
  try:
    function(*arguments, **options)
  except Exception as e:
    return str(e)

def predict(images):
  return np.asarray(images, np.float32).mean((1, 2, 3))[:, None] * np.arange(10)

def run(names, data="digits_c", **more):
  return evaluate(predict, data, conditions=names, limit=8, batch_size=8, **more)

def command(module, *arguments):
  done = in_process.run(importlib.import_module(module), *arguments)
  return done.stdout + done.stderr

register = corruptions.register
published = run("brightness").summary
refused = {
  file.stem: refusal(register, str(file))
  for file in sorted((folder / "bad").glob("*.py"))
}
refused["absent"] = refusal(register, "no_such_module")
register(folder / "imagenet_only.py")
refused["edition"] = refusal(run, "own")
names = [register(folder / "invert.py") for _ in range(2)]
for file in sorted((folder / "fails").glob("*.py")):
  name = register(file)
  refused[name] = refusal(run, name, workdir=folder / "fails" / name)
  assert not list((folder / "fails" / name).rglob("*.tfrecord*"))
refused["another"] = refusal(register, folder / "changed" / "invert.py")
ran = {"evaluate": lambda model, data, **options: run("fog,posterize")}
block = (folder / "page.py").read_text().replace("post", f"{folder}/post", 1)
exec(block, {"predict": predict, **ran}, ran)
result = run("brightness,invert,posterize", workdir=folder / "run")
refused["no_corruption"] = refusal(register, folder / "other/no_corruption.py")
flags = ["--config=invert_5", "--workers=2", f"--data_dir={folder}/data"]
built = command("robust_tfds.build", "digits_c", "--limit=4", *flags)
inverted = next(iter(tfds.as_numpy(tfds.load(
  "digits_c/invert_5", split="test", data_dir=f"{folder}/data/first_4"
))))
clean = next(iter(tfds.as_numpy(tfds.load(
  "digits_c", split="test", data_dir=f"{folder}/clean"
).filter(lambda x: x["example_id"] == inverted["example_id"]))))
aliases = [register(file) for file in sorted((folder / "alias").glob("*.py"))]
any_size = corruptions.corrupt(
  clean["image"][:20], "invert", 5, edition="any",
  key=corruptions.example_key(0, "digits_c", "invert", 5, "a"),
)
print(json.dumps({
  "names": names,
  "own": corruptions.names("own"),
  "others": corruptions.names("common") + corruptions.names("extra"),
  "configs": datasets.builder_class("digits_c").condition_names(),
  "refused": refused,
  "published": published,
  "summary": result.summary,
  "of_the_page": ran["result"].summary,
  "built": built,
  "sha256": own_corruptions.sha256("invert"),
  "called": {
    name: named_conditions.of_benchmarks([name]) for name in [*names[:1], *aliases]
  },
  "equal": [
    bool((inverted["image"] == 255 - clean["image"]).all()),
    bool((np.asarray(any_size) == 255 - clean["image"][:20]).all()),
  ],
}))
"""
_GROUP = 'GROUP = "weather"\n'
_SECTIONS = pages.sections("OWN_DATA.md")
_PAGE = [text for _, text in _SECTIONS["A corruption of your own"]]
_FILES = {
  "invert": _PLUGIN,
  "changed/invert": _PLUGIN.replace("(1, 2, 3, 4, 5)", "(5,) * 5"),
  "imagenet_only": _PLUGIN.replace(', "cifar10")', ",)"),
  "posterize": _PAGE[0],
  "page": _PAGE[1],
  "bad/fog": _PLUGIN,
  "bad/invert_2": _PLUGIN,
  "bad/no_group": _PLUGIN.replace("GROUP", "_GROUP"),
  "bad/no_plugin": 'GROUP = "noise"\n',
  "other/no_corruption": 'GROUP = "noise"\nPLUGIN = 3\n',
  "bad/wrong": "1 / 0\n",
  "bad/rotate": _PLUGIN,
  "alias/mist": "from robust_tfds.corruptions.image.fog import *\n" + _GROUP,
  "alias/lazy": "import importlib\nsnow = importlib.import_module(\n"
  '  "robust_tfds.corruptions.image.snow")\nPLUGIN = snow.PLUGIN\n' + _GROUP,
  "alias/lighter": (
    _ROOT / "robust_tfds/corruptions/image/brightness.py"
  ).read_text("utf-8")
  + _GROUP,
  "alias/composed": "import importlib\nPLUGIN = importlib.import_module(\n"
  '  "robust_tfds.corruptions.image.fr" + "ost").PLUGIN\n' + _GROUP,
  "alias/partly": "import dataclasses, functools, importlib\n"
  "mine = importlib.import_module(\n"
  '  "robust_tfds.corruptions.image.pix" + "elate").PLUGIN\n'
  "PLUGIN = dataclasses.replace(\n"
  "  mine, tables=None, apply=functools.partial(mine.apply))\n"
  "del mine\n" + _GROUP,
  "bad/freezing": _PLUGIN,
  "bad/exits": "import sys\nsys.exit(0)\n",
  **{
    f"fails/{name}": _PLUGIN.replace(
      "  return levels +", f"  {line}\n  levels +"
    )
    for name, line in {
      "nan": "return levels * jnp.nan",
      "shape": "return levels[1:]",
      "dtype": "return levels > 3",
      "nothing": "return None",
      "raises": "return levels + 1 / 0",
    }.items()
  },
  "fails/tables": _PLUGIN.replace("  return {", "  return 'no tables'\n  {"),
}


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


@pytest.mark.slow
class RegisterTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(tempfile.mkdtemp())
    for name, text in _FILES.items():
      file = cls.folder / f"{name}.py"
      file.parent.mkdir(exist_ok=True)
      file.write_text(text, "utf-8")
    said = run_in(_ROOT, "-c", _SCRIPT, str(cls.folder))
    cls.facts = json.loads(said.splitlines()[-1])

  def test_a_benchmarks_under_another_name(self):
    """What trains on one of them trains on the benchmark's."""
    named = {"mist": ["fog"], "lazy": ["snow"], "lighter": ["brightness"]}
    named |= {"composed": ["frost"], "partly": ["pixelate"]}
    self.assertEqual(self.facts["called"], {"invert": [], **named})

  def test_what_a_file_must_be_is_refused_in_words(self):
    for name, words in (
      ("fog", "fog.py: the name 'fog' is taken"),
      ("invert_2", "without a number at the end, got 'invert_2'"),
      ("no_group", "GROUP: got None, expected one of 'noise'"),
      ("no_plugin", "it must end in PLUGIN = plugins.Corruption"),
      ("no_corruption", "must end in PLUGIN = plugins.Corruption(...), got 3"),
      ("wrong", "wrong.py: it fails: ZeroDivisionError"),
      ("absent", "neither a module of one Python file"),
      ("another", "another invert"),
      ("rotate", "rotate.py: the name 'rotate' is taken"),
      ("freezing", "the name 'freezing' is taken"),
      ("exits", "exits.py: it fails: SystemExit"),
    ):
      self.assertIn(words, self.facts["refused"][name])

  def test_what_an_edition_lacks_is_said_before_data_are_prepared(self):
    self.assertStartsWith(
      self.facts["refused"]["edition"],
      "imagenet_only has severities for edition 'imagenet' alone; digits_c needs"
      " 'cifar10': add a row",
    )

  def test_one_that_fails_is_refused_by_name_before_data_are_prepared(self):
    for name, words in {
      "nan": "float32[32, 96] with values that are NaN, expected levels",
      "shape": "int32[31, 96], expected levels 0 to 255",
      "dtype": "bool[32, 96], expected",
      "nothing": "apply gave NoneType, expected",
      "raises": "ZeroDivisionError: division by zero (",
      "tables": "AttributeError: 'str' object has no attribute 'items'",
    }.items():
      said = self.facts["refused"][name]
      self.assertIn(f"{name}.py: {name} fails on a picture that was made", said)
      self.assertIn(words, said)

  def test_it_serves_runs_builds_and_tfds(self):
    self.assertEqual(self.facts["names"], ["invert"] * 2)
    own = ["imagenet_only", "invert", "posterize", "nan", "tables"]
    self.assertContainsSubset(own, self.facts["own"])
    self.assertContainsSubset(
      [f"invert_{severity}" for severity in range(1, 6)], self.facts["configs"]
    )
    self.assertIn("mean_error/posterize", self.facts["of_the_page"])
    # Made by two worker processes, which know the file too.
    self.assertIn("digits_c/invert_5/1.0.0: 4 test", self.facts["built"])
    self.assertEqual(self.facts["equal"], [True, True])

  def test_it_enters_no_published_mean(self):
    self.assertNoCommonElements(self.facts["own"], self.facts["others"])
    of_own = {f"mean_error/{name}" for name in ("invert", "posterize")}
    others = {k: v for k, v in self.facts["summary"].items() if k not in of_own}
    self.assertLen(others, len(self.facts["summary"]) - 2)
    self.assertEqual(others, self.facts["published"])

  def test_nobody_elses_file_is_run(self):
    for note in self.folder.glob("run/cells/**/provenance.json"):
      settings = json.loads(note.read_text("utf-8"))["data"]["settings"]
      own = settings.get("own_corruption")
      if "invert" in str(note.parent):
        self.assertEqual(own, self.facts["sha256"])
      of_own = any(name in str(note) for name in ("invert", "posterize"))
      self.assertEqual(own is not None, of_own, note)
    run = f"--predictions={self.folder}/run"
    out = self.folder / "again"
    done = in_process.run(score, run, f"--out={out}")
    words = r"(invert|posterize) is a corruption of its author's own"
    self.assertNotEqual(done.returncode, 0)
    self.assertRegex(done.stderr, words)
    self.assertIn("none is here", done.stderr)
    self.assertIn("--own_corruptions=", done.stderr)
    flags = "-m", "eval.score", run, f"--out={out}"
    own = [f"--own_corruptions={self.folder}/posterize.py"]
    with self.assertRaisesRegex(AssertionError, "another one is registered"):
      run_in(_ROOT, *flags, f"{own[0]},{self.folder}/changed/invert.py")
    said = run_in(_ROOT, *flags, f"{own[0]},{self.folder}/invert.py")
    self.assertRegex(said, r"(?m)^invert +\d+\.\d$")
