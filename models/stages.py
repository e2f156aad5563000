"""Which parameters a network's first stages hold: what fine-tuning freezes.

A family says what its stages are (`Family.stages`), in words of its paths.
"""

import re
from collections.abc import Iterable, Sequence

from models.variables import Path
from robust_tfds import errors


def of(patterns: Sequence[str], paths: Iterable[Path]) -> list[set[Path]]:
  r"""The paths of each stage, in order.

  Args:
    patterns: as of `Family.stages`.
    paths: of a network.

  >>> paths = [("conv1", "kernel"), ("layer1", "0"), ("layer2", "0"), ("fc",)]
  >>> for stage in of(("conv1|bn1", r"layer(\d)"), paths):
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
  """The paths of the first stages.

  Args:
    name: of the model, for errors.
    patterns: as of `Family.stages`.
    paths: of the network.
    count: how many stages; none of them asks nothing of the family.

  Raises:
    UserError: the family names no stages, or fewer than `count`.
  """
  if not count:
    return frozenset()
  found = of(patterns, paths)
  if not found:
    raise errors.UserError(
      f"{name} does not say what its stages are, so none can be frozen. Freeze"
      " no stages, or take a network that has them: ResNets, ConvNeXts, vision"
      " transformers and others do."
    )
  if not 0 <= count <= len(found):
    raise errors.UserError(
      f"{name}: got {count} stages to freeze, expected 0 to {len(found)}, of"
      " which the first is the stem."
    )
  return frozenset().union(*found[:count])
