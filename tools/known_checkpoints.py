"""Write the tables of torchvision's and timm's checkpoints.

  python -m tools.known_checkpoints

Rewrites models/convert/known/{torchvision,timm}.csv from the installed packages
(extra `convert`): addresses, digits of the sha256 in file names, printed shares
of right answers, preprocessing. No weights are fetched. Of torchvision all
classifiers, detectors, segmenters and video networks are listed that the catalogue
has or may get under torchvision's names; of timm those whose network is one of ours.
"""

import csv
import functools
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from models import catalogue
from models.convert import known, match
from models.convert.sidecar import timm_config
from robust_tfds import errors, models

_FOLDER = pathlib.Path(known.__file__).parent
_DIGITS = re.compile(r"-([0-9a-f]{8,64})\.\w+$")
_DATA = {
  "IMAGENET1K": "imagenet1k",
  "KINETICS400": "kinetics400",
  "COCO": "coco",
}
_UNLISTED = re.compile(r"^(quantized_|raft_)")
# timm's word for a data set -> ours, in tags such as `augreg_in21k_ft_in1k`.
_TAG_DATA = {
  "in1k": "imagenet1k",
  "in12k": "imagenet12k",
  "in21k": "imagenet21k",
  "in22k": "imagenet21k",
  "laion2b": "laion2b",
  "openai": "openai's pairs",
  "yfcc15m": "yfcc15m",
  "lvd142m": "lvd142m",
}
# Networks of timm that are ours under another name, besides the families'
# `oracles` and equal names.
_SAME_NETWORK = {
  "deit_tiny_patch16_224": "vit_tiny_patch16_224",
  "deit_small_patch16_224": "vit_small_patch16_224",
  "deit_base_patch16_224": "vit_base_patch16_224",
  "vit_base_patch32_224": "vit_b_32",
  "vit_large_patch16_224": "vit_l_16",
  "vit_large_patch32_224": "vit_l_32",
  "resnext101_64x4d": "resnext101_64x4d_torchvision",
  "mnasnet_050": "mnasnet0_5",
  "mnasnet_075": "mnasnet0_75",
  "mnasnet_100": "mnasnet1_0",
  "mobilenetv2_100": "mobilenet_v2",
  "regnetx_004_tv": "regnet_x_400mf",
  "regnetx_008": "regnet_x_800mf",
  "regnetx_016": "regnet_x_1_6gf",
  "regnetx_032": "regnet_x_3_2gf",
  "regnetx_080": "regnet_x_8gf",
  "regnetx_160": "regnet_x_16gf",
  "regnetx_320": "regnet_x_32gf",
  "regnety_004": "regnet_y_400mf",
  "regnety_008_tv": "regnet_y_800mf",
  "regnety_016": "regnet_y_1_6gf",
  "regnety_032": "regnet_y_3_2gf",
  "regnety_080_tv": "regnet_y_8gf",
  "regnety_160": "regnet_y_16gf",
  "regnety_320": "regnet_y_32gf",
  "regnety_1280": "regnet_y_128gf",
  "swinv2_tiny_window8_256": "swin_v2_t",
  "swinv2_small_window8_256": "swin_v2_s",
  "swinv2_base_window8_256": "swin_v2_b",
}
# timm's names of these are torchvision's, and ours, without rules of a family.
_PLAIN = ("resnet", "resnext", "wide_resnet", "densenet")
# Of these torchvision brings pixels from the usual statistics to 0.5 itself
# (`transform_input`); our networks do not.
_TRANSFORMS_INPUT = ("googlenet", "inception_v3")
_HALF = (0.5, 0.5, 0.5)
# Of equal names whose networks differ: none of our models takes timm's file.
_OTHER_NETWORK = ("inception_v3",)


def torchvision_rows() -> Iterator[dict[str, str]]:
  """Return a row for each of torchvision's weights."""
  from torchvision import models as library

  for builder in library.list_models():
    if _UNLISTED.match(builder):
      continue
    for weights in library.get_model_weights(builder):
      if weights.name.endswith("_FEATURES"):
        continue  # a backbone: its head was never trained
      yield _torchvision_row(builder, weights)


def _torchvision_row(builder: str, weights: Any) -> dict[str, str]:
  meta, name = weights.meta, f"{type(weights).__name__}.{weights.name}"
  digits = _DIGITS.search(weights.url)
  printed = meta["_metrics"].get("ImageNet-1K", {})
  data = next(v for k, v in _DATA.items() if weights.name.startswith(k))
  if "SWAG" in weights.name:
    data = f"swag, {data}"
  preprocessing = _preset_columns(weights.transforms)
  if builder in _TRANSFORMS_INPUT:
    preprocessing |= {"mean": _triple(_HALF), "std": _triple(_HALF)}
  side = preprocessing.get("input_px", "")
  named = _ours("torchvision", builder)
  ours = [model for model in named if _takes(model, side)]
  return {
    "name": f"torchvision:{name}",
    "models": " ".join(ours) or ("" if named else builder),
    "where": weights.url,
    "sha256": digits[1] if digits else "",
    "licence": _licence(meta),
    "trained_on": data,
    "top1": _share(printed.get("acc@1")),
    "top5": _share(printed.get("acc@5")),
    "num_classes": str(len(meta.get("categories") or "") or ""),
    "weights": "torchvision",
    **preprocessing,
    "source": f"torchvision 0.28 {name}",
  }


def _licence(meta: Mapping[str, Any]) -> str:
  """Return the licence of an enum's weights; only SWAG's have one."""
  address = meta.get("license", "")
  return "CC-BY-NC-4.0" if "SWAG" in address else address


def _share(percent: float | None) -> str:
  return "" if percent is None else f"{percent / 100:.5f}"


def _preset_columns(transforms: Any) -> dict[str, str]:
  """Return the preprocessing of an image classifier; empty for other kinds."""
  preset = transforms()
  if type(preset).__name__ != "ImageClassification":
    return {}
  return {
    "input_px": str(preset.crop_size[0]),
    "resize": "short_side",
    "resize_px": str(preset.resize_size[0]),
    "interpolation": preset.interpolation.value,
    "channel_order": "rgb",
    "scale": repr(1 / 255),
    "mean": _triple(preset.mean),
    "std": _triple(preset.std),
  }


def _triple(values: Iterable[float]) -> str:
  return " ".join(map(repr, values))


def timm_rows() -> Iterator[dict[str, str]]:
  """Return a row for each of timm's checkpoints with a network of ours."""
  import timm

  for name in timm.list_pretrained():
    architecture, _, tag = name.partition(".")
    ours = _ours("timm", architecture)
    facts = timm.models.get_pretrained_cfg(name).to_dict()
    if not ours or not facts.get("num_classes") or not facts.get("hf_hub_id"):
      continue
    preprocessing = _of_timm(facts)
    ours = [
      model
      for model in ours
      if _takes(model, preprocessing["input_px"]) and _fits(model, architecture)
    ]
    if not ours:
      continue
    yield {
      "name": f"timm:{name}",
      "models": " ".join(ours),
      "where": f"https://huggingface.co/{facts['hf_hub_id']}",
      "licence": (facts.get("license") or "").replace("unknown", ""),
      "trained_on": ", ".join(_data_of_tag(tag)),
      "num_classes": str(facts["num_classes"]),
      "weights": "timm",
      **preprocessing,
      "source": f"timm 1.0.31 pretrained_cfg of {name}",
    }


def _data_of_tag(tag: str) -> list[str]:
  return [_TAG_DATA[word] for word in tag.split("_") if word in _TAG_DATA]


def _of_timm(facts: Mapping[str, Any]) -> dict[str, str]:
  fields = timm_config.fields(facts, "timm")
  shown = {k: v for k, v in fields.items() if k in known.COLUMNS}
  return {
    k: _triple(v) if isinstance(v, tuple) else str(v) for k, v in shown.items()
  }


def _ours(package: str, network: str) -> list[str]:
  """Return our models of a package's network."""
  oracle = f"{package}:{network}"
  named = [
    name
    for name in models.names()
    if catalogue.family_of(name).oracles.get(name, "").startswith(oracle)
    and catalogue.family_of(name).oracles[name] == oracle
  ]
  if package == "timm" and network not in _OTHER_NETWORK:
    same = _SAME_NETWORK.get(network, network)
    named += [same] if _has_timms_names(same) else []
  elif package == "torchvision":
    named += [network]
  return sorted(
    {
      alike
      for name in named
      if name in models.names()
      for alike in _network_siblings(name)
    }
  )


def _has_timms_names(model: str) -> bool:
  """Return whether a model's family knows timm's names of its arrays."""
  if model not in models.names():
    return False
  styles = catalogue.family_of(model).checkpoints
  return model.startswith(_PLAIN) or any(s.startswith("timm") for s in styles)


def _takes(model: str, side: str) -> bool:
  """Return whether a model takes pictures of a side in px; true without a side."""
  fixed = catalogue.network(model).spec.fixed_px
  return not side or fixed in (None, int(side))


@functools.cache
def _fits(model: str, architecture: str) -> bool:
  """Return whether timm's arrays fit a model; they need no values for that."""
  import timm
  import torch

  with torch.device("meta"):
    module = timm.create_model(architecture, pretrained=False)
  nothing = np.zeros((), np.float32)
  arrays = {
    name: np.broadcast_to(nothing, tuple(value.shape))
    for name, value in module.state_dict().items()
    if not name.endswith("num_batches_tracked")
  }
  try:
    match.match_arrays(catalogue.network(model), arrays)
  except errors.UserError as error:
    print(f"{architecture} is no {model}: {str(error)[:150]}")
    return False
  return True


def _network_siblings(name: str) -> Iterator[str]:
  """Return a model, and those of its family with its options and input size."""
  family = catalogue.family_of(name)
  like = family.variants[name]
  for other, variant in family.variants.items():
    same = _test_options(variant.options) == _test_options(like.options)
    if same and _input_px(variant.spec) == _input_px(like.spec):
      yield other


def _test_options(options: Mapping[str, Any]) -> dict[str, Any]:
  """Return options without rates that only training uses."""
  return {k: v for k, v in options.items() if not k.startswith("drop")}


def _input_px(spec: Any) -> int | None:
  """Return the input side of a network; None for detectors."""
  return getattr(spec, "input_px", None)


def write(table: str, rows: Iterable[Mapping[str, str]]) -> None:
  """Write a table beside `models/convert/known/__init__.py`."""
  path = _FOLDER / f"{table}.csv"
  with path.open("w", encoding="utf-8", newline="") as file:
    writer = csv.DictWriter(
      file, known.COLUMNS, restval="", lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)


def main() -> None:
  """Write both tables."""
  write("torchvision", list(torchvision_rows()))
  write("timm", list(timm_rows()))


if __name__ == "__main__":
  main()
