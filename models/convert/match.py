"""Brings a checkpoint's arrays to a model's variables, each exactly once.

Names: our path `layer1/0/conv1/kernel` is `layer1.0.conv1.weight` in torch's
words. A family lists, per style of checkpoint, regular expressions that turn
the file's names into these; the style with the most hits is taken. A file that
carries our own paths needs no rules.
"""

from __future__ import annotations

import dataclasses
import os
import re
import warnings
from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from models.convert import formats

if TYPE_CHECKING:
  from models.model import Model
  from models.model import Variables

_LEAVES = {
  "kernel": "weight",
  "scale": "weight",
  "mean": "running_mean",
  "var": "running_var",
}
# torch counts batches seen in training; evaluation never reads it.
_NEVER_READ = (r"num_batches_tracked$",)
# Containers that training wraps around a model.
_WRAPPED = ((r"^(?:module|_orig_mod)\.", ""),)
OWN = "own"
TORCH = "torch"


@dataclasses.dataclass(frozen=True)
class Loaded:
  """A checkpoint brought to a model.

  Attributes:
    variables: nested dict of float32 arrays.
    style: which rules fitted: a key of the family's `CHECKPOINTS`, `torch` for
      our names in torch's words, `own` for our paths.
    sources: name in the file -> our path, in the file's order.
    ignored: names in the file that evaluation does not need.
  """

  variables: Variables
  style: str
  sources: Mapping[str, str]
  ignored: tuple[str, ...]


def load(
  name: str,
  checkpoint: str | os.PathLike,
  *,
  num_classes: int | None = None,
) -> Loaded:
  """`models.convert.load` with the account of where each array went."""
  import models

  name = name.split("+")[0]  # enhancements have no weights
  if ":" in name:
    raise ValueError(
      f"{name} brings its own variables: use its init, not a checkpoint."
    )
  model = models.get(name, num_classes)
  family = models.family(name)
  arrays = formats.read(checkpoint)
  loaded = bring(
    model,
    arrays,
    getattr(family, "CHECKPOINTS", {}),
    getattr(family, "IGNORED", ()),
    str(checkpoint),
    background=getattr(family, "BACKGROUND", False),
  )
  _warn_of_other_preprocessing(model, loaded.style)
  return loaded


def bring(
  model: Model,
  arrays: Mapping[str, np.ndarray],
  styles: Mapping[str, Sequence[tuple[str, str]]],
  ignored: Sequence[str] = (),
  origin: str = "the checkpoint",
  *,
  background: bool = False,
) -> Loaded:
  """Matches names, shapes and values.

  Args:
    model: whose variables are wanted.
    arrays: name in the file -> array, in the file's order.
    styles: style -> (pattern, replacement) rules on the file's names.
    ignored: patterns of arrays that evaluation does not need.
    origin: what to call the file in errors.
    background: whether the family's files may have one class more, the
      background, before the others; it is dropped.

  Raises:
    ValueError: as `models.convert.load`.
  """
  from models import model as model_lib

  shapes = model.shapes()
  skip = [n for n in arrays if _any(ignored, n) or _any(_NEVER_READ, n)]
  kept = {n: a for n, a in arrays.items() if n not in set(skip)}
  style, paths = _best_style(kept, shapes, styles)
  if background:
    kept = _without_background(model, kept, paths)
  _check_fit(model, kept, paths, shapes, style, origin)
  flat = {}
  for source, path in paths.items():
    _check_values(source, kept[source], origin)
    flat[path] = _turn(kept[source], path, shapes[path], style)
  return Loaded(
    model_lib.nest(flat),
    style,
    {source: "/".join(path) for source, path in paths.items()},
    tuple(skip),
  )


def _without_background(model, arrays, paths) -> dict[str, np.ndarray]:
  heads, wanted = _heads(model), model.spec.num_classes + 1
  return {
    n: a[1:] if paths[n] in heads and a.shape[0] == wanted else a
    for n, a in arrays.items()
  }


def torch_name(path: tuple[str, ...]) -> str:
  """Our path in torch's words."""
  *parents, leaf = path
  return ".".join([*parents, _LEAVES.get(leaf, leaf)])


def _best_style(arrays, shapes, styles) -> tuple[str, dict]:
  """The style with the most hits, and name in the file -> our path."""
  own = {"/".join(path): path for path in shapes}
  torch = {torch_name(path): path for path in shapes}
  candidates = {}
  for style, rules in {TORCH: (), **styles}.items():
    brought = {n: _apply((*_WRAPPED, *rules), n) for n in arrays}
    candidates[style] = {n: torch.get(b) for n, b in brought.items()}
  candidates[OWN] = {n: own.get(n) for n in arrays}

  def hits(style: str) -> int:
    return len({p for p in candidates[style].values() if p is not None})

  best = max(candidates, key=hits)
  return best, candidates[best]


def _check_fit(model, arrays, paths, shapes, style, origin) -> None:
  """Every array of the file used once and every variable filled."""
  taken: dict[tuple, str] = {}
  for source, path in paths.items():
    if path is None:
      continue
    if path in taken:
      raise ValueError(
        f"{origin}: {source} and {taken[path]} both are"
        f" {'/'.join(path)} of {model.name}."
      )
    taken[path] = source
  wrong = []
  for path, shape in shapes.items():
    want = _file_shape(shape, path, style)
    if path in taken and not _same_shape(arrays[taken[path]].shape, want):
      wrong.append((taken[path], arrays[taken[path]].shape, want))
  if wrong:
    _raise_shapes(model, wrong, paths, origin)
  missing = [p for p in shapes if p not in taken]
  left = [n for n, p in paths.items() if p is None]
  if missing or left:
    _raise_names(model, arrays, missing, left, shapes, style, origin)


def _raise_shapes(model, wrong, paths, origin) -> None:
  heads = _heads(model)
  source, got, want = wrong[0]
  differ = [(g, w) for g, w in zip(got, want, strict=False) if g != w]
  counts = [g for g, w in differ if w == model.spec.num_classes]
  only_heads = all(paths[n] in heads for n, _, _ in wrong)
  if only_heads and len(counts) == len(differ) == 1:
    raise ValueError(
      f"{origin} has {counts[0]} classes, {model.name} has"
      f" {model.spec.num_classes} ({source}: got {got}, expected {want})."
      " Give the checkpoint's number: num_classes=..."
    )
  raise ValueError(
    f"{origin} is of another architecture than {model.name}: the first array"
    f" that differs is {source}, got {got}, expected {want}"
    f" ({len(wrong)} differ)."
  )


def _raise_names(model, arrays, missing, left, shapes, style, origin) -> None:
  parts = [f"{origin} does not fit {model.name}:"]
  if missing and left:
    want = _file_shape(shapes[missing[0]], missing[0], style)
    parts[0] = (
      f"{origin} is of another architecture than {model.name}: the first"
      f" array that differs is {left[0]} {arrays[left[0]].shape}, expected"
      f" {torch_name(missing[0])} {want};"
    )
  if missing:
    names = ", ".join(torch_name(p) for p in missing[:5])
    parts.append(f"{len(missing)} arrays are not in the file: {names}")
  if left:
    names = ", ".join(f"{n} {arrays[n].shape}" for n in left[:5])
    parts.append(f"{len(left)} arrays are left over: {names}")
  raise ValueError(" ".join(parts) + ".")


def _heads(model: Model) -> set[tuple[str, ...]]:
  """Paths whose shape depends on the number of classes."""
  other = dataclasses.replace(
    model, spec=model.spec.with_classes(model.spec.num_classes + 1)
  ).shapes()
  return {p for p, shape in model.shapes().items() if other[p] != shape}


def _check_values(source: str, array: np.ndarray, origin: str) -> None:
  bad = array.size - int(np.isfinite(array).sum())
  if bad:
    raise ValueError(
      f"{origin}: {source} has {bad} values that are NaN or infinite of"
      f" {array.size}. The file is damaged; fetch it again."
    )


def _file_shape(shape, path, style) -> tuple[int, ...]:
  """A variable's shape as the file writes it."""
  if style == OWN or path[-1] != "kernel":
    return tuple(shape)
  return (shape[-1], shape[-2], *shape[:-2])


def _same_shape(got: tuple[int, ...], want: tuple[int, ...]) -> bool:
  """Equal but for axes of length 1.

  1 x 1 convolutions are written as matrices and back, scales per channel as
  `[C]` or `[C, 1, 1]`: the numbers and their order are the same.
  """
  return [n for n in got if n != 1] == [n for n in want if n != 1]


def _turn(array, path, shape, style) -> np.ndarray:
  """The file's layout (OIHW, OITHW, OI) to ours (HWIO, THWIO, IO)."""
  array = array.reshape(_file_shape(shape, path, style))
  if style != OWN and path[-1] == "kernel":
    array = np.moveaxis(array, (0, 1), (-1, -2))
  return np.ascontiguousarray(array, np.float32)


def _apply(rules: Sequence[tuple[str, str]], name: str) -> str:
  for pattern, replacement in rules:
    name = re.sub(pattern, replacement, name)
  return name


def _any(patterns: Sequence[str], name: str) -> bool:
  return any(re.search(pattern, name) for pattern in patterns)


def _warn_of_other_preprocessing(model: Model, style: str) -> None:
  kind = style.split(" ")[0]
  if kind in (OWN, TORCH) or kind == model.spec.weights:
    return
  warnings.warn(
    f"This checkpoint is {kind}'s, and {model.name} prepares uint8 pictures"
    f" as {model.spec.weights}'s weights want them. Look for a model of this"
    f" name ending in _{kind}, or give `apply` preprocessed pixels.",
    stacklevel=4,
  )
