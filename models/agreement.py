"""Whether a model's two routes agree, and which one a run takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import numpy as np

from robust_tfds import errors
from robust_tfds.models.adapters import Adapted
from robust_tfds.models.adapters import OnHost
from robust_tfds.models.spec import Spec

TOLERANCE = 1e-5  # of the logits' scale
_PROBE_ROWS = 2


def choose(traced: Callable[[], Adapted], host: OnHost) -> Adapted | OnHost:
  """The traced route where it gives the host's logits, else the host.

  Args:
    traced: makes the model that JAX traces; or raises a UserError.
    host: the other.

  Returns:
    One of both, whose `route` says which, and why.
  """
  try:
    model = traced()
    apart = distance(model, host)
  except errors.UserError as error:
    return dataclasses.replace(host, route=f"host: {error}")
  words = f"{apart:.1e} of the logits' scale beside the host route"
  if apart <= TOLERANCE:
    return dataclasses.replace(model, route=f"traced: {words}")
  return dataclasses.replace(host, route=f"host: traced it lies {words}")


def distance(model: Adapted, host: OnHost) -> float:
  """Between the logits of two seeded inputs, over the host's largest."""
  shape = batch_shape(model.spec, _PROBE_ROWS)
  batch = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
  want = host.apply(None, batch)
  got = np.asarray(jax.jit(model.apply)(model.variables, batch))
  return float(np.abs(got - want).max() / max(np.abs(want).max(), 1e-30))


def batch_shape(spec: object, rows: int) -> tuple[int, ...]:
  """Of pictures or clips as the spec sizes them.

  Raises:
    UserError: no spec of a classifier.
  """
  if not isinstance(spec, Spec):
    raise errors.UserError(
      f"Got a spec of type {type(spec).__name__}, expected a models.spec.Spec or"
      " models.video.spec.VideoSpec."
    )
  return spec.batch_shape(rows, spec.input_px)
