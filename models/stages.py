"""The parameters of a network's first stages, which fine-tuning may freeze.

A family describes its stages by patterns of paths (`Family.stages`).
"""

import re
from collections.abc import Iterable, Sequence

from models.variables import Path
from robust_tfds import errors


def split(patterns: Sequence[str], paths: Iterable[Path]) -> list[set[Path]]:
  r"""Return the paths of each stage, in order.

  Args:
    patterns: see `Family.stages`.
    paths: paths of a network's parameters.

  >>> paths = [("conv1", "kernel"), ("layer1", "0"), ("layer2", "0"), ("fc",)]
  >>> for stage in split(("conv1|bn1", r"layer(\d)"), paths):
  ...   print(stage)
  {('conv1', 'kernel')}
  {('layer1', '0')}
  {('layer2', '0')}
  """
  found: dict[tuple[int, int], set[Path]] = {}
  for path in paths:
    for i, pattern in enumerate(patterns):
      match = re.match(rf"(?:{pattern})(?:/|$)", "/".join(path))
      if match:
        number = int(match[1]) if match.re.groups else 0
        found.setdefault((i, number), set()).add(path)
        break
  return [found[place] for place in sorted(found)]


def first(
  name: str, patterns: Sequence[str], paths: Iterable[Path], count: int
) -> frozenset[Path]:
  """Return the paths of the first `count` stages.

  Args:
    name: name of the model, for errors.
    patterns: see `Family.stages`.
    paths: paths of the network's parameters.
    count: number of stages.

  Raises:
    UserError: the family names no stages, or fewer than `count`.
  """
  if not count:
    return frozenset()
  found = split(patterns, paths)
  if not found:
    raise errors.UserError(
      f"{name} does not define its stages, so none can be frozen. Freeze no"
      " stages, or take a network that defines them: ResNets, ConvNeXts, vision"
      " transformers and others do."
    )
  if not 0 <= count <= len(found):
    raise errors.UserError(
      f"{name}: got {count} stages to freeze, expected 0 to {len(found)}; the"
      " stem is the first."
    )
  return frozenset().union(*found[:count])
