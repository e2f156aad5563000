"""A torch module: traced into JAX, or run by torch on the host.

Traced, torch exports its graph once and JAX computes it: under jit, sharded, its
weights as variables. On the host torch computes batch by batch, on the module's
own device. Needs torch, which the extra `torch` brings.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from models.adapters import Adapted, OnHost, routes
from models.adapters.onnx_graph import graph
from models.adapters.torch_graph import export, modules
from models.checks import answers
from models.detection import label_ids, torch_module
from models.detection.spec import DetectorSpec
from models.model import Model
from models.segmentation.spec import SegmenterSpec
from models.spec import Spec
from robust_tfds import errors

if TYPE_CHECKING:
  import torch

_DTYPES = ("float32", "bfloat16")
_EXPORT_ROWS = 2
PROBE_ROWS = (3, 1)  # other batch sizes than the exported one

Output = str | int | None


def adapt(
  net: Any,
  spec: Spec,
  *,
  name: str = "",
  route: str = "auto",
  channels_first: bool = True,
  output: Output = None,
  dtype: str = "float32",
  labels: label_ids.Labels | None = None,
) -> Model:
  """Wrap a module that maps preprocessed pictures to logits.

  Args:
    net: a `torch.nn.Module` in evaluation mode; or a
      `torch.export.ExportedProgram`, or a `torch.jit.ScriptModule` (host route
      alone).
    spec: its preprocessing and labels. With a `DetectorSpec` the module is a
      detector of torchvision or `transformers`, and runs on the host, see
      `models.detection.torch_module`. With a `SegmenterSpec` its logits are
      `[B, classes, h, w]`, and it runs on the host, too.
    name: name in reports; the class's name by default.
    route: `traced`: JAX computes it, or it is refused; `host`: torch computes
      batch by batch; `auto`: traced if all operators are known and a probe of
      both agrees to 1e-5 of the logits' scale, else host. `Model.route` says
      which, and why.
    channels_first: whether it takes `[B, 3, H, W]`, clips as `[B, 3, T, H, W]`.
    output: the output that holds the logits: the key of a dict, the field of a
      dataclass, the index in a tuple; None: `logits` (Hugging Face's models),
      `out` (torchvision's segmenters), or the only output.
    dtype: `bfloat16` multiplies matrices in bfloat16.
    labels: meaning of a detector's label ids: `from_zero`, `from_one`, `coco91`
      or a dict of label id to class.

  Raises:
    ImportError: torch is not installed.
    UserError: `net` is no module, or in train mode; its answer does not have
      the spec's classes; or `route` is `traced` and it cannot be traced.
  """
  try:
    import torch
  except ImportError as error:
    raise errors.missing_package_error(
      "torch", "torch", "A torch module"
    ) from error
  routes.check_route(route)
  if dtype not in _DTYPES:
    raise errors.unknown_error("dtype", dtype, _DTYPES)
  modules.check(net)
  net = modules.unwrapped(net)
  if isinstance(spec, DetectorSpec):
    if route == "traced":
      raise errors.UserError(
        f"{type(net).__name__} is a detector, which runs picture by picture on"
        " the host: leave out route='traced'."
      )
    return _detector(net, spec, name or type(net).__name__, labels)
  segments = isinstance(spec, SegmenterSpec)
  if segments and route == "traced":
    raise errors.UserError(
      f"{type(net).__name__} is a segmenter, which torch runs: leave out"
      " route='traced'."
    )
  rows = None
  if isinstance(net, torch.export.ExportedProgram):
    rows = export.rows(net)
  host = OnHost(
    name or type(net).__name__,
    spec,
    _numpy_function(net, "float32"),
    variables=_state(net),
    rows=rows,
    channels_first=channels_first,
    output=output,
    code=type(net),
    program=modules.description(net),
    preprocessed=True,
    route="host",
  )
  reason = ""
  if segments:
    reason = "host: segmenters of torch run there"
  elif isinstance(spec, Spec) and spec.outputs == "any":
    reason = "host: answers of any structure stay there"
  if reason:
    function = _numpy_function(net, dtype)
    return dataclasses.replace(host, function=function, route=reason)
  if output is None and rows is None:
    host = dataclasses.replace(host, output=_usual_output(host))
  answered = {
    rows: host.apply(None, routes.pictures(spec, rows)) for rows in PROBE_ROWS
  }
  low = dataclasses.replace(host, function=_numpy_function(net, dtype))
  if route == "host":
    return low
  try:
    return _traced(net, spec, host, dtype, answered)
  except errors.UserError as error:
    if route == "traced":
      raise errors.UserError(
        f"{host.name} cannot be traced: {error} Use route='host' or 'auto'."
      ) from error
    return dataclasses.replace(low, route=f"host: {error}")


def _detector(
  net: Any, spec: DetectorSpec, name: str, labels: label_ids.Labels | None
) -> OnHost:
  return OnHost(
    name,
    spec,
    torch_module.function(net, spec, name, labels),
    variables=_state(net),
    code=type(net),
    program=f"{modules.description(net)}\nlabels: {labels}",
    route="host: detectors run picture by picture",
  )


def _usual_output(host: OnHost) -> str | None:
  """Return the usual one of several named outputs; None if there is none."""
  shown = host.spec.normalize_on_host(routes.pictures(host.spec, 1))
  if host.channels_first:
    shown = np.ascontiguousarray(np.moveaxis(shown, -1, 1))
  try:
    answer = host.function(shown)
  except errors.UserError:  # `apply` says how to call it instead
    return None
  return answers.usual_output(answer) if isinstance(answer, Mapping) else None


def _state(net: Any) -> dict[str, np.ndarray]:
  """Return a module's arrays by name, as a record of its weights."""
  import torch

  arrays = {}
  for name, value in modules.state(net).items():
    value = value.dequantize() if value.is_quantized else value
    value = value.float() if value.dtype == torch.bfloat16 else value
    arrays[name] = value.detach().cpu().numpy()
  return arrays


def _numpy_function(net: Any, dtype: str) -> Callable[[np.ndarray], Any]:
  """Return a function from preprocessed float32 pixels to the module's answer."""
  import torch

  device, kind = modules.place(net)
  call = net.module() if isinstance(net, torch.export.ExportedProgram) else net

  def answer(batch: np.ndarray) -> Any:
    pixels = torch.from_numpy(batch).to(device, kind)
    low = torch.autocast(
      device.type, torch.bfloat16, enabled=dtype == "bfloat16"
    )
    try:
      with torch.inference_mode(), low:
        given = call(pixels)
    except Exception as error:  # whatever the module's own code raises
      raise errors.UserError(
        f"{type(net).__name__} fails on pixels of shape {batch.shape}:"
        f" {errors.user_fault(error)} Its spec and channels_first= determine the"
        " shape."
      ) from error
    return modules.plain(given, _numpy)

  return answer


def _numpy(tensor: torch.Tensor) -> np.ndarray:
  """Return a tensor as a numpy array, floats of any precision as float32."""
  tensor = tensor.detach().cpu()
  tensor = tensor.float() if tensor.dtype.is_floating_point else tensor
  array: np.ndarray = tensor.numpy()
  return array


def _traced(
  net: Any,
  spec: Spec,
  host: OnHost,
  dtype: str,
  answered: Mapping[int, np.ndarray],
) -> Adapted:
  """Return the module as a program of JAX.

  Args:
    net: the module.
    spec: its spec.
    host: the model of the host route.
    dtype: dtype in which matrices are multiplied.
    answered: the module's answers by the number of rows in a probe.

  Raises:
    UserError: it cannot be traced; the message says why.
  """
  reason = modules.obstacle(net)
  if reason:
    raise errors.UserError(f"{reason}.")
  forward = _Forward(net, _export_shape(spec, host), host.output)
  model = Adapted(
    host.name,
    spec,
    forward,
    variables=dict(forward.main.variables),
    rows=forward.rows,
    channels_first=host.channels_first,
    code=host.code,
    route="traced",
    program=f"{dtype}\n{forward.main.text()}",
  )
  routes.check_agreement(model, answered)
  return dataclasses.replace(model, function=forward.cast(dtype))


def _export_shape(spec: Spec, host: OnHost) -> tuple[int, ...]:
  shape = spec.batch_shape(host.rows or _EXPORT_ROWS, spec.input_px)
  if host.channels_first:
    return (shape[0], shape[-1], *shape[1:-1])
  return shape


class _Forward:
  """A traced module: a function from `(variables, pixels)` to logits.

  A program is exported for each size of pictures when they are first traced.
  """

  def __init__(self, net: Any, shape: tuple[int, ...], output: Output):
    """Export the program for the spec's pictures: batches of this shape."""
    self._net = net
    self._output = output
    self._dtype = "float32"
    exported = export.export(net, shape, output)
    self.rows = export.rows(exported)
    self.main = export.read(exported)
    self._programs = {shape[1:]: self.main}

  def cast(self, dtype: str) -> _Forward:
    """Return a copy that multiplies matrices in another dtype."""
    other = copy.copy(self)
    other._dtype = dtype
    return other

  def __call__(self, variables: Any, pixels: jax.Array) -> Any:
    """Compute the module's answer."""
    size = pixels.shape[1:]
    if size not in self._programs:
      self._programs[size] = self._resized((_EXPORT_ROWS, *size))
    return self._programs[size](variables, pixels, self._dtype)

  def _resized(self, shape: tuple[int, ...]) -> graph.Program:
    """Return the program for another size, whose variables are the weights."""
    program = export.read(export.export(self._net, shape, self._output))
    own = modules.state(self._net)
    return program.fix(n for n in program.variables if n not in own)
