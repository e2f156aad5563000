"""Matching of a checkpoint's arrays with a model's variables, each exactly once.

Our path `layer1/0/conv1/kernel` is `layer1.0.conv1.weight` in torch's words. A
family lists, per style of checkpoint, regular expressions that turn the file's
names into these; the style with the most hits is taken. A file that carries our
own paths needs no rules.
"""

from __future__ import annotations

import dataclasses
import os
import re
import warnings
from collections.abc import Iterable, Mapping

import numpy as np

from models import catalogue, enhancements
from models import variables as variables_lib
from models.convert import (
  formats,
  generations,
  preprocessing,
  sources,
)
from models.convert.formats import Arrays
from models.convert.sidecar import Declared
from models.family import Rules
from models.model import NetworkModel
from models.spec import Spec
from models.variables import Path, Variables
from robust_tfds import errors

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
NATIVE = "native"
TORCH = "torch"

Shape = tuple[int, ...]


class ClassCountError(errors.UserError):
  """The error for a checkpoint with another number of classes."""

  def __init__(self, text: str, classes: int):
    """Create the error, with the checkpoint's number of classes."""
    super().__init__(text)
    self.classes = classes


@dataclasses.dataclass(frozen=True)
class Loaded:
  """A checkpoint that was matched with a model.

  Attributes:
    model: the model of the variables.
    variables: nested dict of float32 arrays.
    style: the rules that fitted: a key of the family's `checkpoints`, `torch`
      for our names in torch's words, `native` for our paths.
    sources: name in the file -> our path, in the file's order.
    ignored: names in the file that evaluation does not need.
    labels: families of preprocessing (as `ModelSpec.weights`) whose files have
      such names; none for a file with our own paths.
    declared: what its source, or files beside it, state about its
      preprocessing. It holds a doubt if the names fit several ways, or another
      way than the model's.
    notes: what was done to arrays of other shapes, one sentence each.
  """

  model: NetworkModel
  variables: Variables
  style: str
  sources: Mapping[str, str]
  ignored: tuple[str, ...]
  labels: tuple[str, ...] = ()
  declared: Declared = Declared()
  notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Matched:
  """The arrays of a file and of a model, before any check.

  Attributes:
    model: the model whose variables are wanted.
    origin: name of the file in errors.
    arrays: name in the file -> array, without ignored ones.
    style: see `Loaded`.
    paths: name in the file -> our path; None if it is none of ours.
    shapes: our path -> shape.
  """

  model: NetworkModel
  origin: str
  arrays: Mapping[str, np.ndarray]
  style: str
  paths: Mapping[str, Path | None]
  shapes: Mapping[Path, Shape]

  def file_shape(self, path: Path) -> Shape:
    """Return a variable's shape as the file writes it."""
    return file_shape(self.shapes[path], path, self.has_our_layout)

  @property
  def has_our_layout(self) -> bool:
    """Whether kernels in the file have our layout."""
    return self.style in (NATIVE, *self.model.family.flax_styles)


def load(
  name: str,
  checkpoint: str | os.PathLike[str] | sources.Located,
  *,
  num_classes: int | None = None,
  input_px: int | None = None,
  head: str | os.PathLike[str] | sources.Located | Arrays | None = None,
  weights: str = "",
) -> Loaded:
  """Load variables like `models.convert.load`, with the account of where each
  array went.

  Args:
    name: one of `models.names()`.
    checkpoint: as for `models.convert.load`, or already located.
    num_classes: as for `models.convert.load`.
    input_px: as for `models.convert.load`.
    head: as for `models.convert.load`, or already located, or its arrays.
    weights: the family of preprocessing that the user states, if names fit
      several; '' if none.
  """
  base, enhancing = catalogue.split(name)
  if ":" in base:
    raise errors.UserError(
      f"{base} brings its own variables: use its init, not a checkpoint."
    )
  model = _resized_model(catalogue.network(base, num_classes), input_px)
  enhancements.wrap(model, *enhancing)  # refuses what does not suit it
  located = sources.locate(checkpoint)
  if num_classes is None:
    count = formats.classes_of_training(located.path)
    if count:
      model = _resized_model(catalogue.network(base, count), input_px)
  arrays = formats.read(located.path)
  if head is not None:
    arrays = _joined_arrays(arrays, located.name, head)
  loaded = match_arrays(model, arrays, located.name)
  declared = preprocessing.judge(
    model, located.name, loaded.labels, located.declared(), weights
  )
  doubt = generations.doubt(model, located, loaded.labels, weights)
  if doubt:
    declared = dataclasses.replace(declared, doubt=doubt)
  return dataclasses.replace(loaded, declared=declared)


def _joined_arrays(
  arrays: Arrays,
  origin: str,
  head: str | os.PathLike[str] | sources.Located | Arrays,
) -> Arrays:
  """Return the arrays of two files, or of one and more.

  Raises:
    UserError: both have an array of the same name.
  """
  if isinstance(head, Mapping):
    return {**arrays, **head}
  head = sources.locate(head)
  more = formats.read(head.path)
  twice = sorted(arrays.keys() & more.keys())
  if twice:
    raise errors.UserError(
      f"{head.name} has {twice[0]} as {origin} has ({len(twice)} names of both)."
      " Give the head alone in the second file."
    )
  return {**arrays, **more}


def _resized_model(model: NetworkModel, input_px: int | None) -> NetworkModel:
  """Return a model whose pictures have another side.

  Raises:
    UserError: its network does not depend on the side.
  """
  if input_px is None or input_px == model.spec.fixed_px:
    return model
  if not isinstance(model.spec, Spec) or not model.family.sized:
    raise errors.UserError(
      f"Got input_px={input_px} for {model.name}, whose variables are the same"
      " at every side of its pictures. Leave it out."
    )
  return model.with_fields({"input_px": input_px})


def warn(loaded: Loaded) -> None:
  """Warn of what variables alone cannot carry: a doubt, another preprocessing."""
  for note in loaded.notes:
    warnings.warn(note, stacklevel=3)
  declared, model = loaded.declared, loaded.model
  if declared.doubt:
    warnings.warn(declared.doubt, stacklevel=3)
  differ = preprocessing.differences(model.variant.spec, declared.fields)
  if differ:
    listed = ", ".join(f"{k} {s} (here {h})" for k, (s, h) in differ.items())
    warnings.warn(
      f"{declared.origin} says other preprocessing than {model.name}'s spec:"
      f" {listed}."
      " Variables cannot carry it: a run takes it over, `apply` of"
      " models.get does not. Give `apply` such pixels, or a spec with these"
      " fields.",
      stacklevel=3,
    )


def match_arrays(
  model: NetworkModel,
  arrays: Mapping[str, np.ndarray],
  origin: str = "the checkpoint",
) -> Loaded:
  """Match names, shapes and values, by the rules of the model's family.

  Args:
    model: the model whose variables are wanted.
    arrays: name in the file -> array, in the file's order.
    origin: name of the file in errors.

  Raises:
    UserError: as for `models.convert.load`.
  """
  family = model.family
  if family.regroup is not None:
    arrays = family.regroup(arrays)
  ignored = (*family.ignored, *_NEVER_READ)
  skipped = tuple(name for name in arrays if _matches_any(ignored, name))
  used = {n: a for n, a in arrays.items() if n not in set(skipped)}
  shapes = model.shapes()
  style, paths, others = _best_style(used, shapes, family.checkpoints)
  fitting = {s.split(" ")[0] for s in others} & set(family.exclusive)
  if fitting and model.spec.weights not in fitting:
    what = f"{origin} has the names of {style}'s checkpoints"
    raise errors.UserError(generations.generation_message(model, what, style))
  if family.drops_background:
    used = _without_background(model, used, paths)
  matched, notes = _fitted(_Matched(model, origin, used, style, paths, shapes))
  places = _checked_sources(matched)
  flat = {}
  for source, path in places.items():
    _check_values(source, matched.arrays[source], origin)
    flat[path] = _to_layout(matched.arrays[source], path, matched)
  return Loaded(
    model,
    variables_lib.nest(flat),
    style,
    {source: "/".join(path) for source, path in places.items()},
    skipped,
    _labels(model, style, others),
    notes=notes,
  )


def torch_name(path: Path) -> str:
  """Return our path in torch's words."""
  *parents, leaf = path
  return ".".join([*parents, _LEAVES.get(leaf, leaf)])


def file_shape(shape: Shape, path: Path, has_our_layout: bool) -> Shape:
  """Return a variable's shape as a file writes it, in our layout or in torch's."""
  if has_our_layout or path[-1] != "kernel":
    return tuple(shape)
  return (shape[-1], shape[-2], *shape[:-2])


def _fitted(matched: _Matched) -> tuple[_Matched, tuple[str, ...]]:
  """Fit arrays of other shapes by the family's rules; return them and the
  family's notes.
  """
  fit = matched.model.family.fit
  arrays, notes = dict(matched.arrays), []
  for source, path in matched.paths.items():
    if fit is None or path is None:
      continue
    array, shape = arrays[source], matched.file_shape(path)
    fitted = (
      None if _same_shape(array.shape, shape) else fit(path, array, shape)
    )
    if fitted is not None:
      arrays[source], note = fitted
      notes.append(f"{matched.origin}: {note} for {matched.model.name}.")
  return dataclasses.replace(matched, arrays=arrays), tuple(notes)


def _without_background(
  model: NetworkModel,
  arrays: Mapping[str, np.ndarray],
  paths: Mapping[str, Path | None],
) -> Arrays:
  head_paths, with_background = heads(model), model.spec.num_classes + 1
  return {
    n: a[1:] if paths[n] in head_paths and a.shape[0] == with_background else a
    for n, a in arrays.items()
  }


def _best_style(
  arrays: Mapping[str, np.ndarray],
  shapes: Mapping[Path, Shape],
  styles: Mapping[str, Rules],
) -> tuple[str, dict[str, Path | None], tuple[str, ...]]:
  """Return the style with the most hits, our path by name in the file, and its equals.

  Among styles that fit equally, one with empty rules is taken, which means that
  the family's names are its own; then our names in torch's words.
  """
  by_path = {"/".join(path): path for path in shapes}
  by_name = {torch_name(path): path for path in shapes}
  candidates: dict[str, dict[str, Path | None]] = {}
  for style, rules in {TORCH: (), **styles}.items():
    candidates[style] = {
      n: by_name.get(_rename((*_WRAPPED, *rules), n)) for n in arrays
    }
  candidates[NATIVE] = {n: by_path.get(n) for n in arrays}
  hits = {s: len(set(c.values()) - {None}) for s, c in candidates.items()}
  best = [style for style in candidates if hits[style] == max(hits.values())]
  if TORCH in best:
    best = [style for style in best if not styles.get(style)]
    best = [style for style in best if style != NATIVE]
    best.sort(key=lambda style: style == TORCH)  # last, the others in order
  return best[0], candidates[best[0]], tuple(best)


def _labels(
  model: NetworkModel, style: str, equals: tuple[str, ...]
) -> tuple[str, ...]:
  """Return the families of preprocessing whose files have such names."""
  if style == NATIVE:
    return ()
  if TORCH in equals:
    return tuple(preprocessing.plain_labels(model))
  return tuple(dict.fromkeys(s.split(" ")[0] for s in equals if s != NATIVE))


def _checked_sources(matched: _Matched) -> dict[str, Path]:
  """Return our path by name in the file: every array once, every variable filled."""
  sources: dict[str, Path] = {}
  taken: dict[Path, str] = {}
  for source, path in matched.paths.items():
    if path is None:
      continue
    if path in taken:
      raise errors.UserError(
        f"{matched.origin}: {source} and {taken[path]} both are"
        f" {'/'.join(path)} of {matched.model.name}."
      )
    taken[path], sources[source] = source, path
  wrong = [
    taken[path]
    for path in matched.shapes
    if path in taken
    and not _same_shape(
      matched.arrays[taken[path]].shape, matched.file_shape(path)
    )
  ]
  if wrong:
    raise _shapes_error(matched, wrong, sources)
  missing = [path for path in matched.shapes if path not in taken]
  left_over = [n for n, path in matched.paths.items() if path is None]
  if missing or left_over:
    raise errors.UserError(_names_message(matched, missing, left_over))
  return sources


def _shapes_error(
  matched: _Matched, wrong: list[str], sources: Mapping[str, Path]
) -> errors.UserError:
  """Return the error for arrays of other shapes."""
  model, source = matched.model, wrong[0]
  got = matched.arrays[source].shape
  expected = matched.file_shape(sources[source])
  counts = {_class_count(matched, n, sources[n]) for n in wrong}
  (count,) = counts if len(counts) == 1 else (None,)
  if count:
    return ClassCountError(
      f"{matched.origin} has {count} classes, {model.name} has"
      f" {model.spec.num_classes} ({source}: got {got}, expected {expected})."
      " Give the checkpoint's number: num_classes=...",
      count,
    )
  return errors.UserError(
    f"{matched.origin} is of another architecture than {model.name}: the first"
    f" array that differs is {source}, got {got}, expected {expected}"
    f" ({len(wrong)} differ)."
  )


def _names_message(
  matched: _Matched, missing: list[Path], left_over: list[str]
) -> str:
  """Return the error text for arrays that the file or the model does not have."""
  name, arrays = matched.model.name, matched.arrays
  parts = [f"{matched.origin} does not fit {name}:"]
  if missing and left_over:
    parts[0] = (
      f"{matched.origin} is of another architecture than {name}: the first"
      f" array that differs is {left_over[0]} {arrays[left_over[0]].shape},"
      f" expected {torch_name(missing[0])} {matched.file_shape(missing[0])};"
    )
  if missing:
    listed = ", ".join(torch_name(p) for p in missing[:5])
    parts.append(f"{len(missing)} arrays are not in the file: {listed}")
  if missing == [("text",)]:
    parts.append(
      "(the classes' embeddings: prompts='openai80' of a run makes them, or give"
      " head=, from robust-tfds text)"
    )
  if left_over:
    listed = ", ".join(f"{n} {arrays[n].shape}" for n in left_over[:5])
    parts.append(f"{len(left_over)} arrays are left over: {listed}")
  return " ".join(parts) + "."


def _class_count(matched: _Matched, source: str, path: Path) -> int | None:
  """Return the number of classes of an array with another shape; None if no
  number fits.
  """
  model, got = matched.model, matched.arrays[source].shape
  more = _extended_model(model).shapes()[path]
  shapes = (
    matched.file_shape(path),
    file_shape(more, path, matched.has_our_layout),
  )
  if len(got) != len(shapes[0]):
    return None
  counts = set()
  for have, one, two in zip(got, *shapes, strict=True):
    whole, rest = divmod(have - one, two - one or 1)
    if rest or (one == two and whole):
      return None
    counts |= {model.spec.num_classes + whole} if one != two else set()
  return counts.pop() if len(counts) == 1 and min(counts) > 0 else None


def heads(model: NetworkModel) -> set[Path]:
  """Return the paths whose shape depends on the number of classes."""
  other = _extended_model(model).shapes()
  return {p for p, shape in model.shapes().items() if other[p] != shape}


def _extended_model(model: NetworkModel) -> NetworkModel:
  spec = model.spec.with_classes(model.spec.num_classes + 1)
  return dataclasses.replace(model, spec=spec)


def _check_values(source: str, array: np.ndarray, origin: str) -> None:
  if array.dtype.kind != "f":
    raise errors.UserError(
      f"{origin}: {source} is {array.dtype}, expected float weights. A quantised"
      " checkpoint needs its scales: convert it to floats first."
    )
  bad = array.size - int(np.isfinite(array).sum())
  if bad:
    raise errors.UserError(
      f"{origin}: {source} has {bad} values that are NaN or infinite of"
      f" {array.size}. The file is damaged; fetch it again."
    )


def _same_shape(first: Shape, second: Shape) -> bool:
  """Return whether two shapes are equal except for axes of length 1.

  1 x 1 convolutions are written as matrices and back, scales per channel as
  `[C]` or `[C, 1, 1]`: the numbers and their order are the same.
  """
  return [n for n in first if n != 1] == [n for n in second if n != 1]


def _to_layout(array: np.ndarray, path: Path, matched: _Matched) -> np.ndarray:
  """Convert the file's layout (OIHW, OITHW, OI) to ours (HWIO, THWIO, IO)."""
  array = array.reshape(matched.file_shape(path))
  if not matched.has_our_layout and path[-1] == "kernel":
    array = np.moveaxis(array, (0, 1), (-1, -2))
  # `ascontiguousarray` alone would give a scalar an axis.
  return np.ascontiguousarray(array, np.float32).reshape(array.shape)


def _rename(rules: Rules, name: str) -> str:
  for pattern, replacement in rules:
    name = re.sub(pattern, replacement, name)
  return name


def _matches_any(patterns: Iterable[str], name: str) -> bool:
  return any(re.search(pattern, name) for pattern in patterns)
