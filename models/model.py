"""A model: a name, a spec, and pure functions of its variables.

`Model` is what the evaluator asks of every model, whether of the catalogue, an
adapter, an enhancement or a user's own file. Nothing is kept between calls, so
`init`, `apply` and `apply_train` may be jitted, differentiated and sharded.
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
  """What the evaluator asks of a model of any kind.

  Attributes:
    name: what tables and errors call it.
    spec: preprocessing and labels.
  """

  name: str
  spec: ModelSpec

  def __init_subclass__(cls, **options: Any) -> None:
    """Keeps dataclasses from printing every weight."""
    super().__init_subclass__(**options)
    if "__repr__" not in vars(cls):
      cls.__repr__ = Model.__repr__  # type: ignore[method-assign]

  def __repr__(self) -> str:
    """One line, without its weights."""
    classes = f"{self.spec.num_classes} classes"
    return f"{type(self).__name__}({self.name!r}, {self.kind}, {classes})"

  @property
  def kind(self) -> Kind:
    """What it does: the spec's."""
    return self.spec.kind

  @property
  def trainable(self) -> bool:
    """Whether it can be trained here: it has a train mode.

    Networks of the catalogue have `apply_train`; models from elsewhere are
    trained elsewhere.
    """
    return False

  @property
  def is_external(self) -> bool:
    """Whether it is no network of the catalogue: it is probed before a run."""
    return True

  @property
  def on_host(self) -> bool:
    """Whether `apply` takes and gives numpy arrays, outside of programs."""
    return False

  @property
  def route(self) -> str:
    """Which of several ways it runs, and why, in words; empty: there is one."""
    return ""

  @property
  def code(self) -> Any:
    """A function, class or module whose source says what it computes."""
    return type(self)

  @property
  def program(self) -> str:
    """What it computes besides, as text: a graph, a module's description."""
    return ""

  @property
  def layers(self) -> tuple[str, ...]:
    """Names of its layers, in order, for `capture`; empty: it names none."""
    return ()

  @abc.abstractmethod
  def init(self, key: jax.Array) -> Any:
    """Variables: random ones of a JAX key, or the weights it came with."""

  @abc.abstractmethod
  def apply(self, variables: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
    """Answers to a batch.

    Classifiers take `(variables, batch)`, see `Classifier.apply`; detectors
    `(variables, batch, sizes)`, see `models.detection.detector.Detector.apply`.
    """

  def check_capture(self, capture: Sequence[str] | None) -> None:
    """Refuses names that are none of `layers`; None: no layer is captured.

    Raises:
      UserError: with the nearest name, or that the model names no layers.
    """
    if capture is not None:
      capture_lib.check(self.name, self.layers, capture)

  def preprocess(self, batch: jax.typing.ArrayLike) -> jax.Array:
    """uint8 RGB in 0..255 -> float32, as the spec says."""
    return self.spec.normalize(batch)

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """This model with other values of its spec.

    Args:
      fields: name -> value, see `ModelSpec.with_fields`.

    Raises:
      UserError: a field that the spec does not have, or a value that cannot be.
    """
    return dataclasses.replace(self, spec=self.spec.with_fields(fields))

  def pixels(self, batch: jax.typing.ArrayLike) -> jax.Array:
    """A batch of pictures or clips as the network takes it.

    Args:
      batch: uint8 RGB in 0..255, which is preprocessed, or float pixels that
        already are.

    Raises:
      UserError: of another shape than the spec says, or another dtype.
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
    """Answers in train mode, and the variables with moved statistics.

    Raises:
      UserError: it has no train mode (the default).
    """
    del variables, batch, key, frozen_norms, frozen_stages
    raise errors.UserError(
      f"{self.name} (kind {self.kind}) has no train mode: networks of"
      " models.names() have one. Train it where it comes from."
    )


@dataclasses.dataclass(frozen=True)
class NetworkModel(Model):
  """A network of the catalogue.

  Attributes:
    variant: the line of the family's table.
    family: whose network it is.
    dtype: `float32` computes in true float32 on every device (no TF32, no
      bfloat16 passes); `bfloat16` computes in bfloat16 with normalisation
      statistics and logits in float32.
  """

  variant: Variant
  family: Family
  dtype: str = "float32"

  def __post_init__(self) -> None:
    """Refuses a dtype that is not offered."""
    if self.dtype not in _DTYPES:
      raise errors.UserError(
        f"Got dtype {self.dtype!r}, expected one of {_DTYPES}."
      )

  @property
  def is_external(self) -> bool:
    """It is of the catalogue."""
    return False

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """As `Model.with_fields`; a network made for one side is made for another."""
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
    """Random variables drawn from a JAX key, as one trains from.

    Raises:
      UserError: not one key.
    """
    state = nnx.state(self.build(nnx.Rngs(arguments.key(self.name, key))))
    flat = nnx.to_flat_state(state)
    return variables_lib.nest({path: value[...] for path, value in flat})

  def build(self, rngs: nnx.Rngs) -> nnx.Module:
    """The network with initial weights."""
    options = dict(self.variant.options)
    if self.family.sized and isinstance(self.spec, Spec):
      options["side"] = self.spec.input_px
    return self.family.network(
      **options, num_classes=self.spec.num_classes, rngs=rngs
    )

  def shapes(self) -> dict[Path, tuple[int, ...]]:
    """Path -> shape of every array of the variables; computes nothing."""
    return {path: value.shape for path, value in _abstract(self)[1]}

  def count_parameters(self) -> int:
    """How many trainable numbers there are (no running statistics)."""
    sizes = [v.size for _, v in _abstract(self)[1] if isinstance(v, nnx.Param)]
    return sum(sizes)

  def statistics(self) -> frozenset[Path]:
    """Paths of running statistics: what training moves without a gradient."""
    flat = _abstract(self)[1]
    return frozenset(p for p, v in flat if not isinstance(v, nnx.Param))

  def with_statistics(self, variables: Variables, network: Any) -> Variables:
    """Variables with the running statistics of a network that was called.

    Args:
      variables: of which the network was made.
      network: from `merge`, in train mode.
    """
    state = nnx.to_flat_state(nnx.state(network, nnx.BatchStat))
    moved = {variables_lib.as_text(p): v[...] for p, v in state}
    return variables_lib.replace(variables, moved)

  def frozen_paths(
    self, *, stages: int = 0, frozen_norms: bool = False
  ) -> frozenset[Path]:
    """Paths of the parameters of the first stages, which a trainer leaves alone.

    The stem is the first stage, as Detectron's FREEZE_AT counts: 2 are the stem
    and a ResNet's `layer1`. `apply_train` leaves their statistics alone, too.

    Args:
      stages: how many; 0 is none.
      frozen_norms: as of `apply_train`; a classifier's norms learn their scales
        and biases all the same.

    Raises:
      UserError: the family does not say what a stage is, or has fewer.
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
    """The network in train mode, to be called once.

    Running statistics, and what is frozen, have no gradient. The first stages are
    as in evaluation.

    Args:
      variables: as of `apply`.
      key: see `train_mode.enter`.
      frozen_norms: see there.
      stages: see `frozen_paths`.

    Raises:
      UserError: the variables do not fit this model, or fewer stages.
    """
    fixed = self.statistics() | self.frozen_paths(
      stages=stages, frozen_norms=frozen_norms
    )
    given = variables_lib.flatten(variables)
    # NumPy's would be written over, outside of programs.
    stopped = {
      p: jax.lax.stop_gradient(jnp.asarray(given[p]))
      for p in fixed & set(given)
    }
    network = self.merge(variables_lib.nest({**given, **stopped}))
    parts = (tuple(map(str, path)) for path, _ in nnx.iter_modules(network))
    still = stages_lib.first(
      self.name, self.family.stages, {*parts, *self.shapes()}, stages
    )
    train_mode.enter(network, key, frozen_norms=frozen_norms, still=still)
    return network

  def decayed_paths(self) -> frozenset[Path]:
    """Paths of what weight decay acts on where a recipe spares the rest.

    Kernels, and CLIP's texts, which are one; no biases, norms, scales of layers,
    tokens, positions or tables of offsets.
    """
    return frozenset(p for p in self.shapes() if p[-1] in ("kernel", "text"))

  def merge(self, variables: Variables) -> Any:
    """The network with these variables, to be called.

    Raises:
      UserError: they are not this model's.
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
  """A network that answers with logits, of pictures or of clips.

  One compilation serves one shape of batches.
  """

  spec: Spec

  @property
  def trainable(self) -> bool:
    """On its logits, see `apply_train`."""
    return True

  @property
  def layers(self) -> tuple[str, ...]:
    """Their paths in the network, as checkpoints call them: `layer4.0.conv2`."""
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
    """Logits of a batch.

    Args:
      variables: from `init` or `models.convert.load`.
      batch: `[B, H, W, 3]` of pictures, `[B, T, H, W, 3]` of clips; uint8 RGB
        in 0..255, which is preprocessed first, or float pixels that already
        are.
      capture: names of `layers` whose outputs are wanted too, or `features`,
        what the last layer reads; see `models.capture`.

    Returns:
      float32 `[B, num_classes]`; with `capture` these, and name -> float32
      `[B, channels]`, pooled.

    Raises:
      UserError: the batch or the variables do not fit this model, or a layer
        that it does not have.
    """
    pixels = self.pixels(batch)  # refused before the variables are
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
    """Logits of a batch in train mode, and the variables that it leaves.

    Batch norms normalise by the batch, the whole one where it is sharded under
    `jax.jit`, and their running statistics move as torch's do; dropout and
    stochastic depth draw. Auxiliary heads (GoogLeNet, Inception) are no part of
    our networks, which are trained without them.

    Args:
      variables: as of `apply`.
      batch: as of `apply`.
      key: a JAX key of this step: all that is drawn depends on it alone.
      frozen_norms: whether running statistics are used and left, as in
        evaluation; scales and biases of norms are parameters all the same.
      frozen_stages: how many of the first stages are as in evaluation and have no
        gradient, see `frozen_paths`.

    Returns:
      float32 `[B, num_classes]`, and the variables: those of `statistics()` are
      new, without a gradient, the others are what was given.

    Raises:
      UserError: the batch or the variables do not fit this model, not one key, or
        fewer stages.
    """
    pixels = self.pixels(batch)
    drawn = arguments.key(self.name, key, "apply_train")
    network = self.in_train_mode(
      variables, drawn, frozen_norms=frozen_norms, stages=frozen_stages
    )
    logits = self.answer(network, pixels)
    return logits, self.with_statistics(variables, network)

  def answer(self, network: Any, pixels: jax.Array) -> jax.Array:
    """Return float32 logits of a network from `merge`."""
    precision = "highest" if self.dtype == "float32" else "default"
    with jax.default_matmul_precision(precision):
      logits = network(pixels.astype(self.dtype))
    return logits.astype(jnp.float32)


Abstract = tuple[tuple[Path, nnx.Variable], ...]


@functools.lru_cache(maxsize=256)
def _abstract(model: NetworkModel) -> tuple[nnx.GraphDef, Abstract]:
  """The network without its numbers, and (path, variable) of each array."""
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
  """The same key for every layer, in place of `nnx.Rngs`: shapes need no other.

  A traced count of keys, which `nnx.Rngs` has, takes half of the tracing.
  """

  def __init__(self) -> None:
    self._key = jax.random.key(0)

  def params(self) -> jax.Array:
    """The key."""
    return self._key


def _one_key() -> nnx.Rngs:
  return cast(nnx.Rngs, _OneKey())


def _definition_order(module: nnx.Module, prefix: Path = ()) -> list[Path]:
  """Paths in the order of `__init__`, so that "first" means the first layer."""
  paths: list[Path] = []
  for name, value in vars(module).items():
    if isinstance(value, nnx.Variable):
      paths.append((*prefix, name))
    elif isinstance(value, nnx.Module):
      paths += _definition_order(value, (*prefix, name))
  return paths
