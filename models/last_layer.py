"""A frozen network whose last layer is replaced by one of other classes."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from models import capture as capture_lib
from models.model import Model
from models.spec import Spec

NETWORK, HEAD = "network", "last_layer"


@dataclasses.dataclass(frozen=True, eq=False)
class LastLayer(Model):
  """A frozen network with a linear layer in place of its last one.

  Its variables are `{"network": the network's, "last_layer": {"kernel": [width,
  classes], "bias": [classes]}}`.

  Attributes:
    name: name of the network.
    spec: spec of the network, with other classes.
    network: the frozen network, which names its layers.
  """

  spec: Spec
  network: Model

  @classmethod
  def from_network(cls, network: Model, classes: int, label_space: str) -> Self:
    """Put a last layer of other classes on a network.

    Raises:
      UserError: the network names no layers.
    """
    network.check_capture((capture_lib.FEATURES,))
    spec = dataclasses.replace(
      cast(Spec, network.spec),
      num_classes=classes,
      label_space=label_space,
      parameters=None,
    )
    return cls(network.name, spec, network)

  @property
  def is_external(self) -> bool:
    """Whether the network is external."""
    return self.network.is_external

  @property
  def code(self) -> Any:
    """The network's code."""
    return self.network.code

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """Return a copy with these spec fields, also of the network."""
    network = self.network.with_fields(fields)
    own = {"num_classes": self.spec.num_classes}
    spec = self.spec.with_fields({**fields, **own})
    return dataclasses.replace(self, network=network, spec=spec)

  def init(self, key: jax.Array) -> dict[str, Any]:
    """Return the network's variables, and a last layer of zeros."""
    network = self.network.init(key)
    side = self.spec.input_px
    batch = jnp.zeros(self.spec.batch_shape(1, side), jnp.uint8)
    width = jax.eval_shape(self.features, network, batch).shape[1]
    classes = self.spec.num_classes
    head = {"kernel": jnp.zeros((width, classes)), "bias": jnp.zeros(classes)}
    return {NETWORK: network, HEAD: head}

  def features(self, variables: Any, batch: ArrayLike) -> jax.Array:
    """Compute the last layer's input, float32 `[B, width]`.

    Args:
      variables: variables of the network alone.
      batch: a batch like that of `apply`.
    """
    layers = (capture_lib.FEATURES,)
    _, captured = self.network.apply(variables, batch, capture=layers)
    features: jax.Array = captured[capture_lib.FEATURES]
    return features

  def apply(
    self,
    variables: Mapping[str, Any],
    batch: ArrayLike,
    *,
    capture: Sequence[str] | None = None,
  ) -> jax.Array:
    """Compute logits like `Classifier.apply`; it names no layers itself."""
    self.check_capture(capture)
    head = variables[HEAD]
    with jax.default_matmul_precision("highest"):
      features = self.features(variables[NETWORK], batch)
      return features @ head["kernel"] + head["bias"]
