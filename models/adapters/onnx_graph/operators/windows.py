"""Windows of convolutions and pooling, from ONNX's attributes."""

import dataclasses
import math
from typing import Self

from models.adapters.onnx_graph.operators.node import Node

Pads = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True)
class Windows:
  """A window's shape and steps, a number for each spatial axis.

  Attributes:
    kernel: size of the window.
    strides: step from one window to the next.
    dilations: step from one element of a window to the next.
    pads: padding before and after the picture.
    spare: further padding after it that completes a last window (`ceil_mode`).
  """

  kernel: tuple[int, ...]
  strides: tuple[int, ...]
  dilations: tuple[int, ...]
  pads: Pads
  spare: tuple[int, ...]

  @classmethod
  def from_node(
    cls, node: Node, sides: tuple[int, ...], kernel: tuple[int, ...]
  ) -> Self:
    """Return the windows of a node.

    Args:
      node: a `Conv` or a pooling.
      sides: sides of the picture, in px.
      kernel: size of the window.
    """
    ones = (1,) * len(kernel)
    strides = node.attributes.get("strides", ones)
    dilations = node.attributes.get("dilations", ones)
    reach = tuple(d * (k - 1) + 1 for d, k in zip(dilations, kernel))
    pads = _padding(node, sides, reach, strides)
    spare = (0,) * len(kernel)
    if node.attributes.get("ceil_mode"):
      spare = tuple(map(_spare, sides, pads, reach, strides))
    return cls(kernel, strides, dilations, pads, spare)

  @property
  def padding(self) -> Pads:
    """The padding with what completes the last windows."""
    return tuple((a, b + more) for (a, b), more in zip(self.pads, self.spare))


def _padding(
  node: Node,
  sides: tuple[int, ...],
  reach: tuple[int, ...],
  strides: tuple[int, ...],
) -> Pads:
  """Return (before, after) of each axis, from `pads` or the older `auto_pad`."""
  mode = node.attributes.get("auto_pad", "NOTSET")
  if mode in ("SAME_UPPER", "SAME_LOWER"):
    return tuple(
      _same(n, r, s, mode == "SAME_UPPER")
      for n, r, s in zip(sides, reach, strides)
    )
  pads = node.attributes.get("pads")
  if mode == "VALID" or pads is None:
    return ((0, 0),) * len(sides)
  return tuple(zip(pads[: len(sides)], pads[len(sides) :], strict=True))


def _same(side: int, reach: int, stride: int, upper: bool) -> tuple[int, int]:
  """Pad for ceil(side / stride) windows; an odd px is added after (`upper`)."""
  total = max((math.ceil(side / stride) - 1) * stride + reach - side, 0)
  less, more = total // 2, total - total // 2
  return (less, more) if upper else (more, less)


def _spare(side: int, pads: tuple[int, int], reach: int, stride: int) -> int:
  """Return the padding that completes a last window that begins inside."""
  room = side + sum(pads) - reach
  steps = math.ceil(room / stride)
  if steps * stride >= side + pads[0]:  # it would begin in the padding
    steps -= 1
  return max(steps * stride - room, 0)
