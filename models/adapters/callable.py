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
  """Wraps `function(batch) -> logits`, or a detector's function.

  Args:
    function: made of jax operations. float32 `[B, H, W, 3]`, preprocessed as
      the spec says -> `[B, classes]`; of a `VideoSpec`, clips `[B, T, H, W,
      3]`. Of a `DetectorSpec` it is given (images uint8 `[B, H, W, 3]` RGB on
      canvases, sizes int32 `[B, 2]`, the valid (height, width) of each) and
      answers with `boxes` float32 `[B, N, 4]` (x1, y1, x2, y2 in px of the
      canvas), `scores` float32 `[B, N]`, `classes` int32 `[B, N]` in
      0..num_classes-1, `valid` bool `[B, N]`, and where it makes them `masks`
      float32 `[B, N, M, M]`, chances within each box.
    spec: what it expects and answers.
    name: what reports call it.
    channels_first: give it `[B, 3, H, W]`.
    output: which of several outputs are the logits.
    rows: give it so many inputs at once, always; the last are padded.

  Raises:
    UserError: not callable, or no spec.
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
