"""An ONNX file: run operator by operator in JAX, or by onnxruntime on the host.

Needs the extra `onnx`, and `onnxruntime` for the host route. The traced route
knows the operators of `onnx_graph.operators`; it takes graphs whose shapes depend
on nothing but the input's.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from models import adapters
from models.adapters import Adapted, ExternalModel, OnHost, routes
from models.adapters.onnx_graph import graph as graph_lib
from models.checks import answers
from models.segmentation.spec import SegmenterSpec
from models.spec import ModelSpec
from robust_tfds import errors
from robust_tfds.storage import paths

if TYPE_CHECKING:
  import onnxruntime

  from models.adapters.onnx_graph import file


def adapt(
  path: str | os.PathLike,
  spec: ModelSpec,
  *,
  name: str = "onnx",
  route: str = "auto",
  channels_first: bool = True,
  output: str | int | None = None,
) -> ExternalModel:
  """Wrap a graph of one input.

  Args:
    path: the `.onnx` file; weights in other files lie in its folder.
    spec: its preprocessing and labels.
    name: name in reports.
    route: `traced` runs it in JAX, sharded over all accelerators; `host` by
      onnxruntime; `auto` is traced if all operators are known and two seeded
      pictures get onnxruntime's logits to 1e-5 of their scale, else host.
    channels_first: whether it takes `[B, 3, H, W]`, as exports from torch do;
      those from TensorFlow take `[B, H, W, 3]`.
    output: name or index of the output that holds the logits.

  Raises:
    ImportError: onnx is not installed, or onnxruntime for the route.
    UserError: the file is damaged, its input or output does not fit the spec,
      or the traced route lacks an operator; the message names it.
  """
  routes.check_route(route)
  if importlib.util.find_spec("onnx") is None:
    raise errors.missing_package_error("onnx", "onnx", "An ONNX model")
  from models.adapters.onnx_graph import file

  with adapters.reading_model(path, "an ONNX model") as place:
    with errors.prefixed(f"{path}: cannot be read as an ONNX model"):
      graph = file.read(place)
    model = _Model(str(path), place, graph, spec, name, channels_first)
    model.check()
    answer = model.find_output(output)
    if route == "host":
      return model.host(answer, "host: asked for")
    if route == "traced":
      return model.traced(answer, "traced: asked for")
    return model.automatic(answer)


@dataclasses.dataclass(frozen=True)
class _Model:
  """An ONNX file, from which both routes are made."""

  path: str
  place: str  # on this machine
  graph: file.Graph
  spec: ModelSpec
  name: str
  channels_first: bool

  @property
  def source(self) -> file.Input:
    """The graph's only input."""
    return self.graph.inputs[0]

  @property
  def rows(self) -> int | None:
    """The batch size that it was exported for; None: any size."""
    return self.source.shape[0]

  def check(self) -> None:
    """Refuse a graph that does not take the spec's pictures.

    Raises:
      UserError: the message says what it takes.
    """
    if len(self.graph.inputs) != 1:
      names = [i.name for i in self.graph.inputs]
      raise errors.UserError(
        f"{self.path}: has {len(names)} inputs {names}, expected one: a batch of"
        " pictures."
      )
    shape = routes.batch_shape(self.spec, self.rows or 1)
    if self.channels_first:
      shape = (shape[0], shape[-1], *shape[1:-1])
    taken = self.source.shape
    fits = len(taken) == len(shape) and all(
      a in (None, b) for a, b in zip(taken, shape)
    )
    sides_field = "input_px"
    if isinstance(self.spec, SegmenterSpec):
      sides_field = "height_px and width_px"
    if not fits:
      sides = [n or "any" for n in taken]
      raise errors.UserError(
        f"{self.path}: takes {sides}, expected {list(shape)} by the spec with"
        f" channels_first={self.channels_first}. Set the spec's {sides_field} to the"
        " size that it was exported for, or channels_first="
        f"{not self.channels_first}."
      )
    spec = self.spec
    scaled = (spec.scale, spec.mean, spec.std) != (1, (0,) * 3, (1,) * 3)
    if self.source.dtype.kind in "iu" and scaled:
      raise errors.UserError(
        f"{self.path}: takes {self.source.dtype} pixels and scales them itself,"
        " expected a spec with scale=1, mean=(0, 0, 0), std=(1, 1, 1)."
      )

  def find_output(self, output: str | int | None) -> str:
    """Return the name of the output that holds the logits.

    Raises:
      UserError: there is no such output, or several and none is named.
    """
    names = self.graph.outputs
    usual = answers.usual_output(names)
    if output is None and usual:
      return usual
    if isinstance(output, int) and 0 <= output < len(names):
      return names[output]
    if output in names:
      return str(output)
    if output is None and len(names) == 1:
      return names[0]
    got = "no output was named" if output is None else f"no output {output!r}"
    raise errors.UserError(
      f"{self.path}: {got}; it has {', '.join(names) or 'none'}. Name the one"
      f" that holds the logits: output={names[0] if names else ''!r}."
    )

  def traced(self, output: str, reason: str) -> Adapted:
    """Return the model that runs the graph in JAX.

    Raises:
      UserError: operators are unknown; the message names them.
    """
    unknown = graph_lib.unknown_operators(self.graph, output)
    if unknown:
      raise errors.UserError(
        f"{self.path}: {_unknown_text(unknown)}: use route='host' (onnxruntime)."
      )
    with errors.prefixed(f"{self.path}: cannot be read as an ONNX model"):
      program = graph_lib.Program.from_graph(self.graph, output)
    dtype = self.source.dtype

    def run(variables: Any, pixels: jax.Array) -> jax.Array:
      with errors.prefixed(self.path):
        return program(variables, pixels.astype(dtype))

    return Adapted(
      self.name,
      self.spec,
      run,
      program.variables,
      self.rows,
      self.channels_first,
      code=graph_lib,
      route=reason,
      program=f"onnx {self.graph.digest} {output}",
    )

  def host(self, output: str, reason: str) -> OnHost:
    """Return the model that runs the graph in onnxruntime.

    Raises:
      ImportError: onnxruntime is not installed.
    """
    session = self._session()
    dtype = self.source.dtype

    def run(pixels: np.ndarray) -> np.ndarray:
      feeds = {self.source.name: pixels.astype(dtype, copy=False)}
      return np.asarray(session.run([output], feeds)[0])

    files = [self.place, *map(str, self.graph.files)]
    hashes = " ".join(paths.sha256(file) for file in files)
    return OnHost(
      self.name,
      self.spec,
      run,
      None,
      self.rows,
      self.channels_first,
      route=reason,
      program=f"onnx {hashes} {output}",
      preprocessed=True,
    )

  def _session(self) -> onnxruntime.InferenceSession:
    try:
      import onnxruntime
    except ImportError as error:
      raise errors.missing_package_error(
        "onnxruntime", "onnxruntime", "The host route of an ONNX model"
      ) from error
    # Without TensorRT, which would compile for minutes.
    known = ("CUDAExecutionProvider", "CPUExecutionProvider")
    present = onnxruntime.get_available_providers()
    with adapters.refusing(self.path, "an ONNX model that onnxruntime runs"):
      return onnxruntime.InferenceSession(
        self.place, providers=[p for p in known if p in present]
      )

  def automatic(self, output: str) -> Adapted | OnHost:
    """Return the traced model if it gives onnxruntime's logits, else the host's.

    Raises:
      UserError: operators are unknown, and onnxruntime is not installed.
    """
    unknown = graph_lib.unknown_operators(self.graph, output)
    if importlib.util.find_spec("onnxruntime") is None:
      if not unknown:
        reason = "traced: onnxruntime is not installed, nothing was compared"
        return self.traced(output, reason)
      raise errors.UserError(
        f"{self.path}: {_unknown_text(unknown)}. onnxruntime runs them:"
        " pip install 'robust_tfds[onnxruntime]'."
      )
    if unknown:
      return self.host(output, f"host: {_unknown_text(unknown)}")
    if isinstance(self.spec, SegmenterSpec):
      return self.host(output, "host: segmenters run there unless asked for")
    host = self.host(output, "")
    return routes.choose_route(lambda: self.traced(output, "traced"), host)


def _unknown_text(operators: tuple[str, ...]) -> str:
  listed = ", ".join(operators)
  return f"JAX does not know the operators {listed} here"
