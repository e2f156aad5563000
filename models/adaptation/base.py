"""What all adaptation methods share: their state, optimizers and losses."""

from __future__ import annotations

import abc
import dataclasses
import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from models.adaptation import network
from models.model import Model
from robust_tfds import errors

# A pytree of arrays with text as keys, which can be stored as it is.
State = dict[str, Any]
Draws = Mapping[str, Any]
_BETAS, _EPSILON = (0.9, 0.999), 1e-8  # of Adam
_SHARE, _FROM0 = (0, 1), (0, math.inf)
# The least and the most of hyperparameters that are numbers.
_RANGES: dict[str, tuple[float, float]] = {
  "alpha": _SHARE,
  "confidence": _SHARE,
  "d_margin": _FROM0,
  "e_margin": _FROM0,
  "fisher_alpha": _FROM0,
  "learning_rate": (0, 1e38),
  "momentum": _SHARE,
  "prior": _FROM0,
  "q": (1e-6, 1),
  "recovery": _FROM0,
  "restored": _SHARE,
  "rho": _FROM0,
  "teacher_momentum": _SHARE,
}
_SWITCHES = ("dropout", "full_recovery", "nesterov", "unbiased")
_COUNTS = ("batch_size", "clean_batch", "every", "num_views", "steps")  # from 1


@dataclasses.dataclass(frozen=True)
class Optimizer:
  """An optimizer as torch has it, without weight decay.

  Attributes:
    kind: `sgd` or `adam` (betas .9 and .999, epsilon 1e-8).
    learning_rate: the step's size.
    momentum: of SGD.
    nesterov: of SGD.
  """

  kind: str
  learning_rate: float
  momentum: float = 0.9
  nesterov: bool = False

  def __post_init__(self) -> None:
    """Refuse values of another kind or out of range."""
    _check(self)

  def build(self) -> Any:
    """Return it as optax has it; UserError for an unknown kind."""
    import optax

    if self.kind == "adam":
      return optax.GradientTransformation(_adam_start, self._adam)
    if self.kind == "sgd":
      return optax.sgd(self.learning_rate, self.momentum, self.nesterov)
    raise errors.unknown_error("optimizer", self.kind, ("adam", "sgd"))

  def _adam(
    self, gradient: Any, state: State, weights: Any = None
  ) -> tuple[Any, State]:
    """Return changes and state, by torch's steps and exact bias corrections.

    In float32, optax's `1 - 0.999**t` loses four digits at the first batches.
    """
    del weights
    first, second = _BETAS
    count = state["count"] + 1
    mean = jax.tree.map(
      lambda m, g: m + (1 - first) * (g - m), state["mean"], gradient
    )
    square = jax.tree.map(
      lambda v, g: second * v + (1 - second) * (g * g),
      state["square"],
      gradient,
    )
    rate = self.learning_rate / _bias(first, count)
    root = jnp.sqrt(_bias(second, count))
    changes = jax.tree.map(
      lambda m, v: -rate * (m / (jnp.sqrt(v) / root + _EPSILON)), mean, square
    )
    return changes, {"count": count, "mean": mean, "square": square}


def _adam_start(weights: Any) -> State:
  zeros = jax.tree.map(jnp.zeros_like, weights)
  return {"count": jnp.zeros((), jnp.int32), "mean": zeros, "square": zeros}


def _bias(beta: float, count: jax.Array) -> jax.Array:
  """Return `1 - beta**count`, exactly."""
  return -jnp.expm1(count * math.log(beta))


def _check(owner: Any) -> None:
  """Refuse hyperparameters of another kind or out of range.

  Raises:
    UserError: names the first.
  """
  for field in dataclasses.fields(owner):
    name, value = field.name, getattr(owner, field.name)
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if name in _COUNTS:
      right = number and isinstance(value, (int, np.integer)) and value >= 1
      expected = "a whole number from 1"
    elif name in _RANGES:
      least, most = _RANGES[name]
      right = number and least <= value <= most
      expected = f"a number from {least:g} to {most:g}"
    elif name in _SWITCHES:
      right, expected = isinstance(value, (bool, np.bool_)), "True or False"
    else:
      continue
    if not right and not (value is None and field.default is None):
      raise errors.UserError(f"{name} is {value!r}, expected {expected}.")


SGD = Optimizer("sgd", 2.5e-4)
ADAM = Optimizer("adam", 1e-3)


def published(model: Model) -> str:
  """Return whose hyperparameters fit a model: those of its number of classes."""
  classes = model.spec.num_classes
  if classes >= 200:
    return "imagenet"
  return "cifar100" if classes == 100 else "cifar10"


@dataclasses.dataclass(frozen=True)
class Method(abc.ABC):
  """A method that adapts a model to a stream of test pictures.

  Its functions are pure, and may be jitted. A hyperparameter that is None has the
  papers' value for the model's number of classes, see `published`.

  Attributes:
    model: the model, with the weights that it is tested with.
    needs_clean: whether `init` needs clean pictures.
    side_by_side: whether each condition may have a state of its own: `reset`
      keeps nothing of the one before, and states are small.
    renewed: whether the authors' evaluation makes a new object where others call
      `reset`.
    by_batch: whether batch norms normalise by each batch alone, which one picture
      is too few for.
  """

  model: Model
  needs_clean: ClassVar[bool] = False
  side_by_side: ClassVar[bool] = True
  renewed: ClassVar[bool] = False
  by_batch: ClassVar[bool] = True

  def __post_init__(self) -> None:
    """Refuse hyperparameters of another kind or out of range."""
    if not isinstance(self.model, Model):
      raise errors.UserError(
        f"got a {type(self.model).__name__}, expected a model: of models.get, or"
        " made from your module by models.adapters.get('flax_module')."
      )
    _check(self)

  def init(self, variables: Any, clean: Any = None) -> State:
    """Return the state before the first batch.

    Args:
      variables: the model's variables.
      clean: pictures that `needs_clean` asks for: uint8 `[N, H, W, 3]`, or a
        sequence of batches of them.

    Raises:
      UserError: the model has nothing that this method adapts, a hyperparameter
        is out of range, or clean pictures are missing.
    """
    if self.needs_clean and (clean is None or len(clean) == 0):
      raise errors.UserError(
        f"{type(self).__name__} needs clean pictures: init(variables, clean=...)."
      )
    weights = network.take(variables, self.trained_paths(variables))
    state = {"variables": variables, "source": weights, **self.fresh(weights)}
    return {**state, **self.prepare(state, clean)}

  def trained_paths(self, variables: Any) -> list[str]:
    """Return the paths of what is adapted: here the norms' scales and biases."""
    return network.affine_paths(network.norms(self.model, variables))

  def fresh(self, weights: network.Weights) -> State:
    """Return what a new object begins with, beside the source weights."""
    return {"weights": weights}

  def prepare(self, state: State, clean: Any) -> State:
    """Return what is computed once, of clean pictures."""
    del state, clean
    return {}

  @abc.abstractmethod
  def step(
    self,
    state: State,
    images: jax.Array,
    key: jax.Array,
    draws: Draws | None = None,
  ) -> tuple[jax.Array, State]:
    """Answer a batch, and adapt to it.

    Args:
      state: from `init`, `step` or `reset`.
      images: uint8 `[B, H, W, 3]`, as the model takes them.
      key: a JAX key of this batch.
      draws: random numbers in place of the key's, for methods that draw.

    Returns:
      Logits `[B, classes]`, and the state after the batch.
    """

  def reset(self, state: State) -> State:
    """Return the state as the authors' own reset leaves it."""
    return self.renew(state)

  def renew(self, state: State) -> State:
    """Return the state as of a new object with the same source."""
    return {**state, **self.fresh(state["source"])}


@dataclasses.dataclass(frozen=True)
class Learner(Method):
  """A method that trains some weights by gradients.

  Attributes:
    optimizer: None: the papers', `IMAGENET` or `CIFAR` by `published`.
    dropout: whether dropout and stochastic depth drop as in training: so in the
      authors' code, whose networks are in train mode; False: in evaluation.
    IMAGENET: the papers' optimizer of networks for ImageNet.
    CIFAR: the papers' optimizer of networks for CIFAR.
  """

  optimizer: Optimizer | Mapping[str, Any] | None = None
  dropout: bool = True
  IMAGENET: ClassVar[Optimizer] = SGD
  CIFAR: ClassVar[Optimizer] = ADAM

  def __post_init__(self) -> None:
    """Refuse hyperparameters of another kind or out of range."""
    super().__post_init__()
    given = self.optimizer or {}
    if not isinstance(given, (Optimizer, Mapping)):
      raise errors.UserError(
        f"optimizer is {given!r}, expected a dict such as {{'kind': 'adam',"
        " 'learning_rate': 1e-3}."
      )
    known = [f.name for f in dataclasses.fields(Optimizer)]
    for name in () if isinstance(given, Optimizer) else given:
      if name not in known:
        raise errors.unknown_error("key of the optimizer", name, known)
    self.chosen.build()

  @property
  def chosen(self) -> Optimizer:
    """The optimizer: given, the papers', or the papers' with given values."""
    if isinstance(self.optimizer, Optimizer):
      return self.optimizer
    large = published(self.model) == "imagenet"
    usual = self.IMAGENET if large else self.CIFAR
    return dataclasses.replace(usual, **(self.optimizer or {}))

  def init(self, variables: Any, clean: Any = None) -> State:
    """Return the state before the first batch, see the base class.

    Raises:
      UserError: see there, and if no weight would be trained.
    """
    if not self.trained_paths(variables):
      raise errors.UserError(
        f"{self.model.name}: its norm layers have no scale or bias that"
        f" {type(self).__name__} trains. Use bn, or another network."
      )
    return super().init(variables, clean)

  def transformation(self) -> Any:
    """Return the optimizer in optax."""
    return self.chosen.build()

  def fresh(self, weights: network.Weights) -> State:
    """Return the source weights and an optimizer that has seen nothing."""
    return {
      "weights": weights,
      "optimizer": self.transformation().init(weights),
      "backward": jnp.zeros((), jnp.int32),
    }

  def logits(
    self,
    state: State,
    weights: network.Weights,
    images: jax.Array,
    key: jax.Array,
  ) -> jax.Array:
    """Return logits with some weights, batch norms by the batch.

    Args:
      state: with the model's variables.
      weights: in place of the variables'.
      images: uint8 `[B, H, W, 3]`.
      key: of what is dropped.
    """
    variables = network.put(state["variables"], weights)
    drawn = key if self.dropout else None
    return network.forward(self.model, variables, images, key=drawn)[0]

  def update(self, state: State, gradient: network.Weights) -> State:
    """Return the weights and the optimizer after a step along a gradient."""
    changes, optimizer = self.transformation().update(
      gradient, state["optimizer"], state["weights"]
    )
    weights = jax.tree.map(jnp.add, state["weights"], changes)
    return {"weights": weights, "optimizer": optimizer}


def entropy_margin(model: Model) -> float:
  """Return the papers' entropy in nats below which a picture is reliable."""
  return 0.4 * math.log(model.spec.num_classes)


def entropy(logits: jax.Array) -> jax.Array:
  """Return the entropy of each softmax in nats, `[B]`."""
  logs = jax.nn.log_softmax(logits)
  return -(jnp.exp(logs) * logs).sum(-1)


def cross_entropy(target: jax.Array, logits: jax.Array) -> jax.Array:
  """Return the cross-entropy of softmaxes to softmaxes of logits, `[B]`."""
  return -(jax.nn.softmax(target) * jax.nn.log_softmax(logits)).sum(-1)


def mean_where(values: jax.Array, chosen: jax.Array) -> jax.Array:
  """Return the mean of chosen values; 0, with gradient 0, where none is."""
  total = jnp.where(chosen, values, 0).sum()
  return total / jnp.maximum(chosen.sum(), 1)


def where(condition: jax.Array, new: Any, old: Any) -> Any:
  """Return one of two trees of the same structure."""
  return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def batches(pictures: Any, size: int) -> Iterable[jax.Array]:
  """Return clean pictures in batches, which may be given as such."""
  if isinstance(pictures, (np.ndarray, jax.Array)):
    starts = range(0, len(pictures), size)
    return [jnp.asarray(pictures[i : i + size]) for i in starts]
  return [jnp.asarray(batch) for batch in pictures]
