"""HF's `preprocessor_config.json`, and `config.json` for the labels, as a spec.

A key that a file leaves out has its class's default, so the class has to be
known: the table below follows transformers 5.23,
`transformers/models/<name>/image_processing_*.py`. A picture is resized
(`size`), cropped (`crop_size`), scaled (`rescale_factor`) and normalised, each
where its `do_...` says so.
"""

import re
from collections.abc import Mapping
from typing import Any

from models.convert.sidecar import values

_STANDARD = (0.5, 0.5, 0.5)  # IMAGENET_STANDARD_MEAN and _STD
# OPENAI_CLIP_MEAN and OPENAI_CLIP_STD.
_CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
_CLIP_STD = (0.26862954, 0.26130258, 0.27577711)
_BILINEAR, _BICUBIC = 2, 3  # PIL's numbers
_RESAMPLES = {_BILINEAR: "bilinear", _BICUBIC: "bicubic"}
_COMMON: dict[str, Any] = {
  "do_resize": True,
  "do_rescale": True,
  "rescale_factor": 1 / 255,
  "do_normalize": True,
  "do_center_crop": False,
  "image_mean": _STANDARD,
  "image_std": _STANDARD,
}
_CROPS: dict[str, Any] = {"do_center_crop": True, "crop_size": 224}
_CLIP: dict[str, Any] = {
  **_CROPS,
  "resample": _BICUBIC,
  "size": {"shortest_edge": 224},
  "image_mean": _CLIP_MEAN,
  "image_std": _CLIP_STD,
}
_MOBILE: dict[str, Any] = {
  **_CROPS,
  "resample": _BILINEAR,
  "size": {"shortest_edge": 256},
}
_DEFAULTS: dict[str, dict[str, Any]] = {
  "ViT": {"resample": _BILINEAR, "size": {"height": 224, "width": 224}},
  "Siglip": {"resample": _BICUBIC, "size": {"height": 224, "width": 224}},
  "DeiT": {
    **_CROPS,
    "resample": _BICUBIC,
    "size": {"height": 256, "width": 256},
  },
  "CLIP": _CLIP,
  "Bit": _CLIP,
  "ConvNext": {
    "resample": _BICUBIC,
    "size": {"shortest_edge": 384},
    "crop_pct": 224 / 256,
  },
  "MobileNetV1": _MOBILE,
  "MobileNetV2": _MOBILE,
}
# For these classes a number as `size` is the shorter side; for the others both
# sides.
_SHORT_SIDE = ("CLIP", "Bit", "ConvNext", "MobileNetV1", "MobileNetV2")
_CLASS = re.compile(r"(\w+?)(?:FeatureExtractor|ImageProcessor)(?:Fast|Pil)?")
# convnext/image_processing_convnext.py: from here on both sides are squashed.
_CONVNEXT_SQUASHES_PX = 384
_FIRST, _LAST = (
  "tench",
  "toilet tissue",
)  # first and last of ImageNet's 1000, by WordNet id


def fields(facts: Mapping[str, Any], origin: str) -> dict[str, Any]:
  """Return the fields of `models.spec.Spec`.

  Args:
    facts: contents of the file.
    origin: the file, which a refusal begins with.

  Raises:
    UserError: the defaults of the class are unknown, or a rule cannot be
      expressed by our specs; the message names the field.
  """
  kind = _kind(facts, origin)
  stated = {**_COMMON, **_DEFAULTS[kind]}
  stated |= {name: value for name, value in facts.items() if value is not None}
  if not stated["do_resize"]:
    raise values.expression_error(
      origin, "do_resize", False, "pictures to be resized"
    )
  resample = stated["resample"]
  if not isinstance(resample, int) or resample not in _RESAMPLES:
    raise values.expression_error(
      origin, "resample", resample, "2 (bilinear) or 3 (bicubic)"
    )
  flips = bool(stated.get("do_flip_channel_order"))
  return {
    **_geometry(stated, kind, origin),
    "interpolation": _RESAMPLES[resample],
    "channel_order": "bgr" if flips else "rgb",
    **_numbers(stated, origin),
  }


def labels(config: Mapping[str, Any], origin: str) -> dict[str, Any]:
  """Return `num_classes` and `label_space`, if a model's `config.json` states them."""
  names = config.get("id2label")
  if not isinstance(names, Mapping) or not names:
    return {}
  out: dict[str, Any] = {
    "num_classes": values.whole_number(len(names), "id2label", origin)
  }
  first, last = str(names.get("0", "")), str(names.get("999", ""))
  if len(names) == 1000 and first.startswith(_FIRST) and _LAST in last:
    out["label_space"] = "imagenet1k"
  return out


def _kind(facts: Mapping[str, Any], origin: str) -> str:
  named = facts.get("image_processor_type") or facts.get(
    "feature_extractor_type"
  )
  match = _CLASS.fullmatch(str(named))
  if match is None or match[1] not in _DEFAULTS:
    raise values.expression_error(
      origin,
      "image_processor_type",
      named,
      f"one whose defaults are known here: {', '.join(_DEFAULTS)}",
    )
  return match[1]


def _geometry(
  settings: Mapping[str, Any], kind: str, origin: str
) -> dict[str, Any]:
  rule, side = _size(settings["size"], kind, origin)
  if kind == "ConvNext":
    return _convnext(settings, rule, side, origin)
  if settings["do_center_crop"]:
    crop = _square(settings["crop_size"], "crop_size", origin)
  elif rule == "short_side":
    raise values.expression_error(
      origin,
      "do_center_crop",
      False,
      "a crop where the shorter side is resized",
    )
  else:
    crop = side
  if crop > side:
    raise values.expression_error(
      origin, "crop_size", crop, f"at most size, {side}: no rule adds borders"
    )
  return {"input_px": crop, "resize": rule, "resize_px": side}


def _convnext(
  settings: Mapping[str, Any], rule: str, side: int, origin: str
) -> dict[str, Any]:
  """Return ConvNeXt's geometry: it crops by `crop_pct`, and squashes large pictures."""
  if rule != "short_side":
    raise values.expression_error(
      origin, "size", settings["size"], "a shortest_edge"
    )
  if side >= _CONVNEXT_SQUASHES_PX:
    return {"input_px": side, "resize": "squash", "resize_px": side}
  share = values.number(
    settings["crop_pct"], "crop_pct", origin, least=0.01, most=1
  )
  return {"input_px": side, "resize": rule, "resize_px": int(side / share)}


def _size(size: Any, kind: str, origin: str) -> tuple[str, int]:
  """Return the rule of a spec, and its side in px."""
  if isinstance(size, Mapping) and set(size) == {"shortest_edge"}:
    return "short_side", values.whole_number(
      size["shortest_edge"], "size", origin
    )
  rule = "squash"
  if not isinstance(size, Mapping) and kind in _SHORT_SIDE:
    rule = "short_side"
  return rule, _square(size, "size", origin)


def _square(size: Any, field: str, origin: str) -> int:
  """Return the side of a square, from one number or from equal height and width."""
  if isinstance(size, Mapping) and set(size) == {"height", "width"}:
    size = [size["height"], size["width"]]
  if isinstance(size, list) and len(size) == 2 and size[0] == size[1]:
    size = size[0]
  return values.whole_number(size, field, origin)


def _numbers(settings: Mapping[str, Any], origin: str) -> dict[str, Any]:
  """Return scale, mean and std for 0..255 pixels."""
  scale, mean, std = 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
  if settings["do_rescale"]:
    scale = values.number(
      settings["rescale_factor"], "rescale_factor", origin, least=1e-9, most=1e9
    )
  if settings["do_normalize"]:
    mean = values.triple(settings["image_mean"], "image_mean", origin)  # type: ignore
    std = values.triple(settings["image_std"], "image_std", origin)  # type: ignore
  return {"scale": scale, "mean": mean, "std": std}
