"""Where the windows of convolutions and pooling lie, of ONNX's attributes."""

import dataclasses
import math
from typing import Self

from models.adapters.onnx_graph.operators.node import Node

Pads = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True)
class Windows:
  """A window's form and steps, a number for each spatial axis.

  Attributes:
    kernel: its size.
    strides: from one window to the next.
    dilations: from one of its elements to the next.
    pads: what lies before and after the picture.
    spare: of the `after`, what only completes a last window (`ceil_mode`).
  """

  kernel: tuple[int, ...]
  strides: tuple[int, ...]
  dilations: tuple[int, ...]
  pads: Pads
  spare: tuple[int, ...]

  @classmethod
  def of(
    cls, node: Node, sides: tuple[int, ...], kernel: tuple[int, ...]
  ) -> Self:
    """The windows of a node.

    Args:
      node: has the attributes of `Conv` and the pools.
      sides: of the picture, in px.
      kernel: of the window.
    """
    ones = (1,) * len(kernel)
    strides = node.attributes.get("strides", ones)
    dilations = node.attributes.get("dilations", ones)
    reach = tuple(d * (k - 1) + 1 for d, k in zip(dilations, kernel))
    pads = pads_of(node, sides, reach, strides)
    spare = (0,) * len(kernel)
    if node.attributes.get("ceil_mode"):
      spare = tuple(map(_spare, sides, pads, reach, strides))
    return cls(kernel, strides, dilations, pads, spare)

  @property
  def padding(self) -> Pads:
    """`pads` with what completes the last windows."""
    return tuple((a, b + more) for (a, b), more in zip(self.pads, self.spare))


def pads_of(
  node: Node,
  sides: tuple[int, ...],
  reach: tuple[int, ...],
  strides: tuple[int, ...],
) -> Pads:
  """(before, after) of each axis, of `pads` or of the older `auto_pad`."""
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
  """As many windows as ceil(side / stride); an odd px lies after, or before."""
  total = max((math.ceil(side / stride) - 1) * stride + reach - side, 0)
  less, more = total // 2, total - total // 2
  return (less, more) if upper else (more, less)


def _spare(side: int, pads: tuple[int, int], reach: int, stride: int) -> int:
  """What a window that begins inside lacks at the end."""
  room = side + sum(pads) - reach
  steps = math.ceil(room / stride)
  if steps * stride >= side + pads[0]:  # it would begin in the padding
    steps -= 1
  return max(steps * stride - room, 0)
