"""timm's `pretrained_cfg`, in `config.json` or a file's metadata, as a spec.

The rules are those of timm 1.0.31: `timm/data/config.py:resolve_data_config`
for missing keys, and for resize and crop
`timm/data/transforms_factory.py:transforms_imagenet_eval`. `input_size` and
`crop_pct` are taken, as timm's own snippets do (`resolve_model_data_config`);
`test_input_size` and `test_crop_pct`, with which some of its printed numbers
were measured, are not.
"""

import math
from collections.abc import Mapping
from typing import Any

from models.convert.sidecar import values

_CROP_PCT = 0.875  # timm.data.constants.DEFAULT_CROP_PCT
_MEAN = (0.485, 0.456, 0.406)  # IMAGENET_DEFAULT_MEAN
_STD = (0.229, 0.224, 0.225)
_SIZE = (3, 224, 224)
_SQUASH, _CENTRE = "squash", "center"


def fields(facts: Mapping[str, Any], origin: str) -> dict[str, Any]:
  """Return the fields of `models.spec.Spec`.

  Args:
    facts: the `pretrained_cfg`; missing or null keys have timm's defaults.
    origin: the text that a refusal begins with, e.g. `config.json:
      pretrained_cfg`.

  Raises:
    UserError: a value is not of the kind that timm writes, or a rule cannot be
      expressed by our specs; the message names the field.
  """
  stated = {name: value for name, value in facts.items() if value is not None}
  side = _side(stated.get("input_size", _SIZE), origin)
  share = values.number(
    stated.get("crop_pct") or _CROP_PCT, "crop_pct", origin, least=0.01, most=1
  )
  mode = stated.get("crop_mode") or _CENTRE
  if mode not in (_SQUASH, _CENTRE):
    raise values.expression_error(
      origin, "crop_mode", mode, "center or squash: no rule here adds borders"
    )
  out = {
    "input_px": side,
    "resize": "squash" if mode == _SQUASH else "short_side",
    "resize_px": math.floor(side / share),
    "interpolation": values.interpolation(
      stated.get("interpolation") or "bicubic", origin
    ),
    "channel_order": "rgb",
    "scale": 1 / 255,
    "mean": values.triple(stated.get("mean") or _MEAN, "mean", origin),
    "std": values.triple(stated.get("std") or _STD, "std", origin),
  }
  classes = stated.get("num_classes")
  if classes:
    out["num_classes"] = values.whole_number(classes, "num_classes", origin)
    if classes == 1000 and str(stated.get("tag", "")).endswith("in1k"):
      out["label_space"] = "imagenet1k"
  return out


def _side(size: Any, origin: str) -> int:
  """Return the side of a square picture of three channels."""
  triple = list(size) if isinstance(size, (list, tuple)) else []
  if len(triple) != 3 or triple[0] != 3 or triple[1] != triple[2]:
    raise values.expression_error(
      origin, "input_size", size, "[3, side, side]: a square of three channels"
    )
  return values.whole_number(triple[1], "input_size", origin)
