"""A family of models: one network in several sizes, and the rules for its files.

A file of `models/classification`, `models/detection`, `models/segmentation` or
`models/video` that ends in `FAMILY = Family(...)` is a family; the catalogue finds
it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from flax import nnx

from models.spec import Variant

if TYPE_CHECKING:
  import numpy as np

  from models.variables import Path

# (pattern, replacement) on the names of a checkpoint's arrays, in this order.
Rules = Sequence[tuple[str, str]]
Regroup = Callable[[Mapping[str, "np.ndarray"]], Mapping[str, "np.ndarray"]]
# (our path, the file's array, the model's shape) -> (array, a note about it).
Fit = Callable[
  ["Path", "np.ndarray", tuple[int, ...]], "tuple[np.ndarray, str] | None"
]


@dataclasses.dataclass(frozen=True, eq=False)
class Family:
  """The declaration of a family; all but the first two fields have defaults.

  Attributes:
    network: the `nnx.Module` class; it takes a variant's options, `num_classes`
      and `rngs`. Attribute names follow the public checkpoints'.
    variants: the models of the family by name.
    checkpoints: rules by style, which map a checkpoint's names to the network's.
      The first word of a style is compared with `ModelSpec.weights`.
    ignored: patterns of arrays in checkpoints that evaluation does not need.
    drops_background: whether checkpoints may have one more class, the
      background, before the others; it is dropped.
    regroup: joins or splits arrays of a checkpoint before names are compared;
      None: they stay.
    flax_styles: styles whose arrays have our layout (HWIO, IO), as JAX programs
      write them; their rules map names to torch's. `regroup` joins kernels with
      an axis of heads, `[width, heads, n]`.
    fit: resizes an array of another shape, e.g. positions of another grid. If it
      is None or returns None, the file belongs to another network.
    sized: whether the network's option `side` is the spec's `input_px`, so that
      a spec with another side makes a network of that side.
    alike: groups of styles whose weights need the same preprocessing and
      constants: loading one into a model of another gives no warning.
    exclusive: styles whose arrays have another meaning although names and shapes
      may agree: models of other weights refuse such files.
    stages: patterns of paths (`/` between their parts), in order, from the stem
      to the last stage before the head. A pattern with a group stands for one
      stage for each number that the group matches: `layer([1-4])`.
    oracles: the reference in torch of each model, for parity reports, e.g.
      `torchvision:resnet18` (see `models.convert.oracle`).
    paper: where the network is from: `Liu et al. 2022, A ConvNet for the 2020s,
      arXiv:2201.03545`. Empty if `papers.tsv` says it, by patterns of names.
  """

  network: Callable[..., nnx.Module]
  variants: Mapping[str, Variant]
  checkpoints: Mapping[str, Rules] = dataclasses.field(default_factory=dict)
  ignored: tuple[str, ...] = ()
  drops_background: bool = False
  regroup: Regroup | None = None
  flax_styles: tuple[str, ...] = ()
  fit: Fit | None = None
  sized: bool = False
  alike: tuple[tuple[str, ...], ...] = ()
  exclusive: tuple[str, ...] = ()
  stages: tuple[str, ...] = ()
  oracles: Mapping[str, str] = dataclasses.field(default_factory=dict)
  paper: str = ""
