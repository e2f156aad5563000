"""A file in another's clothes: told by its source, its neighbours, or a doubt."""

import hashlib
import json
import re
import warnings

import numpy as np
from absl.testing import absltest, parameterized

from models.convert import known, match, preprocessing
from models.convert.sidecar import Declared
from robust_tfds import errors, models
from tests.models.convert import checkpoints

_A1 = {"input_size": [3, 224, 224], "crop_pct": 0.95, "num_classes": 1000}


def _arrays(name):
  """A checkpoint in torch's words; no numbers need to be drawn for it."""
  zero = np.zeros((), np.float32)
  return {
    match.torch_name(path): np.broadcast_to(
      zero, match.file_shape(shape, path, False)
    )
    for path, shape in models.get(name).shapes().items()
  }


def _judged(name, arrays, said=None, weights=""):
  model = models.get(name)
  loaded = match.match_arrays(model, arrays)
  return preprocessing.judge(
    model, "a.npz", loaded.labels, said or Declared(), weights
  )


class DoubtTest(checkpoints.Case):
  def test_what_runs_train_is_no_publishers(self):
    # `resnet50_64px` has ResNet-50's arrays, and no published file.
    labels = preprocessing.plain_labels(models.get("resnet50"))
    self.assertEqual(labels, ["timm", "torchvision"])

  @parameterized.parameters(
    ("vit_b_16", "vit_base_patch16_224", "timm"),
    ("vit_tiny_patch16_224", "vit_tiny_patch16_224", "timm"),  # or DeiT's
    ("resnet50", "resnet50", "timm"),
    ("resnet50", "resnet50", "torchvision"),
  )
  def test_timms_names_in_torchvisions_clothes(self, name, of, label):
    verdict = _judged(name, _arrays(of))
    self.assertEqual(verdict.fields, {})
    self.assertRegex(
      verdict.doubt, f"^a.npz: its arrays have the names of .*{label}'s.*ways"
    )
    self.assertRegex(verdict.doubt, "timm:NAME.TAG.*config.model.spec.weights=")

  @parameterized.parameters(
    "alexnet", "squeezenet1_1", "squeezenet1_1_torchvision", "digits_cnn"
  )  # fmt: skip
  def test_no_doubt_where_names_have_one_preprocessing(self, name):
    self.assertEqual(_judged(name, _arrays(name)), Declared())

  @parameterized.parameters(
    ("clip_vit_b_32", ("clip", "openclip")),
    ("openclip_vit_b_32", ("clip", "openclip")),
    ("clip_vit_b_32", ("hf",)),
    ("openclip_vit_b_32", ("hf",)),
  )
  def test_clips_names_do_not_say_which_activation(self, name, labels):
    model = models.get(name)
    verdict = preprocessing.judge(model, "a.npz", labels, Declared())
    self.assertNotEmpty(verdict.doubt)
    own = model.spec.weights
    if own in labels:
      self.assertRegex(verdict.doubt, "networks that may differ.*which")
      verdict = preprocessing.judge(model, "a.npz", labels, Declared(), own)
      self.assertEqual(verdict, Declared())

  @parameterized.parameters("resnet18", "vit_tiny_patch16_224")
  def test_our_own_names_are_the_specs(self, name):
    arrays = {
      "/".join(p): np.broadcast_to(np.float32(0), s)
      for p, s in models.get(name).shapes().items()
    }
    self.assertEqual(_judged(name, arrays), Declared())

  def test_what_the_user_says(self):
    arrays = _arrays("resnet50")
    ours = _judged("resnet50", arrays, weights="torchvision")
    self.assertEqual(ours, Declared())
    with self.assertRaisesRegex(errors.UserError, "timm's files .* ways"):
      _judged("resnet50", arrays, weights="timm")
    with self.assertRaisesRegex(errors.UserError, "Unknown family of preproc"):
      _judged("resnet50", arrays, weights="caffe")

  def test_what_is_said_ends_the_doubt(self):
    said = Declared(known.named("timm:resnet50.a1_in1k").spec_fields, "timm:x")
    verdict = _judged("resnet50", _arrays("resnet50"), said)
    self.assertEqual(verdict.doubt, "")
    self.assertEqual(verdict.fields["resize_px"], 235)
    self.assertEqual(verdict.origin, "timm:x")

  @parameterized.parameters(
    ({"num_classes": 21843}, "says 21843 classes, the arrays have 1000"),
    ({"input_px": 384}, "says pictures of 384 px, vit_b_16 takes only 224"),
  )
  def test_what_is_said_of_another_checkpoint(self, fields, words):
    model = models.get("vit_b_16")
    verdict = preprocessing.judge(
      model, "a", (), Declared(fields, "config.json")
    )
    self.assertRegex(verdict.doubt, f"^config.json {words}")

  def test_what_cannot_be_expressed(self):
    said = Declared(origin="c", doubt="c: crop_mode: got 'border'")
    verdict = _judged("resnet50", _arrays("resnet50"), said)
    self.assertEqual(verdict.doubt, said.doubt)

  def test_detectors_and_clips_are_judged_by_names_alone(self):
    said = Declared({"resize_px": 9}, "config.json", "of another kind")
    for name in ("tiny_retinanet", "tiny_r3d"):
      verdict = _judged(name, _arrays(name), said)
      self.assertEqual(verdict, Declared())


class LoadTest(checkpoints.Case):
  def setUp(self):
    super().setUp()
    self.flat = checkpoints.drawn("resnet18")
    self.arrays = checkpoints.as_torch(self.flat)

  def _quiet(self, path):
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      self.same(models.convert.load("resnet18", path), self.flat)

  def test_load_warns(self):
    path = self.npz(self.arrays)
    with self.assertWarnsRegex(UserWarning, "nothing says which"):
      models.convert.load("resnet18", path)
    (self.folder / "config.json").write_text(
      json.dumps({"pretrained_cfg": _A1})
    )
    with self.assertWarnsRegex(
      UserWarning,
      r"config.json: pretrained_cfg says other preprocessing than resnet18's"
      r" spec: .*bicubic \(here bilinear\).*resize_px 235 \(here 256\)",
    ):
      self.same(models.convert.load("resnet18", path), self.flat)
    ours = {"crop_pct": 0.875, "interpolation": "bilinear"}
    (self.folder / "config.json").write_text(
      json.dumps({"pretrained_cfg": {**_A1, **ours}})
    )
    self._quiet(path)

  def test_a_published_files_name_counts_with_its_digits(self):
    path = self.npz(self.arrays)
    digits = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    row = known.named("torchvision:ResNet18_Weights.IMAGENET1K_V1")
    place = self.folder / f"resnet18-{digits}.npz"
    path.rename(place)
    with self.assertWarnsRegex(UserWarning, "nothing says which"):
      models.convert.load("resnet18", place)  # digits that no table knows
    changed = known.dataclasses.replace(row, sha256=digits)
    with absltest.mock.patch.object(
      known, "_digits_table", lambda: {digits: changed}
    ):
      self._quiet(place)

  def test_an_architecture_with_the_same_arrays(self):
    path = self.npz(self.arrays)
    ours = {"crop_pct": 0.875, "interpolation": "bilinear"}
    facts = {"architecture": "resnetaa18", "pretrained_cfg": {**_A1, **ours}}
    (self.folder / "config.json").write_text(json.dumps(facts))
    with self.assertWarnsRegex(
      UserWarning, "pretrained_cfg says architecture resnetaa18, which resnet18"
    ):
      models.convert.load("resnet18", path)
    loaded = match.load("resnet18", path, weights="torchvision")
    self.assertEqual(loaded.declared.doubt, "")
    facts["architecture"] = "resnet18"
    (self.folder / "config.json").write_text(json.dumps(facts))
    self._quiet(path)

  def test_the_sentence_reads(self):
    with self.assertWarns(UserWarning) as caught:
      models.convert.load("resnet18", self.npz(self.arrays))
    text = str(caught.warning)
    self.assertRegex(
      re.sub(r"^\S+ ", "", text),
      r"its arrays have the names of torchvision's and timm's files, which are"
      r" prepared in \d+ ways \(resnet18: short_side 256, 224 px, bilinear, mean"
      r" 0\.485; timm:resnet18\.\w+: ",
    )
