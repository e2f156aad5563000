"""The network that a checkpoint belongs to, if its arrays do not show it.

Networks with equal names and shapes may differ in parts without arrays: timm's
`resnetaa50` blurs where `resnet50` strides, `tf_efficientnet_b0` pads
differently from `efficientnet_b0`, CLIP's files have GELU or QuickGELU. timm's
`config.json` states the architecture, HF's the constants; the tables of known
checkpoints state the network of a published file.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from models.convert import known
from models.model import NetworkModel

ARCHITECTURE, MODELS = "architecture", "models"
_TIMM = "timm:"
_SIDE = "side"  # positions of another grid are interpolated
# transformers 5.23, models/<model_type>/modeling_*.py: our networks compute the
# same.
_ACTIVATIONS = {
  "vit": "gelu",
  "deit": "gelu",
  "dinov2": "gelu",
  "dinov2_with_registers": "gelu",
  "swin": "gelu",
  "swinv2": "gelu",
  "convnext": "gelu",
  "convnextv2": "gelu",
  "resnet": "relu",
}
_RESNET = {
  "downsample_in_bottleneck": False,
  "downsample_in_first_stage": False,
}
_CLIP = ("clip", "clip_vision_model")
_CLIPS_DEFAULT = {"hidden_act": "quick_gelu"}  # CLIPVisionConfig's


def timm_facts(name: str) -> dict[str, Any]:
  """Return what `timm:NAME.TAG` states; {} for other names."""
  if not name.startswith(_TIMM):
    return {}
  return {ARCHITECTURE: name.removeprefix(_TIMM).partition(".")[0]}


def config_facts(config: Mapping[str, Any]) -> dict[str, Any]:
  """Return the statements of a `config.json` of timm or HF, as `differs` takes them."""
  architecture, kind = config.get(ARCHITECTURE), config.get("model_type")
  if isinstance(architecture, str):
    return {ARCHITECTURE: architecture}
  if not isinstance(kind, str):
    return {}
  vision = config.get("vision_config")
  facts = dict(vision) if isinstance(vision, Mapping) else dict(config)
  defaults = _CLIPS_DEFAULT if kind in _CLIP else {}
  return {**defaults, **facts, "model_type": kind}


def differs(model: NetworkModel, facts: Mapping[str, Any]) -> str:
  """Return the facts that do not hold for a model's network; '' if all do.

  Args:
    model: the model; its arrays have the file's names and shapes.
    facts: from `timm_facts`, `config_facts`, or a known checkpoint's `models`.
  """
  same = set(_same_network(model))
  architecture, listed = facts.get(ARCHITECTURE), facts.get(MODELS)
  if architecture is not None and architecture not in _architectures(
    model, same
  ):
    return f"architecture {architecture}"
  if listed and not same & set(listed):
    return f"the network of {' or '.join(listed)}"
  expected = _expected(model, facts.get("model_type"))
  wrong = [
    f"{name} {facts[name]}"
    for name, value in expected.items()
    if name in facts and facts[name] != value
  ]
  return " and ".join(wrong)


def _expected(model: NetworkModel, kind: Any) -> dict[str, Any]:
  """Return the values of HF's constants in a model's network, by name."""
  if not isinstance(kind, str):
    return {}
  options = model.variant.options
  out: dict[str, Any] = {}
  if kind in _ACTIVATIONS:
    out["hidden_act"] = _ACTIVATIONS[kind]
  if kind in _CLIP and "quick" in options:
    out["hidden_act"] = "quick_gelu" if options["quick"] else "gelu"
  if "heads" in options:
    out["num_attention_heads"] = options["heads"]
  if "window" in options:
    out["window_size"] = options["window"]
  return out | (_RESNET if kind == "resnet" else {})


def _same_network(model: NetworkModel) -> Iterator[str]:
  """Yield models of the family that differ at most in the side of their pictures."""
  own = _without_side(model.variant.options)
  for name, variant in model.family.variants.items():
    if _without_side(variant.options) == own:
      yield name


def _without_side(options: Mapping[str, Any]) -> dict[str, Any]:
  return {name: value for name, value in options.items() if name != _SIDE}


def _architectures(model: NetworkModel, same: set[str]) -> set[str]:
  """Return timm's names of a model's network, as far as they are known here."""
  oracles = model.family.oracles
  rows = {r.name for r in known.every() if same & set(r.models)}
  names = {*rows, *(oracles[name] for name in same if name in oracles)}
  return same | {timm_facts(name).get(ARCHITECTURE, "") for name in names}
