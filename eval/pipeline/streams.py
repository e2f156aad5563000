"""The order in which adapting models are shown pictures and conditions.

  reset       each condition is a stream of its own (Tent, EATA)
  continual   one stream over the conditions, in one order, at one severity
  gradual     as continual, each corruption at severities 1, 2, ... 5, ... 2, 1
  mixed       one stream of the pictures of all conditions, shuffled together
  correlated  as continual, pictures of one class follow each other
  episodic    each batch begins anew (MEMO)

Pictures come in an order that follows from (seed, example id) alone, so it is the
same in every condition, and in every copy of a set.
"""

import dataclasses
import hashlib
import typing
from collections.abc import Sequence
from typing import Literal

import numpy as np

from robust_tfds import conditions
from robust_tfds.conditions import Condition

Setting = Literal[
  "reset", "continual", "gradual", "mixed", "correlated", "episodic"
]
SETTINGS: tuple[str, ...] = typing.get_args(Setting)
# In these the state goes on from one condition to the next.
SEQUENTIAL = ("continual", "gradual", "mixed", "correlated")
_NAMES = {
  "gaussian": "gaussian_noise",
  "shot": "shot_noise",
  "impulse": "impulse_noise",
  "defocus": "defocus_blur",
  "glass": "glass_blur",
  "motion": "motion_blur",
  "zoom": "zoom_blur",
  "elastic": "elastic_transform",
  "jpeg": "jpeg_compression",
}
# Wang et al. 2022 (CoTTA): qinenergy/cotta, imagenet/cfgs/10orders, 0 to 9.
_ORDERS = (
  "brightness pixelate gaussian motion zoom glass impulse jpeg defocus elastic"
  " shot frost snow fog contrast",
  "jpeg shot zoom frost contrast fog defocus elastic gaussian brightness glass"
  " impulse pixelate snow motion",
  "contrast defocus gaussian shot snow frost glass zoom elastic jpeg pixelate"
  " brightness impulse motion fog",
  "shot fog glass pixelate snow elastic brightness impulse defocus frost"
  " contrast gaussian motion jpeg zoom",
  "pixelate glass zoom snow fog impulse brightness motion frost jpeg gaussian"
  " shot contrast defocus elastic",
  "motion snow fog shot defocus contrast zoom brightness frost elastic glass"
  " gaussian pixelate jpeg impulse",
  "frost impulse jpeg contrast zoom glass pixelate snow defocus motion"
  " brightness elastic shot fog gaussian",
  "glass zoom impulse fog snow jpeg gaussian frost shot brightness contrast"
  " motion pixelate defocus elastic",
  "defocus motion zoom shot gaussian glass jpeg fog contrast pixelate frost"
  " snow brightness elastic impulse",
  "contrast gaussian defocus zoom frost glass jpeg fog pixelate elastic shot"
  " impulse snow motion brightness",
)
ORDERS = tuple(
  tuple(_NAMES.get(word, word) for word in order.split()) for order in _ORDERS
)


@dataclasses.dataclass(frozen=True)
class Stream:
  """An order of pictures and conditions.

  Attributes:
    setting: one of `SETTINGS`.
    order: order of the corruptions, 0 to 9; None: the papers'.
    seed: seed of the pictures' order.
    shuffle: whether pictures are shuffled; else they come as they are stored.
    delta: Dirichlet's, of `correlated`; None: pictures come whatever their class.
  """

  setting: Setting
  order: int | None = None
  seed: int = 0
  shuffle: bool = True
  delta: float | None = None

  def places(self, ids: Sequence[str], labels: Sequence[int]) -> np.ndarray:
    """Return the places of a set's examples in the order of the stream.

    Args:
      ids: ids of the examples, in the order of the set.
      labels: their classes.

    Returns:
      int64 `[N]`, a permutation.
    """
    places = np.arange(len(ids))
    if self.shuffle:
      places = shuffled(ids, self.seed)
    if self.delta is None:
      return places
    stream_labels = np.asarray(labels)[places]
    return places[_correlated(stream_labels, self.seed, self.delta)]

  def domains(self, run: Sequence[Condition]) -> list[Condition]:
    """Return the corrupted conditions of a run in the order of the stream.

    The state goes through them one after the other; a gradual stream visits
    most of them twice.
    """
    common = conditions.PICTURES.names("common")
    names = list(ORDERS[self.order] if self.order is not None else common)
    names += dict.fromkeys(c.name for c in run if c.name not in names)
    corrupted = [c for c in run if c.name]
    if self.setting == "gradual":
      by = {(c.name, c.level): c for c in corrupted}
      ways = [*conditions.SEVERITIES, *reversed(conditions.SEVERITIES[:-1])]
      return [by[n, s] for n in names for s in ways if (n, s) in by]
    place = {name: i for i, name in enumerate(names)}
    return sorted(corrupted, key=lambda c: (-c.level, place[c.name]))


def shuffled(ids: Sequence[str], seed: int) -> np.ndarray:
  """Return places ordered by a hash of (seed, id): int64 `[N]`."""
  keys = [_digest(f"{seed}:{name}") for name in ids]
  return np.array(sorted(range(len(ids)), key=keys.__getitem__), np.int64)


def _digest(text: str) -> bytes:
  return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _correlated(labels: np.ndarray, seed: int, delta: float) -> np.ndarray:
  """Return an order in which pictures of one class follow each other.

  Gong et al. 2022 (NOTE, arXiv:2208.05117, section 4): each class is cut into as
  many parts as there are classes, in shares drawn from Dirichlet(delta); part by
  part the classes follow each other.
  """
  text = f"correlated:{seed}:{float(delta)!r}"
  rng = np.random.Generator(
    np.random.Philox(key=int.from_bytes(_digest(text), "little"))
  )
  classes = np.unique(labels)
  parts: list[list[np.ndarray]] = [[] for _ in classes]
  for label in classes:
    places = np.flatnonzero(labels == label)
    shares = rng.dirichlet(np.full(len(classes), delta))
    cuts = np.round(np.cumsum(shares)[:-1] * len(places)).astype(int)
    for part, of_class in zip(parts, np.split(places, cuts)):
      part.append(of_class)
  mixed = [part[i] for part in parts for i in rng.permutation(len(part))]
  return np.concatenate([np.zeros(0, np.int64), *mixed])
