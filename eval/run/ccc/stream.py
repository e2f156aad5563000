"""The stream: which pictures come, under which two corruptions.

Nodes follow each other along paths of equal accuracy. Each node shows `speed`
pictures of the set, in an order of its own. A picture is flipped by a coin, cropped
and resized as in training, corrupted twice and stored as JPEG of quality 85. All of
this depends only on the stream's seed, the node and the picture's id.

DEVIATION: the pairs of corruptions follow from the authors' seeds. Order, crops and
pixels are drawn by key, because the authors' depend on their number of processes.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import random
from collections.abc import Iterator, Sequence

import jax
import numpy as np

from eval.run.ccc import matrix as matrix_lib
from models.training.data import crops
from robust_tfds import conditions, corruptions
from robust_tfds.building import pictures
from robust_tfds.corruptions import seeding
from robust_tfds.corruptions.ops import jpeg

AT_ONCE = 64  # pictures that are corrupted together
_QUALITY = 85
_CROP, _ORDER = "crop", 0x434343  # whose draws these are
_FLIP = 1  # number of the word after the crop's own stream


@dataclasses.dataclass(frozen=True)
class Node:
  """Two corruptions, applied one after the other; severity 0 changes nothing.

  Attributes:
    first: name of the first corruption.
    first_severity: a multiple of .25.
    second: name of the second corruption.
    second_severity: a multiple of .25.
  """

  first: str
  first_severity: float
  second: str
  second_severity: float

  def __str__(self) -> str:
    """Return the node in words."""
    listed = [
      f"{name} {severity:g}"
      for name, severity in (
        (self.first, self.first_severity),
        (self.second, self.second_severity),
      )
      if severity
    ]
    return " + ".join(listed) or conditions.CLEAN


@dataclasses.dataclass(frozen=True)
class Part:
  """Pictures of one node, in their order.

  Attributes:
    node: the corruptions of the pictures.
    images: uint8 `[N, S, S, 3]`.
    labels: int `[N]`.
  """

  node: Node
  images: np.ndarray
  labels: np.ndarray


def nodes(
  matrix: matrix_lib.Matrix, difficulty: str, seed: int
) -> Iterator[Node]:
  """Yield the nodes of a stream, endlessly.

  At the end of a path the second corruption becomes the first, and another is
  drawn, by Python's generator as in the authors' code.
  """
  target, names = matrix_lib.DIFFICULTIES[difficulty]
  draw = random.Random(seed)
  first = draw.choice(names)
  while True:
    second = draw.choice(names)
    while second == first:
      second = draw.choice(names)
    accuracy = matrix.of_pair(first, second)
    for i, j in matrix_lib.path(accuracy, target):
      yield Node(first, i / 4, second, j / 4)
    first = second


def parts(
  sources: Sequence[pictures.Source],
  steps: Iterator[Node],
  *,
  dataset: str,
  side_px: int,
  speed: int,
  seed: int,
  limit: int,
  start: int = 0,
) -> Iterator[Part]:
  """Yield the stream's pictures from `start` until there are `limit`.

  Args:
    sources: all pictures of the set.
    steps: the nodes.
    dataset: part of every key.
    side_px: side of the pictures that are shown.
    speed: number of pictures of a node, at most the size of the set.
    seed: the stream's seed.
    limit: number of pictures of the stream.
    start: number of pictures to skip at its beginning.
  """
  shown = 0
  with concurrent.futures.ThreadPoolExecutor() as pool:
    for number, node in enumerate(steps):
      order = np.random.default_rng([_ORDER, seed, number])
      chosen = order.permutation(len(sources))[: min(speed, limit - shown)]
      for at in range(max(0, start - shown), len(chosen), AT_ONCE):
        of_part = [sources[i] for i in chosen[at : at + AT_ONCE]]
        ids = [f"{number}/{s.example_id}" for s in of_part]
        keys = _keys(seed, dataset, _CROP, 0, ids)
        read = functools.partial(_cropped, side=side_px)
        images = np.stack([*pool.map(read, of_part, keys)])
        levels = corrupted(images, node, seed, dataset, ids)
        yield Part(node, levels, np.array([s.label for s in of_part]))
      shown += len(chosen)
      if shown >= limit:
        return


def corrupted(
  images: np.ndarray, node: Node, seed: int, dataset: str, ids: Sequence[str]
) -> np.ndarray:
  """Apply both corruptions of a node to pictures, then JPEG.

  Args:
    images: uint8 `[N, S, S, 3]`, at most 64.
    node: the corruptions.
    seed: the stream's seed.
    dataset: part of every key.
    ids: ids of the pictures in this node.
  """
  spare = AT_ONCE - len(images)  # one shape is one program
  batch = np.concatenate([images, np.repeat(images[:1], spare, 0)])
  padded = [*ids, *[ids[0]] * spare]
  levels = jax.numpy.asarray(batch)
  for name, severity in (
    (node.first, node.first_severity),
    (node.second, node.second_severity),
  ):
    levels = corrupted_once(levels, name, severity, seed, dataset, padded)
  return np.asarray(stored(levels))[: len(images)]


def corrupted_once(
  images: jax.Array,
  name: str,
  severity: float,
  seed: int,
  dataset: str,
  ids: Sequence[str],
) -> jax.Array:
  """Apply one corruption to uint8 `[N, S, S, 3]`; severity 0 changes nothing."""
  if not severity:
    return images
  keys = jax.numpy.asarray(_keys(seed, dataset, name, severity, ids))
  levels = corruptions.corrupt_batch(
    images, name, severity, edition="ccc", keys=keys
  )
  return jax.numpy.asarray(levels)


@jax.jit
def stored(images: jax.Array) -> jax.Array:
  """Apply JPEG of the stream's quality to uint8 `[N, S, S, 3]`."""
  return jpeg.roundtrip_batch(images, _QUALITY)


def _cropped(source: pictures.Source, key: np.ndarray, side: int) -> np.ndarray:
  """Return a random square crop of a picture, flipped by a coin."""
  pixels = source.picture.read()
  square = crops.apply(pixels, f"random_resized{side}", key)
  coin = seeding.words(key, _FLIP + 1)[_FLIP] & 1
  return square[:, ::-1] if coin else square


def _keys(
  seed: int, dataset: str, name: str, severity: float, ids: Sequence[str]
) -> np.ndarray:
  return conditions.raw_keys(seed, dataset, name, severity, ids)
