"""timm's `pretrained_cfg` as a spec, against timm's own transforms."""

from absl.testing import parameterized

from models.convert import known, match, preprocessing
from models.convert.sidecar import timm_config
from robust_tfds import errors, models
from tests.models.convert import torchvision_cpu

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
    ("interpolation", "random", "expected bilinear or bicubic"),
    ("input_size", [3, 224, 240], "a square of three channels"),
    ("input_size", [1, 28, 28], "a square of three channels"),
    ("input_size", "big", "a square of three channels"),
    ("mean", [0.5], "one finite number per channel"),
    ("std", [1, 2, float("nan")], "one finite number per channel"),
    ("crop_pct", "x", "a number from"),
    ("crop_pct", 3.0, "a number from"),
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
