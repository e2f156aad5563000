"""RetinaNet's files of mmdetection 1.x and 2.x, which are alike in all names."""

import json
import warnings

import numpy as np
import pytest
from absl.testing import parameterized
from safetensors import numpy as safetensors

from models.convert import generations, match, sources
from robust_tfds import errors, models
from tests.models.convert import checkpoints, names

_NEWER, _OLDER = (f"retinanet_resnet50_fpn_mmdet{n}" for n in ("", "1"))
_BOTH = ("mmdetection", "mmdetection1")
_ASKED = "says not which of them it is.*config.model.spec.weights=mmdetection"


class GenerationsTest(checkpoints.Case):
  def _file(self, version="", arrays=None):
    """One that says its version, or none."""
    path = self.folder / f"retinanet{version}.safetensors"
    noted = {"mmdet_version": version} if version else None
    arrays = arrays or {"a": np.zeros(1, np.float32)}
    safetensors.save_file(arrays, path, metadata=noted)
    return path

  def _doubt(self, name, path, labels=_BOTH, weights=""):
    located = sources.locate(path)
    return generations.doubt(models.get(name), located, labels, weights)

  @parameterized.parameters(
    (_NEWER, "2.28.2"),
    (_NEWER, "3.0.0"),
    (_OLDER, "1.0rc0+abc"),
    (_OLDER, "0.6"),
  )
  def test_its_version_says_which(self, name, version):
    self.assertEmpty(self._doubt(name, self._file(version)))
    other = {_NEWER: _OLDER, _OLDER: _NEWER}[name]
    with self.assertRaisesRegex(errors.UserError, f"Load it into {name}[.]"):
      self._doubt(other, self._file(version))

  def test_without_a_version_the_user_says(self):
    path = self._file()
    for name, weights in zip((_NEWER, _OLDER), _BOTH):
      other = {_NEWER: _OLDER, _OLDER: _NEWER}[name]
      self.assertRegex(self._doubt(name, path), f"{_ASKED}.*into {other}[.]")
      self.assertEmpty(self._doubt(name, path, weights=weights))
      with self.assertRaisesRegex(errors.UserError, f"Load it into {name}[.]"):
        self._doubt(other, path, weights=weights)

  def test_torch_files_say_theirs(self):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    path = self.folder / "a.pth"
    meta = {"mmdet_version": "1.0rc1", "CLASSES": ("person", "bus")}
    torch.save({"meta": meta, "state_dict": {"a": torch.zeros(1)}}, path)
    self.assertEmpty(self._doubt(_OLDER, path))
    with self.assertRaisesRegex(errors.UserError, f"Load it into {_OLDER}[.]"):
      self._doubt(_NEWER, path)
    torch.save({"state_dict": {"a": torch.zeros(1)}}, path)
    self.assertRegex(self._doubt(_NEWER, path), _ASKED)

  def test_a_converted_file_is_what_its_report_says(self):
    path = self.npz({"a": np.zeros(1, np.float32)})
    report = path.with_name(f"{path.name}.report.json")
    report.write_text(json.dumps({"model": _OLDER}), "utf-8")
    self.assertEmpty(self._doubt(_OLDER, path, labels=()))
    with self.assertRaisesRegex(errors.UserError, f"Load it into {_OLDER}[.]"):
      self._doubt(_NEWER, path, labels=())
    report.unlink()
    self.assertEmpty(self._doubt(_NEWER, path, labels=()))

  @pytest.mark.slow
  def test_at_the_door(self):
    """The file of 150 MB: refused, warned of, or taken without a word."""
    flat = {
      path: np.zeros(shape, np.float32)
      for path, shape in models.get(_OLDER).shapes().items()
    }
    arrays = names.arrays(checkpoints.as_torch(flat), "mmdetection")
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      path = self._file("1.0.0", arrays)
      self.same(models.convert.load(_OLDER, path), flat)
    with self.assertRaisesRegex(errors.UserError, f"Load it into {_OLDER}[.]"):
      models.convert.load(_NEWER, path)
    path = self._file("", arrays)
    with self.assertWarnsRegex(UserWarning, _ASKED):
      models.convert.load(_NEWER, path)
    got = match.load(_NEWER, path, weights="mmdetection")
    self.assertEmpty(got.declared.doubt)
    # torchvision's RetinaNet has other anchors still.
    with self.assertRaisesRegex(errors.UserError, "is of torchvision"):
      models.convert.load("retinanet_resnet50_fpn", path)
