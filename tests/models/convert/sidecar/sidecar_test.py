"""Which files say a checkpoint's preprocessing, and of which checkpoint."""

import hashlib
import json

import numpy as np
from etils import epath
from safetensors import numpy as safetensors

from models.convert import sidecar
from models.convert.sidecar import Declared
from robust_tfds import errors
from tests.models.convert import checkpoints

_TIMM = {"architecture": "x", "pretrained_cfg": {"crop_pct": 0.95}}
_HF = {"image_processor_type": "ViTImageProcessor"}


class BesideTest(checkpoints.Case):
  def setUp(self):
    super().setUp()
    self.path = epath.Path(self.npz({"a": np.ones(3)}, "net.npz"))

  def _write(self, name, facts):
    (self.folder / name).write_text(json.dumps(facts))

  def test_nothing(self):
    self.assertEqual(sidecar.declared(self.path), Declared())
    self._write("config.json", {"architectures": ["other"]})
    self.assertEqual(sidecar.declared(self.path), Declared())
    self.assertEqual(sidecar.declared(epath.Path(self.folder)), Declared())

  def test_timm(self):
    self._write("config.json", _TIMM)
    said = sidecar.declared(self.path)
    self.assertEqual(said.fields["resize_px"], 235)
    self.assertEndsWith(said.origin, "config.json: pretrained_cfg")

  def test_hf(self):
    self._write("preprocessor_config.json", _HF)
    self._write("config.json", {"id2label": {"0": "cat", "1": "dog"}})
    said = sidecar.declared(self.path)
    self.assertEqual(said.fields["mean"], (0.5, 0.5, 0.5))
    self.assertEqual(said.fields["num_classes"], 2)

  def test_of_several_files_only_a_hubs_own_name_counts(self):
    self._write("config.json", _TIMM)
    other = epath.Path(self.npz({"a": np.ones(3)}, "other.npz"))
    self.assertEqual(sidecar.declared(self.path), Declared())
    self.assertEqual(sidecar.declared(other), Declared())
    self.assertNotEqual(sidecar.declared(other, alone=True), Declared())
    hub = self.folder / "model.safetensors"
    safetensors.save_file({"a": np.ones(3)}, hub)
    self.assertEqual(sidecar.declared(epath.Path(hub)).fields["resize_px"], 235)
    folder = sidecar.declared(epath.Path(self.folder))
    self.assertEqual(folder.fields["resize_px"], 235)

  def test_metadata(self):
    for key, facts, side in (
      ("pretrained_cfg", _TIMM["pretrained_cfg"], 235),
      ("preprocessor_config", _HF, 224),
    ):
      path = self.folder / f"{key}.safetensors"
      metadata = {"format": "pt", key: json.dumps(facts)}
      safetensors.save_file({"a": np.ones(3)}, path, metadata)
      self.assertEqual(
        sidecar.declared(epath.Path(path)).fields["resize_px"], side
      )

  def test_what_no_spec_can_express_is_trouble(self):
    self._write("config.json", {"pretrained_cfg": {"crop_mode": "border"}})
    said = sidecar.declared(self.path)
    self.assertEqual(said.fields, {})
    self.assertRegex(said.doubt, "config.json: pretrained_cfg: crop_mode")

  def test_our_own_report(self):
    digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
    facts = {"npz_sha256": digest, "spec_fields": {"mean": [0.5, 0.5, 0.5]}}
    self._write("net.npz.report.json", facts)
    self.assertEqual(sidecar.declared(self.path).fields, {"mean": (0.5,) * 3})
    self._write("net.npz.report.json", {**facts, "npz_sha256": "0"})
    with self.assertRaisesRegex(errors.UserError, "is of another file"):
      sidecar.declared(self.path)

  def test_files_that_are_broken(self):
    for name in ("config.json", "preprocessor_config.json"):
      path = self.folder / name
      path.write_text("{")
      with self.assertRaisesRegex(errors.UserError, f"{name}: line 1"):
        sidecar.declared(self.path)
      path.write_text("[1]")
      with self.assertRaisesRegex(errors.UserError, f"{name}: got a list"):
        sidecar.declared(self.path)
      path.unlink()
