"""Query, key and value of a checkpoint's attention layers, as one projection.

torchvision, timm and our networks hold one array; HF's files and those of JAX
programs hold three. `join` is the `Family.regroup` of such families; arrays
that are already joined pass unchanged.
"""

import re
from collections.abc import Mapping

import numpy as np

from models.family import Rules

# HF's names of transformers 4 and 5, and CLIP's.
_HF = re.compile(
  r"(?P<stem>.*?\.)(?:attention\.attention|attention|self_attn)\."
  r"(?P<which>query|key|value|q_proj|k_proj|v_proj)\.(?P<leaf>weight|bias)"
)
_FLAX = re.compile(
  r"(?P<stem>.*MultiHeadDotProductAttention_\d+/)"
  r"(?P<which>query|key|value)/(?P<leaf>kernel|bias)"
)
_FLAX_OUT = re.compile(r".*MultiHeadDotProductAttention_\d+/out/kernel")
# big_vision with `scan`: one array holds the same variable of all blocks.
_STACKED = re.compile(r"(.*encoderblock)/(.*)")
_ORDER = {"q": 0, "k": 1, "v": 2}
# Flax's names in torch's words, without the prefixes that training adds.
FLAX_NAMES: Rules = (
  (r"^(?:opt/target/|params/)?(?:img/)?", ""),
  (r"/(?:kernel|scale)$", "/weight"),
  (r"/", "."),
)


def join(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Replace each attention's three arrays by one, `...attn.qkv.weight` or
  `.../qkv/kernel`.

  Args:
    arrays: name in the file -> array.
  """
  out: dict[str, np.ndarray] = {}
  parts: dict[str, dict[int, np.ndarray]] = {}
  for name, array in _unstacked(arrays).items():
    match = _HF.fullmatch(name) or _FLAX.fullmatch(name)
    if match is None:
      out[name] = _flat_out(name, array)
      continue
    joined = _joined_name(match)
    out.setdefault(joined, array)  # holds the place in the order
    parts.setdefault(joined, {})[_ORDER[match["which"][0]]] = array
  for name, three in parts.items():
    if len(three) == len(_ORDER):
      out[name] = _concatenated(name, [three[i] for i in range(len(_ORDER))])
  return out


def _joined_name(match: re.Match[str]) -> str:
  if match.re is _FLAX:
    return f"{match['stem']}qkv/{match['leaf']}"
  return f"{match['stem']}attn.qkv.{match['leaf']}"


def _concatenated(name: str, three: list[np.ndarray]) -> np.ndarray:
  """Concatenate torch's arrays by rows, and flax's flattened heads by columns."""
  if name.endswith("qkv/kernel"):
    return np.concatenate([a.reshape(len(a), -1) for a in three], axis=1)
  if name.endswith("qkv/bias"):
    return np.concatenate([a.reshape(-1) for a in three])
  return np.concatenate(three)


def _flat_out(name: str, array: np.ndarray) -> np.ndarray:
  """Reshape flax's output kernel `[heads, n, width]` to a matrix."""
  if _FLAX_OUT.fullmatch(name):
    return array.reshape(-1, array.shape[-1])
  return array


def _unstacked(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Split arrays that hold all blocks, as big_vision's do, into one array per block."""
  out: dict[str, np.ndarray] = {}
  for name, array in arrays.items():
    match = _STACKED.fullmatch(name)
    if match is None:
      out[name] = array
      continue
    for i, part in enumerate(array):
      out[f"{match[1]}_{i}/{match[2]}"] = part
  return out
