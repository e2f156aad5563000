"""The state of a training, which changes from step to step, as one tree of arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

import jax
import jax.numpy as jnp
import optax

from models import variables as variables_lib
from models.model import NetworkModel
from models.training.config import Config
from models.variables import Path, Variables


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
  """The state that the next step depends on, besides its batch.

  Attributes:
    step: int32, number of steps that are done.
    parameters: trained arrays by path.
    statistics: running statistics and frozen arrays by path.
    optimizer: state of the optimizer.
    ema: moving average of the variables by path; empty if none is kept.
  """

  step: jax.Array
  parameters: dict[str, jax.Array]
  statistics: dict[str, jax.Array]
  optimizer: Any
  ema: dict[str, jax.Array]

  @property
  def variables(self) -> Variables:
    """The variables as the network takes them."""
    return nested({**self.parameters, **self.statistics})

  @property
  def averaged(self) -> Variables:
    """The moving average of the variables if one is kept, else the variables."""
    return nested(self.ema) if self.ema else self.variables


def first(
  model: NetworkModel,
  variables: Variables,
  optimizer: optax.GradientTransformationExtraArgs,
  config: Config,
) -> State:
  """Return the state before the first step."""
  parameters, statistics = parted(variables, without_gradient(model, config))
  return State(
    jnp.zeros((), jnp.int32),
    parameters,
    statistics,
    optimizer.init(parameters),
    {**parameters, **statistics} if config.optimizer.ema else {},
  )


def frozen_norms(model: NetworkModel, config: Config) -> bool:
  """Return whether batch norms keep their running statistics."""
  stated = config.model.frozen_norms
  return model.kind == "detection" if stated is None else stated


def without_gradient(model: NetworkModel, config: Config) -> frozenset[Path]:
  """Return the paths of running statistics, and of what the config freezes.

  Raises:
    UserError: the network has fewer stages.
  """
  frozen = model.frozen_paths(
    stages=config.model.frozen_stages,
    frozen_norms=frozen_norms(model, config),
  )
  return model.statistics() | frozen


def parted(
  variables: Variables, statistics: Collection[Path]
) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
  """Split variables into parameters and statistics, by path.

  Args:
    statistics: see `without_gradient`.
  """
  flat = variables_lib.flatten(variables)
  parameters = {"/".join(p): x for p, x in flat.items() if p not in statistics}
  return parameters, {"/".join(p): flat[p] for p in statistics if p in flat}


def nested(flat: dict[str, jax.Array]) -> Variables:
  """Nest variables by path, as the network takes them."""
  return variables_lib.nest({tuple(p.split("/")): x for p, x in flat.items()})
