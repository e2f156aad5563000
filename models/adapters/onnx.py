"""An ONNX file: run operator by operator in JAX, or by onnxruntime on the host.

Needs the extra `onnx`, and `onnxruntime` for the host route. The traced route
knows the operators of `onnx_graph.operators`; it takes graphs whose shapes depend
on nothing but the input's.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from models import adapters
from models.adapters import Adapted, FromElsewhere, OnHost
from models.adapters.onnx_graph import graph as graph_lib
from models.checks import agreement, answers
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
) -> FromElsewhere:
  """Wraps a graph of one input.

  Args:
    path: the `.onnx` file; weights in other files lie in its folder.
    spec: what it expects and answers.
    name: what reports call it.
    route: `traced` runs it in JAX, sharded over all accelerators; `host` by
      onnxruntime; `auto` is traced where all operators are known and two seeded
      pictures get onnxruntime's logits to 1e-5 of their scale, else host.
    channels_first: whether it takes `[B, 3, H, W]`, as exports from torch do;
      those from TensorFlow take `[B, H, W, 3]`.
    output: which of several outputs are the logits: a name, or a place.

  Raises:
    ImportError: onnx is not installed, or onnxruntime for the route.
    UserError: a damaged file, another input or output than the spec's, or on
      the traced route an operator that is not known; names it.
  """
  agreement.check_route(route)
  if importlib.util.find_spec("onnx") is None:
    raise errors.missing_package_error("onnx", "onnx", "An ONNX model")
  from models.adapters.onnx_graph import file

  with adapters.reading_model(path, "an ONNX model") as place:
    with _beginning(f"{path}: cannot be read as an ONNX model"):
      graph = file.read(place)
    model = _Model(str(path), place, graph, spec, name, channels_first)
    model.check()
    answer = model.output(output)
    if route == "host":
      return model.on_host(answer, "host: asked for")
    if route == "traced":
      return model.traced(answer, "traced: asked for")
    return model.automatic(answer)


@contextlib.contextmanager
def _beginning(words: str) -> Iterator[None]:
  """Refusals that begin with these words, the path first."""
  try:
    yield
  except errors.UserError as error:
    raise errors.UserError(f"{words}: {error}") from error


@dataclasses.dataclass(frozen=True)
class _Model:
  """A file that was read: what both routes are made of."""

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
    """Of the batches that it was exported for; None: any number."""
    return self.source.shape[0]

  def check(self) -> None:
    """Refuse a graph that does not take the spec's pictures.

    Raises:
      UserError: says what it takes.
    """
    if len(self.graph.inputs) != 1:
      names = [i.name for i in self.graph.inputs]
      raise errors.UserError(
        f"{self.path}: has {len(names)} inputs {names}, expected one: a batch of"
        " pictures."
      )
    shape = agreement.batch_shape(self.spec, self.rows or 1)
    if self.channels_first:
      shape = (shape[0], shape[-1], *shape[1:-1])
    taken = self.source.shape
    fits = len(taken) == len(shape) and all(
      a in (None, b) for a, b in zip(taken, shape)
    )
    if not fits:
      sides = [n or "any" for n in taken]
      raise errors.UserError(
        f"{self.path}: takes {sides}, expected {list(shape)} of the spec with"
        f" channels_first={self.channels_first}: give the spec the size that it"
        " was exported for (input_px), or channels_first="
        f"{not self.channels_first}."
      )
    spec = self.spec
    scaled = (spec.scale, spec.mean, spec.std) != (1, (0,) * 3, (1,) * 3)
    if self.source.dtype.kind in "iu" and scaled:
      raise errors.UserError(
        f"{self.path}: takes {self.source.dtype} pixels and scales them itself,"
        " expected a spec with scale=1, mean=(0, 0, 0), std=(1, 1, 1)."
      )

  def output(self, wanted: str | int | None) -> str:
    """The name of the output that holds the logits.

    Raises:
      UserError: no such output, or several and none is named.
    """
    names = self.graph.outputs
    if wanted is None and answers.LOGITS in names:
      return answers.LOGITS
    if isinstance(wanted, int) and 0 <= wanted < len(names):
      return names[wanted]
    if wanted in names:
      return str(wanted)
    if wanted is None and len(names) == 1:
      return names[0]
    got = "no output was named" if wanted is None else f"no output {wanted!r}"
    raise errors.UserError(
      f"{self.path}: {got}; it has {', '.join(names) or 'none'}. Name the one"
      f" that holds the logits: output={names[0] if names else ''!r}."
    )

  def traced(self, output: str, reason: str) -> Adapted:
    """The graph in JAX.

    Raises:
      UserError: operators that are not known; names them.
    """
    unknown = graph_lib.unknown_operators(self.graph, output)
    if unknown:
      raise errors.UserError(
        f"{self.path}: {_not_known(unknown)}: use route='host' (onnxruntime)."
      )
    with _beginning(f"{self.path}: cannot be read as an ONNX model"):
      program = graph_lib.Program.of(self.graph, output)
    dtype = self.source.dtype

    def run(variables: Any, pixels: jax.Array) -> jax.Array:
      with _beginning(self.path):
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

  def on_host(self, output: str, reason: str) -> OnHost:
    """The graph in onnxruntime.

    Raises:
      ImportError: it is not installed.
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
    # TensorRT would compile for minutes; it is left to those who ask for it.
    known = ("CUDAExecutionProvider", "CPUExecutionProvider")
    there = onnxruntime.get_available_providers()
    with adapters.in_words(self.path, "an ONNX model that onnxruntime runs"):
      return onnxruntime.InferenceSession(
        self.place, providers=[p for p in known if p in there]
      )

  def automatic(self, output: str) -> Adapted | OnHost:
    """Traced where that gives onnxruntime's logits, else on the host.

    Raises:
      UserError: unknown operators where onnxruntime is not installed.
    """
    unknown = graph_lib.unknown_operators(self.graph, output)
    if importlib.util.find_spec("onnxruntime") is None:
      if not unknown:
        reason = "traced: onnxruntime is not installed, nothing was compared"
        return self.traced(output, reason)
      raise errors.UserError(
        f"{self.path}: {_not_known(unknown)}. onnxruntime runs them:"
        " pip install 'robust_tfds[onnxruntime]'."
      )
    if unknown:
      return self.on_host(output, f"host: {_not_known(unknown)}")
    host = self.on_host(output, "")
    return agreement.choose(lambda: self.traced(output, "traced"), host)


def _not_known(operators: tuple[str, ...]) -> str:
  listed = ", ".join(operators)
  return f"JAX does not know the operators {listed} here"
