"""Every block of docs/OWN_DATA.md runs, section by section, over made data."""

import pathlib
import re
import shlex
import sys
from unittest import mock

from absl.testing import parameterized

import robust_tfds
from tests import in_folder, in_process, pages
from tests.eval.report.reports import without_pictures
from tests.user_data import made, natural_test

_SECTIONS = pages.sections("OWN_DATA.md")
_SECTIONS.pop("A corruption of your own")  # tests/own_corruptions_test.py
_REAL = robust_tfds.evaluate
_CLASSES = {"Videos": 2, "Natural sets": 1000}  # else three
_PLACES = re.compile(r"/?\b(data/|runs/)")
_WRITTEN = {
  "Pictures in class folders": ("pets_report/report.html", "two", "board"),
  "Natural sets": ("drop/natural.csv",),
  "Predictions of another program": ("scored/table.csv",),
}
_FEW = {
  "run": ("corruptions=gaussian_noise", "severities=(3,)", "limit=2"),
}


def run(section: str, root: pathlib.Path) -> dict:
  """What a section's names stand for in the end, run below a folder.

  Runs are of one condition, where the page asks for all, and of a few pixels.
  """
  made.folder(root / "data" / "pets", classes=("cat", "dog", "owl"))
  made.videos(root / "data" / "clips")
  made.scenes(root / "data" / "mine").rename(root / "data/mine/instances.json")
  made.masks(root / "data" / "scenes")
  if section == "Natural sets":
    natural_test.prepare("imagenet_a", root / "data" / "tfds")
    natural_test.validation(root / "data" / "imagenet")
  (root / "runs").mkdir()
  net = made.Seen(_CLASSES.get(section, 3))
  names = dict.fromkeys(("net", "net1", "net2", "predict"), net)
  names["evaluate"] = _evaluate
  with (
    mock.patch.object(sys, "path", [str(root), *sys.path]),
    mock.patch.object(robust_tfds, "evaluate", _evaluate),
    without_pictures.written(),
  ):
    for language, block in _files_first(_SECTIONS[section]):
      text = placed(block, root)
      text = text.replace("tfds:oxford_iiit_pet", "tfds:my_sets:MyPets")
      if name := pages.file_name(block):
        (root / name).write_text(text)
      elif language == "python":
        exec(text, names)
      else:
        _commands(text, root)
  return names


def placed(block: str, root: pathlib.Path) -> str:
  """A block whose places lie below a folder."""
  return _PLACES.sub(rf"{root}/\1", block)


def _files_first(
  blocks: list[tuple[str, str]],
) -> list[tuple[str, str]]:
  return sorted(blocks, key=lambda block: not pages.file_name(block[1]))


def _evaluate(model, data, **options):
  size = None if data.startswith(("coco:", "masks:")) else 32
  with mock.patch.object(robust_tfds, "evaluate", _REAL):
    return made.evaluate(model, data, **{"size": size, **options})[0]


def _commands(text: str, root: pathlib.Path) -> None:
  """Runs the commands of a block, of its table to fill in one that is filled."""
  for line in text.replace("\\\n", " ").splitlines():
    _, name, *arguments = shlex.split(line)
    few = [f"--config.data.{each}" for each in _FEW.get(name, ())]
    done = in_process.run(pages.command(name), *arguments, *few)
    if done.returncode:
      raise AssertionError(f"{line}\n{done.stderr}")
    for table in root.glob("runs/todo.csv"):
      rows = table.read_text("utf-8").splitlines()
      filled = [rows[0], *(f"{row}dog" for row in rows[1:])]
      table.with_name("done.csv").write_text("\n".join(filled) + "\n", "utf-8")


class OwnDataPageTest(in_folder.TestCase):
  @parameterized.parameters(*_SECTIONS)
  def test_section(self, section):
    names = run(section, self.root)
    if "result" in names:
      summary = names["result"].summary
      self.assertRegex(" ".join(summary), r"\b(part_m|gamma)")
    for name in _WRITTEN.get(section, ()):
      self.assertTrue((self.root / "runs" / name).exists(), name)
