"""Torch modules: checks, why one cannot be exported, weights and answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from robust_tfds import errors

if TYPE_CHECKING:
  import torch

_EXPECTED = (
  "expected a torch.nn.Module, torch.jit.ScriptModule or"
  " torch.export.ExportedProgram"
)


def check(net: Any) -> None:
  """Refuse anything but a torch module in evaluation mode.

  Raises:
    UserError: `net` is a path (pickles are never loaded), a state dict, a
      class, a function, or a module without numbers or in train mode.
  """
  import torch

  if isinstance(net, (str, os.PathLike)):
    raise errors.UserError(
      f"{net}: got a path, {_EXPECTED} in memory. Torch's files are pickles,"
      " which run code when they are read: build the network in Python, then"
      " net.load_state_dict(torch.load(path, weights_only=True)); or, for a"
      " network of models.names(), use models.convert.load(name, path)."
    )
  if isinstance(net, Mapping):
    raise errors.UserError(
      f"Got a dict of {len(net)} entries, {_EXPECTED}: build the network, then"
      " net.load_state_dict(it)."
    )
  if isinstance(net, torch.export.ExportedProgram):
    return
  if not isinstance(net, torch.nn.Module):
    what = f"the class {net.__name__}" if isinstance(net, type) else type(net)
    advice = (
      ": build it first"
      if isinstance(net, type)
      else '. For a function there is adapters.get("on_host")'
    )
    raise errors.UserError(f"Got {what}, {_EXPECTED}{advice}.")
  _check_mode(net)
  if any(p.is_meta for p in net.parameters()):
    raise errors.UserError(
      f"{type(net).__name__} lies on the device `meta`, without numbers: build"
      " it on another device and load its weights."
    )


def _check_mode(net: torch.nn.Module) -> None:
  training = [n or "the module" for n, m in net.named_modules() if m.training]
  if training:
    some = ", ".join(training[:3]) + ", ..." * (len(training) > 3)
    raise errors.UserError(
      f"{type(net).__name__} is in train mode ({some}), where answers depend on"
      " the other pictures of a batch or on chance: call net.eval() first."
    )


def unwrapped(net: Any) -> Any:
  """Return the module inside a compiled one; other modules unchanged."""
  import torch

  if isinstance(net, torch._dynamo.OptimizedModule):
    return net._orig_mod
  return net


def obstacle(net: Any) -> str:
  """Return the known reason why a module cannot be traced; '' if none."""
  import torch

  if isinstance(net, torch.jit.ScriptModule):
    return "it is a TorchScript module, which torch.export does not take"
  tensors = state(net).values()
  kinds = {t.dtype for t in tensors if not t.dtype.is_floating_point}
  odd = kinds - {torch.bool, torch.int32, torch.int64}
  if odd or any(t.is_quantized for t in tensors):
    named = ", ".join(sorted(str(k) for k in odd))
    return f"its weights are quantised ({named})"
  floats = {t.dtype for t in tensors} - kinds - {torch.float32}
  if floats:
    named = ", ".join(sorted(str(k) for k in floats))
    return f"its weights are {named}: net.float() makes them float32"
  if len({t.device for t in tensors}) > 1:
    return "its weights lie on several devices"
  if isinstance(net, torch.nn.Module):
    hooked = [n or "itself" for n, m in net.named_modules() if _has_hooks(m)]
    if hooked:
      return f"it has hooks (on {hooked[0]}), which only torch calls"
  return ""


def state(net: Any) -> dict[str, torch.Tensor]:
  """Return weights and buffers by name; a quantised module shows only some."""
  import torch

  if isinstance(net, torch.export.ExportedProgram):
    return dict(net.state_dict)
  return {**dict(net.named_parameters()), **dict(net.named_buffers())}


def _has_hooks(module: torch.nn.Module) -> bool:
  return bool(module._forward_hooks or module._forward_pre_hooks)


def place(net: Any) -> tuple[torch.device, torch.dtype]:
  """Return the device and dtype of a module's first weights."""
  import torch

  for tensor in state(net).values():
    if tensor.dtype.is_floating_point:
      return tensor.device, tensor.dtype
  return torch.device("cpu"), torch.float32


def description(net: Any) -> str:
  """Return a module's structure as text."""
  import torch

  if isinstance(net, torch.export.ExportedProgram):
    return str(net.graph)
  return repr(net)


def plain(answer: Any, leaf: Callable[[torch.Tensor], Any]) -> Any:
  """Return a module's answer as dicts and lists, with `leaf` of each tensor.

  Dataclasses and named tuples become dicts; None is left out of dicts.
  """
  import dataclasses

  import torch

  if isinstance(answer, torch.Tensor):
    return leaf(answer)
  if dataclasses.is_dataclass(answer) and not isinstance(
    answer, (Mapping, type)
  ):
    fields = dataclasses.fields(answer)
    answer = {f.name: vars(answer)[f.name] for f in fields}
  elif isinstance(answer, tuple) and type(answer) is not tuple:
    answer = dict(zip(type(answer)._fields, answer, strict=True))  # type: ignore[attr-defined]
  if isinstance(answer, Mapping):
    return {k: plain(v, leaf) for k, v in answer.items() if v is not None}
  if isinstance(answer, (tuple, list)):
    return [plain(v, leaf) for v in answer]
  return answer
