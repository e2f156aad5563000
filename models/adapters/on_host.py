"""A Python function of numpy arrays: a service, a library, anything.

model = adapt(lambda images: my_net(images), spec, name="mine")
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from models.adapters import OnHost
from models.spec import ModelSpec


def adapt(
  function: Callable[[np.ndarray], Any],
  spec: ModelSpec,
  *,
  name: str = "on_host",
  preprocessed: bool = False,
  channels_first: bool = False,
  output: str | int | None = None,
  rows: int | None = None,
) -> OnHost:
  """Wraps `function(batch) -> logits`, or a detector's function of a picture.

  It is called in one thread, in the order of the data, while the devices make
  the next batch. Batches have one size.

  Args:
    function: uint8 `[B, H, W, 3]` RGB -> float `[B, classes]`, larger for
      likelier classes; of a `VideoSpec` clips `[B, T, H, W, 3]`. Of a
      `DetectorSpec` one uint8 picture `[h, w, 3]` of its own size -> a dict of
      `boxes` `[n, 4]` (x1, y1, x2, y2 in px), `scores` `[n]` and `classes`
      `[n]` in 0..num_classes-1; n may differ from picture to picture and be 0,
      and of more than `spec.detections` the best are taken.
    spec: what it expects and answers.
    name: what reports call it.
    preprocessed: give it float32 pixels as the spec says, not uint8.
    channels_first: give it `[B, 3, H, W]`.
    output: which of several outputs are the logits.
    rows: give it so many inputs at once, always; the last are padded.

  Raises:
    UserError: not callable, or no spec.
  """
  return OnHost(
    name,
    spec,
    function,
    preprocessed=preprocessed,
    channels_first=channels_first,
    output=output,
    rows=rows,
  )
