"""timm's networks by name: `timm:NAME` or `timm:NAME.TAG`, e.g. `timm:resnet50.a1_in1k`.

timm builds the network, and its `pretrained_cfg` says how pictures are prepared;
the torch adapter runs it. Weights are read as arrays alone (`models.convert.formats`):
a file's, else those that timm's name stands for, fetched from the hub.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from models import adapters
from models.convert import formats, sources
from models.convert.sidecar import timm_config
from models.model import Model
from models.spec import Spec
from robust_tfds import errors

START = "timm:"
_EXTRA = "convert"  # which brings timm, torchvision and torch
_SHOWN = 500  # characters of what torch says of names that do not fit

# What is published under a name, as `sources.locate` takes it (empty: nothing) ->
# the checkpoint to read; None: the weights stay random.
Weights = Callable[[str], sources.Located | None]


def build(name: str, num_classes: int | None, weights: Weights) -> Model:
  """Return a network of timm with its weights.

  Args:
    name: `timm:NAME` or `timm:NAME.TAG`; without a tag timm's default.
    num_classes: outputs of its head; None: as timm's weights have it.
    weights: says which.

  Raises:
    ImportError: timm or torch is not installed.
    UserError: an unknown name (with the nearest), pictures that no spec of ours
      describes, or weights that cannot be read or do not fit.
  """
  timm = _package()
  short = name.removeprefix(START)
  config = _config(timm, short)
  facts: Mapping[str, Any] = vars(config)
  classes = num_classes or config.num_classes
  spec = _spec(name, facts, classes)
  checkpoint = weights(_published(config.hf_hub_id))
  net = timm.create_model(short, num_classes=classes).eval()
  if checkpoint is not None:
    _load(name, net, checkpoint)
  return adapters.get("torch")(net, spec, name=short)


def _published(repository: str | None) -> str:
  """Return the checkpoint name of weights on the hub; empty for none."""
  owner, _, rest = (repository or "").partition("/")
  return f"{START}{rest}" if owner == "timm" and rest else ""


def _package() -> Any:
  """Import timm, or refuse.

  Raises:
    ImportError: it, or torch, is not installed.
    UserError: it does not load beside the torch that is.
  """
  try:
    timm = importlib.import_module("timm")
  except ImportError as error:
    what = "A name that begins with timm:"
    raise errors.missing_package_error("timm", _EXTRA, what) from error
  except RuntimeError as error:  # torchvision of another torch
    raise errors.UserError(
      f"timm cannot be imported: {errors.user_fault(error)} Its torchvision is of"
      f" another torch: pip install 'robust_tfds[{_EXTRA}]' brings two that fit."
    ) from error
  return timm


def _config(timm: Any, name: str) -> Any:
  """Return timm's `PretrainedCfg` of a name."""
  known = [*timm.list_models(), *timm.list_pretrained()]
  if name not in known:
    raise errors.unknown_error("model of timm", name, known)
  config = timm.models.get_pretrained_cfg(name)
  return config or timm.models.PretrainedCfg(architecture=name)


def _spec(name: str, facts: Mapping[str, Any], classes: int) -> Spec:
  """Return the preprocessing of a network, as timm states it."""
  fields = timm_config.fields(facts, f"{name}: pretrained_cfg")
  if classes != facts["num_classes"]:
    fields.pop("label_space", None)
  return Spec(
    **{
      "label_space": "custom",
      **fields,
      "num_classes": classes,
      "flexible": not facts.get("fixed_input_size"),
      "weights": "timm",
    }
  )


def _load(name: str, net: Any, checkpoint: sources.Located) -> None:
  """Load a checkpoint's arrays into a network; refuse another network's."""
  torch = importlib.import_module("torch")
  arrays = formats.read(checkpoint.path)
  state = {k: torch.from_numpy(np.array(v)) for k, v in arrays.items()}
  try:
    net.load_state_dict(state)
  except RuntimeError as error:
    reason = " ".join(str(error).split())[:_SHOWN]
    raise errors.UserError(
      f"{checkpoint.name}: these are no weights of {name}: {reason}"
    ) from error
