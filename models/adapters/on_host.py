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
  """Wrap `function(batch) -> logits`, or a detector's function of a picture.

  It is called in one thread, in the order of the data, while the devices
  prepare the next batch. All batches have the same size.

  Args:
    function: maps uint8 `[B, H, W, 3]` RGB to float `[B, classes]`, larger for
      likelier classes; with a `VideoSpec` it takes clips `[B, T, H, W, 3]`.
      With a `DetectorSpec` it maps one uint8 picture `[h, w, 3]` of its own
      size to a dict of `boxes` `[n, 4]` (x1, y1, x2, y2 in px), `scores` `[n]`
      and `classes` `[n]` in 0..num_classes-1; n may differ from picture to
      picture and be 0. At most the best `spec.detections` are kept.
    spec: its preprocessing and labels.
    name: name in reports.
    preprocessed: whether it takes float32 pixels, preprocessed by the spec,
      instead of uint8.
    channels_first: whether it takes `[B, 3, H, W]`.
    output: key or index of the output that holds the logits.
    rows: the only batch size that it takes; the last batch is padded.

  Raises:
    UserError: `function` is not callable, or `spec` is not a spec.
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
