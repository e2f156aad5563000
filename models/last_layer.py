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
  """A linear layer on what a network's own last layer reads.

  Its variables are `{"network": the network's, "last_layer": {"kernel": [width,
  classes], "bias": [classes]}}`.

  Attributes:
    name: the network's.
    spec: the network's, of other classes.
    network: what is frozen: it names its layers.
  """

  spec: Spec
  network: Model

  @classmethod
  def on(cls, network: Model, classes: int, label_space: str) -> Self:
    """On a network.

    Args:
      network: whose features are read.
      classes: how many there are now.
      label_space: what they are called together.

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
    """As the network."""
    return self.network.is_external

  @property
  def code(self) -> Any:
    """The network's."""
    return self.network.code

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """As the network's: it is what preprocesses."""
    network = self.network.with_fields(fields)
    own = {"num_classes": self.spec.num_classes}
    spec = self.spec.with_fields({**fields, **own})
    return dataclasses.replace(self, network=network, spec=spec)

  def init(self, key: jax.Array) -> dict[str, Any]:
    """The network's variables, and a last layer of zeros."""
    network = self.network.init(key)
    side = self.spec.input_px
    batch = jnp.zeros(self.spec.batch_shape(1, side), jnp.uint8)
    width = jax.eval_shape(self.features, network, batch).shape[1]
    classes = self.spec.num_classes
    head = {"kernel": jnp.zeros((width, classes)), "bias": jnp.zeros(classes)}
    return {NETWORK: network, HEAD: head}

  def features(self, variables: Any, batch: ArrayLike) -> jax.Array:
    """What the last layer reads: float32 `[B, width]`.

    Args:
      variables: the network's alone.
      batch: as of `apply`.
    """
    wanted = (capture_lib.FEATURES,)
    _, kept = self.network.apply(variables, batch, capture=wanted)
    features: jax.Array = kept[capture_lib.FEATURES]
    return features

  def apply(
    self,
    variables: Mapping[str, Any],
    batch: ArrayLike,
    *,
    capture: Sequence[str] | None = None,
  ) -> jax.Array:
    """Logits of a batch, as `Classifier.apply`; it names no layers itself."""
    self.check_capture(capture)
    head = variables[HEAD]
    with jax.default_matmul_precision("highest"):
      features = self.features(variables[NETWORK], batch)
      return features @ head["kernel"] + head["bias"]
