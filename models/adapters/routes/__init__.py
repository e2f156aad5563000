"""The two routes of a model, traced and on the host, and the choice between them."""

import dataclasses
from collections.abc import Callable, Mapping

import jax
import numpy as np

from models.adapters import Adapted, OnHost
from models.segmentation.resize import network_canvas
from models.segmentation.spec import SegmenterSpec
from models.spec import Spec
from robust_tfds import errors

_ROUTES = ("auto", "traced", "host")
TOLERANCE = 1e-5  # of the logits' scale
_PROBE_ROWS = 2
_MAP_PX = (64, 96)  # a segmenter's picture


def check_route(route: str) -> None:
  """Refuse an unknown name of a route.

  Raises:
    UserError: the route is unknown; the known ones are named.
  """
  if route not in _ROUTES:
    raise errors.unknown_error("route", route, _ROUTES)


def choose_route(
  traced: Callable[[], Adapted], host: OnHost
) -> Adapted | OnHost:
  """Choose the traced route if it gives the host's logits, else the host route.

  Args:
    traced: makes the model that JAX traces, or raises a UserError.
    host: the model that runs on the host.

  Returns:
    The chosen model; its `route` says which it is, and why.
  """
  try:
    model = traced()
    shown = pictures(host.spec, _PROBE_ROWS)
    distance = check_agreement(model, {_PROBE_ROWS: host.apply(None, shown)})
  except errors.UserError as error:
    return dataclasses.replace(host, route=f"host: {error}")
  words = f"{distance:.1e} of the logits' scale beside the host route"
  return dataclasses.replace(model, route=f"traced: {words}")


def check_agreement(
  model: Adapted, answered: Mapping[int, np.ndarray]
) -> float:
  """Return the distance of a traced model's logits from its original's, over
  their scale.

  Args:
    model: the traced model.
    answered: the host route's logits by the number of `pictures` in a batch.

  Raises:
    UserError: the distance is above `TOLERANCE`, all logits are 0, or JAX
      cannot run the program.
  """
  call, distance = jax.jit(model.apply), 0.0
  for rows, expected in answered.items():
    scale = float(np.abs(expected).max())
    if not scale:
      raise errors.UserError(
        "all its logits are 0, as if its head was never trained: there is"
        " nothing to compare."
      )
    try:
      got = np.asarray(call(model.variables, pictures(model.spec, rows)))
    except errors.UserError:
      raise
    except Exception as error:  # a case of an operator that JAX lacks
      raise errors.UserError(
        f"JAX cannot compute it: {errors.user_fault(error)}."
      ) from error
    distance = max(distance, float(np.abs(got - expected).max()) / scale)
    if not distance <= TOLERANCE:
      raise errors.UserError(
        f"in JAX its answers to a probe are {distance:.1e} of the logits' scale"
        f" away from its own package's, more than {TOLERANCE:.0e}."
      )
  return distance


def pictures(spec: object, rows: int) -> np.ndarray:
  """Make seeded uint8 pictures or clips, as smooth as photographs."""
  shape = batch_shape(spec, rows)
  rng = np.random.default_rng(rows)
  coarse = rng.integers(0, 256, (*shape[:-3], 8, 8, 3), np.uint8)
  places = np.arange(shape[-2]) * 8 // shape[-2]
  return coarse[..., places, :, :][..., places, :]


def batch_shape(spec: object, rows: int) -> tuple[int, ...]:
  """Return the shape of a batch of pictures or clips, in the spec's size.

  Segmenters that take any size are shown 64 x 96 px.

  Raises:
    UserError: `spec` is not a classifier's.
  """
  if isinstance(spec, SegmenterSpec):
    return rows, *network_canvas(*_MAP_PX, spec), 3
  if not isinstance(spec, Spec):
    raise errors.UserError(
      f"Got a spec of type {type(spec).__name__}, expected a models.spec.Spec,"
      " models.video.spec.VideoSpec or models.segmentation.spec.SegmenterSpec."
    )
  return spec.batch_shape(rows, spec.input_px)
