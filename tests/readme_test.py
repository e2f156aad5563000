"""Every block of README.md, as who copies it has it."""

import contextlib
import io
import os
import pathlib
import re
import shlex
import sys
import types
from unittest import mock

import numpy as np
from PIL import Image

import robust_tfds
from eval import main as main_lib
from models import adapters
from robust_tfds import corrupt_folder
from tests import in_folder, in_process, pages
from tests.user_data import made
from tools import fidelity_page

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_TEXT = (_ROOT / "README.md").read_text("utf-8")
_BLOCKS = pages.blocks(_TEXT)
_NUMBER = re.compile(r"\d+\.\d+")


def _block(words: str, language: str = "python") -> str:
  """The one block that holds these words."""
  (text,) = [t for name, t in _BLOCKS if name == language and words in t]
  return text


def _command(text: str) -> list[str]:
  """The words of a block that is one command."""
  return shlex.split(text.replace("\\\n", " "))


class ReadmeTest(in_folder.TestCase):
  def test_150_lines_begin_with_the_two_commands(self):
    self.assertLessEqual(_TEXT.count("\n"), 150)
    first, second = [text for name, text in _BLOCKS if name == "bash"][:2]
    self.assertIn("-m eval.main --config=configs/quickstart.py", first)
    marked = re.search(
      "<!-- ci:begin -->(.*?)<!-- ci:end -->", _TEXT, re.DOTALL
    )
    self.assertIn(second, marked[1])
    self.assertLen(_BLOCKS, 9)  # each has a test below

  def test_quickstart(self):
    _, _, command = _block("quickstart.py", "bash").rpartition("&& ")
    config, workdir = _command(command)[3:]
    with contextlib.chdir(_ROOT):
      done = in_process.run(main_lib, config, workdir, "--plan")
    self.assertEqual(done.returncode, 0, done.stderr)
    for model in ("signs_cnn: ", "signs_linear: "):
      self.assertIn(f"\n{model}", _block("ETA", "text"))

  def test_a_function(self):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
      exec(_block("predict_log_proba"), {})
    got = printed.getvalue()
    got = got[got.index("predict: ") :].strip()
    expected = _block("not measured", "text").strip()
    self.assertEqual(_NUMBER.sub("#", got), _NUMBER.sub("#", expected))
    for ours, theirs in zip(_NUMBER.findall(got), _NUMBER.findall(expected)):
      self.assertAlmostEqual(float(ours), float(theirs), delta=0.6)

  def test_why_believe_it(self):
    """What it says of fidelity is what docs/FIDELITY.md says."""
    parities = {kind: numbers for kind, *numbers in fidelity_page._parities()}
    counts = fidelity_page._counts()
    of = {kind: numbers[0] for kind, numbers in parities.items()}
    text = " ".join(_TEXT.split())
    for words in (
      f"{fidelity_page._rate()} printed detection numbers, each counted once,",
      f"{of['classification']} classifiers, {of['detection']} detectors,"
      f" {of['segmentation']} segmenters and {of['video']} video networks were"
      " compared with the original modules",
      f"{counts['small_count']} of them as miniatures",
      f"classifiers' logits are within {parities['classification'][1]}.",
    ):
      self.assertIn(words, text)

  def test_torch_and_a_name(self):
    """Names and arguments are real; weights and photographs are not here."""
    evaluate = mock.create_autospec(robust_tfds.evaluate)
    adapt = mock.create_autospec(adapters.get("torch"))
    torchvision = types.SimpleNamespace(models=mock.MagicMock())
    with (
      mock.patch.dict(sys.modules, torchvision=torchvision),
      mock.patch.object(robust_tfds, "evaluate", evaluate),
      mock.patch.object(adapters, "get", lambda kind: {"torch": adapt}[kind]),
      contextlib.redirect_stdout(io.StringIO()),
    ):
      exec(_block("torchvision.models"), {})
    spec = adapt.call_args.args[1]
    self.assertEqual((spec.input_px, spec.num_classes), (224, 1000))
    names = [call.args[0] for call in evaluate.call_args_list]
    self.assertEqual(names[1:], ["resnet50"])

  def test_pictures_of_ones_own(self):
    made.folder(self.root / "pets", classes=("cat", "dog", "owl"))
    results = []

    def few(model, data, **options):
      few = {"conditions": "fog", "severities": (3,), "size": 32}
      results.append(robust_tfds.evaluate(model, data, **few, **options))

    names = dict.fromkeys(("predict", "net1", "net2"), made.Seen(3))
    text = _block("folder:").replace("/data/pets", str(self.root / "pets"))
    with contextlib.redirect_stdout(io.StringIO()):
      exec(text, {**names, "evaluate": few})
    self.assertLen(results, 2)

  def test_a_plan_says_what_lacks(self):
    _, name, *arguments = _command(_block("--plan", "bash"))
    self.assertEqual(name, "run")
    done = in_process.run(main_lib, *arguments)
    self.assertEqual(done.returncode, 1)
    said = done.stdout + done.stderr
    self.assertIn("ILSVRC2012_img_val.tar", said)

  def test_corrupt(self):
    picture = np.full((256, 256, 3), 90, np.uint8)
    names = {"image": picture}
    exec(_block("corruptions.sequence"), names)
    self.assertEqual(names["foggy"].shape, picture.shape)
    self.assertEqual(names["frames"].shape, (31, 224, 224, 3))
    (self.root / "IN").mkdir()
    Image.fromarray(picture).save(self.root / "IN" / "a.png")
    (command,) = re.findall(r"`robust-tfds (corrupt IN .*?)`", _TEXT)
    _, *arguments = shlex.split(command)
    arguments = [a.replace("=all", "=contrast") for a in arguments]
    with contextlib.chdir(self.root):
      done = in_process.run(corrupt_folder, *arguments)
    self.assertEqual(done.returncode, 0, done.stderr)
    files = [f for _, _, files in os.walk(self.root / "OUT") for f in files]
    self.assertLen([f for f in files if f.startswith("a.")], 3)
