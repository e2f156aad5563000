"""Action-recognition networks in JAX; the folder is the registry, as of `models`.

A file with `VARIANTS` is a family: name -> `models.spec.Variant` of a
`VideoSpec` and the options of the file's `Network`, with `CHECKPOINTS` and
`IGNORED` as in `models`.

  >>> import jax
  >>> from models import video
  >>> model = video.get("tiny_r3d")
  >>> variables = model.init(jax.random.key(0))
  >>> clips = jax.numpy.zeros((2, 8, 32, 32, 3), "uint8")
  >>> model.apply(variables, clips).shape
  (2, 10)
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from models.registry import Registry
from models.video import convert as convert

if TYPE_CHECKING:
  from models.video.model import VideoModel

_REGISTRY = Registry(__name__, "video model", ("name", "spec", "init", "apply"))


def names() -> tuple[str, ...]:
  """All networks, in alphabetical order."""
  return _REGISTRY.names()


def get(
  name: str, num_classes: int | None = None, *, dtype: str = "float32"
) -> VideoModel:
  """A network by name.

  Args:
    name: one of `names()`, or `module:function` of your own code, where
      `function()` returns an object with `.name`, `.spec`, `.init(key)` and
      `.apply(variables, clips)`, see `models.video.model.VideoModel`.
    num_classes: number of logits; the published number if None.
    dtype: `float32`, or `bfloat16` for bfloat16 compute with float32 logits.

  Raises:
    ValueError: an unknown name (with the nearest ones), dtype or class count.
  """
  if ":" in name:
    return _REGISTRY.own(name, num_classes)
  from models.video.model import VideoModel

  module = family(name)
  variant = module.VARIANTS[name]
  spec = variant.spec.with_classes(num_classes)
  return VideoModel(name, spec, module.Network, variant, dtype)


def family(name: str) -> ModuleType:
  """The file that holds a network.

  Raises:
    ValueError: an unknown name.
  """
  return _REGISTRY.family(name)
