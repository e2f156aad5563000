"""HF's processors as specs, against transformers' own defaults."""

import pytest
from absl.testing import parameterized

from models.convert.sidecar import hf_processor
from robust_tfds import errors
from tests.models.convert import torchvision_cpu

_HALF = (0.5, 0.5, 0.5)
_VIT = {"image_processor_type": "ViTImageProcessor"}
_CONVNEXT = {"feature_extractor_type": "ConvNextFeatureExtractor"}
_CLASSES = ("ViT", "DeiT", "CLIP", "Bit", "ConvNext", "MobileNetV2", "Siglip")


def _geometry(facts):
  got = hf_processor.fields(facts, "p.json")
  names = ("resize", "resize_px", "input_px", "interpolation")
  return tuple(got[name] for name in names)


class ProcessorTest(parameterized.TestCase):
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
    ({**_VIT, "resample": [2]}, "resample: got"),
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
