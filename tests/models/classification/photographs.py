"""The 242 photographs of ImageNet's classes, and how many are told right."""

import functools

import jax
import numpy as np

from robust_tfds.building import geometry
from tests import shared_data

_BATCH = 22


@functools.cache
def load(rule: str) -> tuple[np.ndarray, np.ndarray]:
  """uint8 `[242, side, side, 3]` by a crop rule, and labels."""
  folder = shared_data.path("data/imagenet_samples")
  table = shared_data.path("data/imagenet_wnids.tsv").read_text("utf-8")
  order = [line.split("\t")[0] for line in table.splitlines()]
  paths = sorted(folder.glob("*.JPEG"))
  pictures = [geometry.decode(p.read_bytes(), rule, p.name) for p in paths]
  labels = [order.index(p.name.split("_")[0]) for p in paths]
  return np.stack(pictures), np.array(labels)


def right(model, variables, *, swapped: bool = False) -> tuple[int, int]:
  """How many have their label first, and among the first five.

  Args:
    model: whose spec says the crop.
    variables: its weights.
    swapped: show BGR in place of RGB.
  """
  pictures, labels = load(model.spec.geometry)
  pictures = pictures[..., ::-1] if swapped else pictures
  apply = jax.jit(functools.partial(model.apply, variables))
  logits = np.concatenate(
    [apply(rows) for rows in np.split(pictures, len(pictures) // _BATCH)]
  )
  hits = np.argsort(-logits, axis=1)[:, :5] == labels[:, None]
  top1, top5 = int(hits[:, 0].sum()), int(hits.any(axis=1).sum())
  print(f"{model.name}: {top1} and {top5} of {len(labels)}, swapped: {swapped}")
  return top1, top5
