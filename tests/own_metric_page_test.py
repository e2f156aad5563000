"""Every block of docs/OWN_METRIC.md runs, section by section, over made data."""

import json
import pathlib
import shlex
import sys
from unittest import mock

import numpy as np
import pytest
from absl.testing import parameterized

import robust_tfds
from tests import in_folder, in_process, own_data_page_test, pages, tiny_files
from tests.eval.report.reports import without_pictures

_SECTIONS = pages.sections("OWN_METRIC.md")
_REAL = robust_tfds.evaluate
_IDS = ("a/0.png", "a/1.png", "b/2.png", "b/3.png", "b/4.png", "5.png")
_SIDE = 40


def _pictures(root: pathlib.Path) -> dict[str, np.ndarray]:
  """Pictures with a bright square each; id -> its middle, (x, y) in px."""
  middles, rng = {}, np.random.default_rng(0)
  for name in _IDS:
    y, x = rng.integers(6, _SIDE - 6, 2)
    pixels = np.full((_SIDE, _SIDE + 8, 3), 40, np.uint8)
    pixels[y - 3 : y + 4, x - 3 : x + 4] = 250
    middles[name] = np.array([x, y], float)
    for folder in ("faces", "rooms", "streets"):
      data = {f"data/{folder}/{name}": tiny_files.encoded(pixels, "PNG")}
      tiny_files.put(root, data)
  return middles


def _targets(root: pathlib.Path, middles: dict[str, np.ndarray]) -> None:
  (root / "data/labels.json").write_text(
    json.dumps(
      {
        name: {"points": [xy.tolist()], "size_px": _SIDE}
        for name, xy in middles.items()
      }
    )
  )
  lines = ["id,car,person,tree", *(f"{name},1,0,0" for name in middles)]
  (root / "data/tags.csv").write_text("\n".join(lines))
  for name in middles:
    path = (root / "data/depth" / name).with_suffix(".npy")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, np.full((_SIDE, _SIDE + 8), 2.0))


def _point(pictures: np.ndarray) -> np.ndarray:
  """The middle of what is brightest: float `[B, 1, 2]`."""
  grey = pictures.astype(float).mean(-1)
  bright = grey > 150
  ys, xs = np.mgrid[: grey.shape[1], : grey.shape[2]]
  middle = [
    (bright * axis).sum((1, 2)) / bright.sum((1, 2)) for axis in (xs, ys)
  ]
  return np.stack(middle, axis=-1)[:, None]


def _evaluate(model, data, **options):
  few = {"conditions": ("gaussian_noise",), "severities": (3,)}
  with mock.patch.object(robust_tfds, "evaluate", _REAL):
    return _REAL(model, data, **{**few, **options})


class OwnMetricPageTest(in_folder.TestCase):
  @parameterized.parameters(*_SECTIONS)
  @pytest.mark.slow
  def test_section(self, section):
    _targets(self.root, _pictures(self.root))
    names = {
      "predict": _point,
      "net1": lambda x: 1 + x.mean(-1) / 255,
      "net2": lambda x: 2 + x.mean(-1) / 2550,
      "tags": lambda x: x.mean((1, 2)) - 100,
    }
    with (
      mock.patch.object(sys, "path", [str(self.root), *sys.path]),
      mock.patch.object(robust_tfds, "evaluate", _evaluate),
      without_pictures.written(),
    ):
      for language, block in _SECTIONS[section]:
        text = own_data_page_test.placed(block, self.root)
        if name := pages.file_name(block):
          (self.root / name).write_text(text)
        elif language == "python":
          exec(text, names)
        else:
          self._commands(text)
    for metric in {"Depth": ("a/rmse", "b/d1")}.get(section, ()):
      label, _, name = metric.partition("/")
      self.assertIn(f"{label}/part_mean_{name}", names["result"].summary)
    if section == "Depth":
      self.assertIn("exchange of groups", self._text("compared/comparison.md"))
    if section == "Several labels":
      self.assertEqual(names["result"].summary["clean_f1"], 0)
      self.assertIn("exact", self._text("command/table.csv"))
    if section == "Pose":
      self.assertLess(names["result"].summary["clean_nme"], 0.05)

  def _text(self, name: str) -> str:
    return (self.root / "runs" / name).read_text("utf-8")

  def _commands(self, text: str) -> None:
    for line in text.replace("\\\n", " ").splitlines():
      _, name, *arguments = shlex.split(line)
      if name == "run":
        arguments += ["--config.data.corruptions=none"]
      done = in_process.run(pages.command(name), *arguments)
      self.assertEqual(done.returncode, 0, done.stderr)
