"""A model: a name, a spec, and pure functions of its variables.

`Model` is the interface of every model: of the catalogue, an adapter, an
enhancement or a user's own file. Models keep no state between calls, so `init`,
`apply` and `apply_train` may be jitted, differentiated and sharded.
"""

import abc
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast, overload

import jax
import jax.numpy as jnp
from flax import nnx

from models import capture as capture_lib
from models import stages as stages_lib
from models import variables as variables_lib
from models.checks import arguments
from models.family import Family
from models.layers import train_mode
from models.spec import Kind, ModelSpec, Spec, Variant
from models.variables import Path, Variables
from robust_tfds import errors

_DTYPES = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True)
class Model(abc.ABC):
  """A model of any kind, as the evaluator uses it.

  Attributes:
    name: name in tables and errors.
    spec: preprocessing and labels.
  """

  name: str
  spec: ModelSpec

  def __init_subclass__(cls, **options: Any) -> None:
    """Keep dataclasses from printing every weight."""
    super().__init_subclass__(**options)
    if "__repr__" not in vars(cls):
      cls.__repr__ = Model.__repr__  # type: ignore[method-assign]

  def __repr__(self) -> str:
    """Return one line, without the weights."""
    classes = f"{self.spec.num_classes} classes"
    return f"{type(self).__name__}({self.name!r}, {self.kind}, {classes})"

  @property
  def kind(self) -> Kind:
    """The spec's kind."""
    return self.spec.kind

  @property
  def trainable(self) -> bool:
    """Whether the model has a train mode and can be trained here.

    Networks of the catalogue have `apply_train`; external models have not.
    """
    return False

  @property
  def is_external(self) -> bool:
    """Whether the model is not of the catalogue; a run probes it first."""
    return True

  @property
  def on_host(self) -> bool:
    """Whether `apply` takes and returns numpy arrays, outside of programs."""
    return False

  @property
  def route(self) -> str:
    """The chosen one of several routes, and why; '' if there is only one."""
    return ""

  @property
  def code(self) -> Any:
    """A function, class or module whose source defines the computation."""
    return type(self)

  @property
  def program(self) -> str:
    """The computation beyond `code`, as text: a graph, a module's structure."""
    return ""

  @property
  def layers(self) -> tuple[str, ...]:
    """The names of its layers, in order, for `capture`; () if it has none."""
    return ()

  @abc.abstractmethod
  def init(self, key: jax.Array) -> Any:
    """Return random variables drawn from a key, or the weights it came with."""

  @abc.abstractmethod
  def apply(self, variables: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
    """Compute the answers to a batch.

    Classifiers take `(variables, batch)`, see `Classifier.apply`; detectors
    `(variables, batch, sizes)`, see `models.detection.detector.Detector.apply`.
    """

  def outputs(self, variables: Any, batch: Any) -> Any:
    """Compute its answers in any structure, which is not checked.

    The default is `apply`; models from outside the catalogue may answer with
    arrays of any shape, and dicts and tuples of them.
    """
    return self.apply(variables, batch)

  def check_capture(self, capture: Sequence[str] | None) -> None:
    """Refuse names that are not among `layers`; None: no layer is captured.

    Raises:
      UserError: a name is unknown, or the model names no layers.
    """
    if capture is not None:
      capture_lib.check(self.name, self.layers, capture)

  def preprocess(self, batch: jax.typing.ArrayLike) -> jax.Array:
    """Map uint8 RGB in 0..255 to float32, as the spec says."""
    return self.spec.normalize(batch)

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """Return a copy with other values of the spec.

    Args:
      fields: values by field, see `ModelSpec.with_fields`.

    Raises:
      UserError: the spec does not have a field, or a value is invalid.
    """
    return dataclasses.replace(self, spec=self.spec.with_fields(fields))

  def pixels(self, batch: jax.typing.ArrayLike) -> jax.Array:
    """Return a batch of pictures or clips as the network takes it.

    Args:
      batch: uint8 RGB in 0..255, which is preprocessed, or preprocessed float
        pixels.

    Raises:
      UserError: the shape does not fit the spec, or the dtype is another.
    """
    pixels = arguments.batch(self.name, batch)
    self.spec.check_shape(self.name, pixels.shape)
    if pixels.dtype == jnp.uint8:
      return self.preprocess(pixels)
    arguments.check_pixels(self.name, pixels.dtype)
    return pixels

  def merge(self, variables: Any) -> Any:
    """Return the network with these variables: an `nnx.Module`, to be opened.

    Raises:
      UserError: it cannot be opened (the default): it is a function, or a program.
    """
    del variables
    raise errors.UserError(
      f"{self.name} ({type(self).__name__}) shows no layers: a network of"
      " models.names() or an nnx module does."
    )

  def answer(self, network: Any, pixels: jax.Array) -> jax.Array:
    """Return the logits of a network from `merge`, for preprocessed pixels."""
    return network(pixels)

  def apply_train(
    self,
    variables: Any,
    batch: Any,
    key: jax.Array,
    *,
    frozen_norms: bool = False,
    frozen_stages: int = 0,
  ) -> tuple[Any, Any]:
    """Compute answers in train mode, and variables with updated statistics.

    Raises:
      UserError: it has no train mode (the default).
    """
    del variables, batch, key, frozen_norms, frozen_stages
    raise errors.UserError(
      f"{self.name} (kind {self.kind}) has no train mode: networks of"
      " models.names() have one. Train it in its own framework."
    )


@dataclasses.dataclass(frozen=True)
class NetworkModel(Model):
  """A network of the catalogue.

  Attributes:
    variant: the row of the family's table.
    family: the family of the network.
    dtype: `float32` computes in true float32 on every device (no TF32, no
      bfloat16 passes); `bfloat16` computes in bfloat16 with normalisation
      statistics and logits in float32.
  """

  variant: Variant
  family: Family
  dtype: str = "float32"

  def __post_init__(self) -> None:
    """Refuse an unknown dtype."""
    if self.dtype not in _DTYPES:
      raise errors.UserError(
        f"Got dtype {self.dtype!r}, expected one of {_DTYPES}."
      )

  @property
  def is_external(self) -> bool:
    """Whether the model is external: False."""
    return False

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """Return a copy with other values of the spec; see `Model.with_fields`.

    A network made for one side is made for another.
    """
    spec, side = self.spec, fields.get("input_px")
    if (
      not isinstance(spec, Spec)
      or not self.family.sized
      or side in (None, spec.fixed_px)
      or "flexible" in fields
    ):
      return super().with_fields(fields)
    free = dataclasses.replace(spec, flexible=True).with_fields(fields)
    spec = dataclasses.replace(free, flexible=False, parameters=None)
    return dataclasses.replace(self, spec=spec)

  def init(self, key: jax.Array) -> Variables:
    """Return random initial variables drawn from a JAX key.

    Raises:
      UserError: `key` is not one key.
    """
    state = nnx.state(self.build(nnx.Rngs(arguments.key(self.name, key))))
    flat = nnx.to_flat_state(state)
    return variables_lib.nest({path: value[...] for path, value in flat})

  def build(self, rngs: nnx.Rngs) -> nnx.Module:
    """Return the network with initial weights."""
    options = dict(self.variant.options)
    if self.family.sized and isinstance(self.spec, Spec):
      options["side"] = self.spec.input_px
    return self.family.network(
      **options, num_classes=self.spec.num_classes, rngs=rngs
    )

  def shapes(self) -> dict[Path, tuple[int, ...]]:
    """Return the shape of every variable by path, without computing anything."""
    return {path: value.shape for path, value in _abstract(self)[1]}

  def count_parameters(self) -> int:
    """Return the number of trainable numbers (no running statistics)."""
    sizes = [v.size for _, v in _abstract(self)[1] if isinstance(v, nnx.Param)]
    return sum(sizes)

  def statistics(self) -> frozenset[Path]:
    """Return the paths of running statistics, which have no gradient."""
    flat = _abstract(self)[1]
    return frozenset(p for p, v in flat if not isinstance(v, nnx.Param))

  def replace_statistics(self, variables: Variables, network: Any) -> Variables:
    """Return variables with the running statistics of a called network.

    Args:
      variables: the variables from which the network was made.
      network: result of `merge`, in train mode.
    """
    state = nnx.to_flat_state(nnx.state(network, nnx.BatchStat))
    moved = {variables_lib.as_text(p): v[...] for p, v in state}
    return variables_lib.replace(variables, moved)

  def frozen_paths(
    self, *, stages: int = 0, frozen_norms: bool = False
  ) -> frozenset[Path]:
    """Return the paths of the first stages' parameters, which are not trained.

    The stem is the first stage, as in Detectron's FREEZE_AT: 2 stages are the
    stem and a ResNet's `layer1`. `apply_train` keeps their statistics, too.

    Args:
      stages: number of stages.
      frozen_norms: as in `apply_train`; a classifier's norms learn their scales
        and biases all the same.

    Raises:
      UserError: the family defines no stages, or fewer.
    """
    del frozen_norms
    paths = set(self.shapes()) - self.statistics()
    return stages_lib.first(self.name, self.family.stages, paths, stages)

  def in_train_mode(
    self,
    variables: Variables,
    key: jax.Array,
    *,
    frozen_norms: bool,
    stages: int,
  ) -> Any:
    """Return the network in train mode, to be called once.

    Running statistics and frozen parameters have no gradient. The first stages
    compute as in evaluation.

    Args:
      variables: as in `apply`.
      key: see `train_mode.enter`.
      frozen_norms: see there.
      stages: see `frozen_paths`.

    Raises:
      UserError: the variables do not fit this model, or it has fewer stages.
    """
    fixed = self.statistics() | self.frozen_paths(
      stages=stages, frozen_norms=frozen_norms
    )
    arrays = variables_lib.flatten(variables)
    # Outside of programs, NumPy's arrays would be overwritten.
    stopped = {
      p: jax.lax.stop_gradient(jnp.asarray(arrays[p]))
      for p in fixed & set(arrays)
    }
    network = self.merge(variables_lib.nest({**arrays, **stopped}))
    parts = (tuple(map(str, path)) for path, _ in nnx.iter_modules(network))
    still = stages_lib.first(
      self.name, self.family.stages, {*parts, *self.shapes()}, stages
    )
    train_mode.enter(network, key, frozen_norms=frozen_norms, still=still)
    return network

  def decayed_paths(self) -> frozenset[Path]:
    """Return the paths that weight decay acts on if a recipe spares the rest.

    These are kernels, and CLIP's texts, which act as one; not biases, norms, layer
    scales, tokens, positions or tables of offsets.
    """
    return frozenset(p for p in self.shapes() if p[-1] in ("kernel", "text"))

  def merge(self, variables: Variables) -> Any:
    """Return the network with these variables, to be called.

    Raises:
      UserError: they do not fit this model.
    """
    graph, abstract = _abstract(self)
    arrays = variables_lib.flatten(variables)
    variables_lib.check_shapes(self.name, self.shapes(), arrays)
    state = nnx.from_flat_state(
      [(path, value.replace(arrays[path])) for path, value in abstract]
    )
    return nnx.merge(graph, state)


@dataclasses.dataclass(frozen=True)
class Classifier(NetworkModel):
  """A network that maps pictures or clips to logits.

  One compilation serves one shape of batches.
  """

  spec: Spec

  @property
  def trainable(self) -> bool:
    """Whether the model has a train mode: True, see `apply_train`."""
    return True

  @property
  def layers(self) -> tuple[str, ...]:
    """The layers' paths, as in checkpoints: `layer4.0.conv2`."""
    return capture_lib.names(self.shapes())

  @overload
  def apply(
    self, variables: Variables, batch: jax.typing.ArrayLike
  ) -> jax.Array: ...

  @overload
  def apply(
    self,
    variables: Variables,
    batch: jax.typing.ArrayLike,
    *,
    capture: Sequence[str],
  ) -> tuple[jax.Array, capture_lib.Captured]: ...

  def apply(
    self,
    variables: Variables,
    batch: jax.typing.ArrayLike,
    *,
    capture: Sequence[str] | None = None,
  ) -> jax.Array | tuple[jax.Array, capture_lib.Captured]:
    """Compute the logits of a batch.

    Args:
      variables: from `init` or `models.convert.load`.
      batch: pictures `[B, H, W, 3]` or clips `[B, T, H, W, 3]`; uint8 RGB in
        0..255, which is preprocessed first, or preprocessed float pixels.
      capture: names of `layers` whose outputs are returned too, or `features`,
        the last layer's input; see `models.capture`.

    Returns:
      float32 `[B, num_classes]`; with `capture` also pooled float32 `[B,
      channels]` by layer.

    Raises:
      UserError: the batch or the variables do not fit this model, or it does not
        have a layer.
    """
    pixels = self.pixels(batch)
    self.check_capture(capture)
    network = self.merge(variables)
    if capture is None:
      return self.answer(network, pixels)
    kept = capture_lib.Capture(network, capture, self.spec.num_classes)
    logits = self.answer(network, pixels)
    return logits, kept.pooled(len(pixels))

  def apply_train(
    self,
    variables: Variables,
    batch: jax.typing.ArrayLike,
    key: jax.Array,
    *,
    frozen_norms: bool = False,
    frozen_stages: int = 0,
  ) -> tuple[jax.Array, Variables]:
    """Compute logits in train mode, and variables with updated statistics.

    Batch norms normalise by the batch (the whole one if it is sharded under
    `jax.jit`), and their running statistics are updated as torch's are; dropout
    and stochastic depth draw. Our networks have no auxiliary heads (GoogLeNet,
    Inception), and are trained without them.

    Args:
      variables: as in `apply`.
      batch: as in `apply`.
      key: a JAX key of this step: all draws depend on it alone.
      frozen_norms: whether running statistics are used and kept, as in
        evaluation; scales and biases of norms are parameters all the same.
      frozen_stages: number of the first stages that compute as in evaluation and
        have no gradient, see `frozen_paths`.

    Returns:
      float32 `[B, num_classes]`, and the variables: those of `statistics()` are
      new and have no gradient, the others are unchanged.

    Raises:
      UserError: the batch, the variables or the key do not fit this model, or it
        has fewer stages.
    """
    pixels = self.pixels(batch)
    drawn = arguments.key(self.name, key, "apply_train")
    network = self.in_train_mode(
      variables, drawn, frozen_norms=frozen_norms, stages=frozen_stages
    )
    logits = self.answer(network, pixels)
    return logits, self.replace_statistics(variables, network)

  def answer(self, network: Any, pixels: jax.Array) -> jax.Array:
    """Return float32 logits of a network from `merge`."""
    precision = "highest" if self.dtype == "float32" else "default"
    with jax.default_matmul_precision(precision):
      logits = network(pixels.astype(self.dtype))
    return logits.astype(jnp.float32)


Abstract = tuple[tuple[Path, nnx.Variable], ...]


@functools.lru_cache(maxsize=256)
def _abstract(model: NetworkModel) -> tuple[nnx.GraphDef, Abstract]:
  """Return the network without its numbers, and (path, variable) of arrays."""
  defined: list[Path] = []

  def build() -> nnx.Module:
    network = model.build(_one_key())
    defined.extend(_definition_order(network))
    return network

  graph, state = nnx.split(nnx.eval_shape(build))
  order = {path: i for i, path in enumerate(defined)}
  flat = [(variables_lib.as_text(p), v) for p, v in nnx.to_flat_state(state)]
  return graph, tuple(sorted(flat, key=lambda item: order[item[0]]))


class _OneKey:
  """One key for every layer, in place of `nnx.Rngs`: shapes need no other.

  `nnx.Rngs` counts its keys, which takes half of the time of tracing.
  """

  def __init__(self) -> None:
    self._key = jax.random.key(0)

  def params(self) -> jax.Array:
    """Return the key."""
    return self._key


def _one_key() -> nnx.Rngs:
  return cast(nnx.Rngs, _OneKey())


def _definition_order(module: nnx.Module, prefix: Path = ()) -> list[Path]:
  """Return paths in the order of `__init__`, from the first layer on."""
  paths: list[Path] = []
  for name, value in vars(module).items():
    if isinstance(value, nnx.Variable):
      paths.append((*prefix, name))
    elif isinstance(value, nnx.Module):
      paths += _definition_order(value, (*prefix, name))
  return paths
