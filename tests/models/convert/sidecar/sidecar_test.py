"""Files beside weights."""

import hashlib
import json

import numpy as np
import pytest
from absl.testing import parameterized
from etils import epath
from safetensors import numpy as safetensors

from models import catalogue
from models.convert import known, match, preprocessing, sidecar
from models.convert.sidecar import (
  Declared,
  hf_processor,
  network,
  timm_config,
)
from robust_tfds import errors, models
from tests.models.convert import checkpoints, torchvision_cpu

_TIMM = {"architecture": "x", "pretrained_cfg": {"crop_pct": 0.95}}
_HF = {"image_processor_type": "ViTImageProcessor"}


class BesideTest(checkpoints.Case):
  """Which files say a checkpoint's preprocessing, and of which checkpoint."""

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
    with self.assertRaisesRegex(errors.UserError, "belongs to another file"):
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


_HALF = (0.5, 0.5, 0.5)
_VIT = {"image_processor_type": "ViTImageProcessor"}
_CONVNEXT = {"feature_extractor_type": "ConvNextFeatureExtractor"}
_CLASSES = ("ViT", "DeiT", "CLIP", "Bit", "ConvNext", "MobileNetV2", "Siglip")


def _geometry(facts):
  got = hf_processor.fields(facts, "p.json")
  names = ("resize", "resize_px", "input_px", "interpolation")
  return tuple(got[name] for name in names)


class ProcessorTest(parameterized.TestCase):
  """HF's processors as specs, against transformers' own defaults."""

  def test_google_vit(self):
    facts = {  # as google/vit-base-patch16-224 had it first
      "do_normalize": True,
      "do_resize": True,
      "image_mean": [0.5, 0.5, 0.5],
      "image_std": [0.5, 0.5, 0.5],
      "size": 224,
      "feature_extractor_type": "ViTFeatureExtractor",
      "resample": 2,
    }
    self.assertEqual(
      hf_processor.fields(facts, "p.json"),
      {
        "resize": "squash",
        "resize_px": 224,
        "input_px": 224,
        "interpolation": "bilinear",
        "channel_order": "rgb",
        "scale": 1 / 255,
        "mean": _HALF,
        "std": _HALF,
      },
    )

  @parameterized.parameters(
    (_VIT, ("squash", 224, 224, "bilinear")),
    ({**_VIT, "size": {"height": 384, "width": 384}, "resample": 3},
     ("squash", 384, 384, "bicubic")),
    ({"image_processor_type": "DeiTImageProcessor"},
     ("squash", 256, 224, "bicubic")),
    ({"image_processor_type": "BitImageProcessorFast", "resample": 3,
      "size": {"shortest_edge": 256},
      "crop_size": {"height": 224, "width": 224}},
     ("short_side", 256, 224, "bicubic")),
    ({"feature_extractor_type": "CLIPFeatureExtractor", "size": 224,
      "crop_size": 224}, ("short_side", 224, 224, "bicubic")),
    ({**_CONVNEXT, "size": 224, "crop_pct": 0.875},
     ("short_side", 256, 224, "bicubic")),
    ({**_CONVNEXT, "size": {"shortest_edge": 384}},
     ("squash", 384, 384, "bicubic")),
    ({"image_processor_type": "MobileNetV2ImageProcessorPil"},
     ("short_side", 256, 224, "bilinear")),
  )  # fmt: skip
  def test_geometry(self, facts, expected):
    self.assertEqual(_geometry(facts), expected)

  def test_numbers(self):
    got = hf_processor.fields(
      {**_VIT, "do_rescale": False, "do_normalize": False}, "p"
    )
    self.assertEqual((got["scale"], got["mean"]), (1.0, (0.0, 0.0, 0.0)))
    got = hf_processor.fields(
      {**_VIT, "rescale_factor": 1 / 127.5, "do_flip_channel_order": True}, "p"
    )
    self.assertEqual((got["scale"], got["channel_order"]), (1 / 127.5, "bgr"))

  @parameterized.parameters(
    ({}, "image_processor_type: got None, expected one whose defaults"),
    ({"image_processor_type": "LevitImageProcessor"}, "one whose defaults"),
    ({**_VIT, "do_resize": False}, "do_resize: got False"),
    ({**_VIT, "resample": 1}, "resample: got 1"),
    ({**_VIT, "size": {"longest_edge": 9}}, "size: got"),
    ({**_VIT, "size": {"height": 9, "width": 8}}, "size: got"),
    ({**_VIT, "size": {"shortest_edge": 224}}, "a crop where the shorter"),
    ({**_VIT, "image_mean": 0.5}, "image_mean: got 0.5"),
    ({**_CONVNEXT, "size": 224, "crop_pct": 0}, "crop_pct: got 0"),
    (
      {"image_processor_type": "CLIPImageProcessor", "crop_size": 300},
      "crop_size: got 300, expected at most size, 224",
    ),
  )
  def test_refusals(self, facts, words):
    with self.assertRaisesRegex(errors.UserError, f"^p.json: .*{words}"):
      hf_processor.fields(facts, "p.json")

  def test_labels(self):
    names = {str(i): f"class {i}" for i in range(1000)}
    got = hf_processor.labels({"id2label": names}, "c")
    self.assertEqual(got, {"num_classes": 1000})
    names |= {"0": "tench, Tinca tinca", "999": "toilet tissue, bathroom"}
    got = hf_processor.labels({"id2label": names}, "c")
    self.assertEqual(got["label_space"], "imagenet1k")
    self.assertEqual(hf_processor.labels({}, "c"), {})

  @parameterized.parameters(*_CLASSES)
  @pytest.mark.slow
  def test_defaults_are_the_classes_own(self, name):
    library = torchvision_cpu.package("transformers")
    kind = f"{name}ImageProcessor"
    facts = getattr(library, kind)().to_dict()
    written = {
      key: int(value) if key == "resample" else value
      for key, value in facts.items()
    }
    self.assertEqual(
      hf_processor.fields({**written, "image_processor_type": kind}, "all"),
      hf_processor.fields({"image_processor_type": kind}, "none"),
    )


def _clip(**vision):
  config = {"model_type": "clip", "vision_config": vision}
  return network.config_facts(config)


class DiffersTest(parameterized.TestCase):
  """Files whose arrays fit a network that they are not of."""

  @parameterized.parameters(
    ("resnet50", {"architecture": "resnetaa50"}, "architecture resnetaa50"),
    (
      "swin_v2_t",
      {"architecture": "swinv2_tiny_window16_256"},
      "architecture swinv2_tiny_window16_256",
    ),
    ("clip_vit_b_32", _clip(hidden_act="gelu"), "hidden_act gelu"),
    ("openclip_vit_b_32", _clip(), "hidden_act quick_gelu"),
    (
      "vit_small_patch16_224",
      {"model_type": "vit", "num_attention_heads": 8, "hidden_act": "gelu"},
      "num_attention_heads 8",
    ),
    (
      "resnet50",
      {"model_type": "resnet", "downsample_in_bottleneck": True},
      "downsample_in_bottleneck True",
    ),
    ("cafferesnet101", {"models": ("resnet101",)}, "the network of resnet101"),
  )
  def test_another_network(self, name, facts, words):
    self.assertEqual(network.differs(catalogue.network(name), facts), words)

  @parameterized.parameters(
    ("resnet50", {"architecture": "resnet50"}),
    ("vit_b_16", {"architecture": "vit_base_patch16_384"}),  # interpolated
    ("vit_base_patch16_224", {"architecture": "deit_base_patch16_224"}),
    ("clip_vit_b_32", _clip()),
    ("openclip_vit_b_32", _clip(hidden_act="gelu")),
    ("resnet50", {"model_type": "resnet", "hidden_act": "relu"}),
    ("resnet50", {}),
  )
  def test_the_same_network(self, name, facts):
    self.assertEqual(network.differs(catalogue.network(name), facts), "")

  @pytest.mark.slow
  def test_known_checkpoints_are_of_their_models(self):
    rows = [r for r in known.every() if r.name.startswith("timm:")]
    self.assertNotEmpty(rows)
    for row in rows:
      for name in row.models:
        model = catalogue.network(name)
        self.assertEqual(
          network.differs(model, network.timm_facts(row.name)), ""
        )


_A1 = {
  "tag": "a1_in1k",
  "input_size": [3, 224, 224],
  "test_input_size": [3, 288, 288],
  "interpolation": "bicubic",
  "crop_pct": 0.95,
  "test_crop_pct": 1.0,
  "crop_mode": "center",
  "mean": [0.485, 0.456, 0.406],
  "std": [0.229, 0.224, 0.225],
  "num_classes": 1000,
}


class TimmTest(parameterized.TestCase):
  """timm's `pretrained_cfg` as a spec, against timm's own transforms."""

  def test_fields(self):
    self.assertEqual(
      timm_config.fields(_A1, "config.json"),
      {
        "input_px": 224,
        "resize": "short_side",
        "resize_px": 235,
        "interpolation": "bicubic",
        "channel_order": "rgb",
        "scale": 1 / 255,
        "mean": (0.485, 0.456, 0.406),
        "std": (0.229, 0.224, 0.225),
        "num_classes": 1000,
        "label_space": "imagenet1k",
      },
    )

  def test_defaults_and_modes(self):
    got = timm_config.fields({"crop_pct": None}, "c")
    self.assertEqual((got["resize_px"], got["interpolation"]), (256, "bicubic"))
    self.assertNotIn("num_classes", got)
    got = timm_config.fields({**_A1, "crop_mode": "squash", "crop_pct": 1}, "c")
    self.assertEqual((got["resize"], got["resize_px"]), ("squash", 224))

  @parameterized.parameters(
    ("crop_mode", "border", "no rule here adds borders"),
    ("interpolation", "lanczos", "expected bilinear or bicubic"),
    ("input_size", [3, 224, 240], "a square of three channels"),
    ("mean", [0.5], "one finite number per channel"),
    ("std", [1, 2, float("nan")], "one finite number per channel"),
    ("crop_pct", "x", "a number from"),
    ("num_classes", 2.5, "a whole number"),
  )
  def test_refusals(self, field, value, words):
    with self.assertRaisesRegex(
      errors.UserError, f"^c: {field}: got .*{words}.*config.model.spec"
    ):
      timm_config.fields({**_A1, field: value}, "c")

  def test_against_timm(self):
    timm = torchvision_cpu.package("timm")
    rows = [r for r in known.every() if r.name.startswith("timm:")]
    for row in rows:
      facts = timm.models.get_pretrained_cfg(row.name[5:]).to_dict()
      config = timm.data.resolve_data_config(pretrained_cfg=facts)
      resize, crop, _, norm = timm.data.create_transform(**config).transforms
      says, size = row.spec_fields, resize.size
      squashes = isinstance(size, (tuple, list)) and len(size) == 2
      self.assertEqual(
        (
          size[0] if squashes else size,
          crop.size[0],
          resize.interpolation.value,
          "squash" if squashes else "short_side",
          tuple(round(float(v), 4) for v in norm.mean),
          tuple(round(float(v), 4) for v in norm.std),
        ),
        (
          says["resize_px"],
          says["input_px"],
          says["interpolation"],
          says["resize"],
          tuple(round(v, 4) for v in says["mean"]),
          tuple(round(v, 4) for v in says["std"]),
        ),
        row.name,
      )
    self.assertGreater(len(rows), 100)

  def test_a_folder_that_timm_wrote(self):
    timm = torchvision_cpu.package("timm")
    name = "vit_tiny_patch16_224"
    module = timm.create_model(f"{name}.augreg_in21k_ft_in1k")
    folder = self.create_tempdir().full_path
    timm.models.save_for_hf(module, folder, safe_serialization="both")
    loaded = match.load(name, folder)
    self.assertEqual(loaded.declared.doubt, "")
    spec = models.get(name).spec
    self.assertEqual(
      preprocessing.differences(spec, loaded.declared.fields), {}
    )
    self.assertNotEmpty(loaded.declared.fields)
