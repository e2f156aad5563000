"""A Python function of a batch, written in jax; it runs sharded on the devices.

model = adapt(lambda x: my_net(x), spec, name="mine")
"""

from collections.abc import Callable
from typing import Any

from models.adapters import Adapted
from models.spec import ModelSpec
from robust_tfds import errors


def adapt(
  function: Callable[..., Any],
  spec: ModelSpec,
  *,
  name: str = "callable",
  channels_first: bool = False,
  output: str | int | None = None,
  rows: int | None = None,
) -> Adapted:
  """Wrap `function(batch) -> logits`, or a detector's function.

  Args:
    function: made of jax operations. It maps float32 `[B, H, W, 3]`,
      preprocessed by the spec, to `[B, classes]`; with a `VideoSpec` it takes
      clips `[B, T, H, W, 3]`. With a `DetectorSpec` it takes images (uint8
      `[B, H, W, 3]` RGB on canvases) and sizes (int32 `[B, 2]`, the valid
      height and width of each), and returns `boxes` float32 `[B, N, 4]` (x1,
      y1, x2, y2 in px of the canvas), `scores` float32 `[B, N]`, `classes`
      int32 `[B, N]` in 0..num_classes-1, `valid` bool `[B, N]`, and optionally
      `masks` float32 `[B, N, M, M]`, probabilities within each box.
    spec: its preprocessing and labels.
    name: name in reports.
    channels_first: whether it takes `[B, 3, H, W]`.
    output: key or index of the output that holds the logits.
    rows: the only batch size that it takes; the last batch is padded.

  Raises:
    UserError: `function` is not callable, or `spec` is not a spec.
  """
  if not callable(function):
    raise errors.UserError(
      f"Got {type(function).__name__}, expected a function."
    )
  return Adapted(
    name,
    spec,
    lambda _, *batch: function(*batch),
    channels_first=channels_first,
    output=output,
    rows=rows,
    code=function,
  )
