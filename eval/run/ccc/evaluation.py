"""`evaluate(net, "imagenet_ccc", ...)`: accuracy over a stream that changes."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import hashlib
import io
import itertools
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from eval.cells.files import lock
from eval.metrics import arguments
from eval.run import adapt as adapt_lib
from eval.run.ccc import kept, stream
from eval.run.ccc import matrix as matrix_lib
from eval.run.ccc import models as models_lib
from eval.run.execution import progress
from eval.run.keywords import DEFAULTS
from eval.run.model import adapted
from robust_tfds import conditions, errors
from robust_tfds.charts import frame, lines, style
from robust_tfds.storage import disk, paths

WHOLE = 7_500_000  # pictures of a stream (generate.py of oripress/CCC)
_BATCH = 64
_WINDOWS = 60  # points of the figure
_FEWEST = 2  # windows that a collapse lasts at least
# The keywords of `evaluate`, and keys of `adapt`, that a stream has a use for.
_KEYWORDS = frozenset(
  "adapt allow_random checkpoint class_names classes data_dir difficulty frost_dir"
  " limit manual_dir matrix outputs prompts speed stream_seed variables"
  " workdir".split()
)
_ADAPT = frozenset({"beside", "hyperparameters", "method"})


@dataclasses.dataclass(frozen=True)
class Result:
  """Accuracies over a stream.

  Attributes:
    accuracy: label -> share of right answers in each batch, float64 `[batches]`.
    sizes: pictures of each batch, int `[batches]`.
    nodes: the corruptions of each batch's first picture.
    title: the stream, in words.
  """

  accuracy: Mapping[str, np.ndarray]
  sizes: np.ndarray
  nodes: list[str]
  title: str

  @classmethod
  def from_shown(cls, shown: kept.Shown, title: str) -> Result:
    """Return the accuracies of what was shown."""
    accuracy = {label: np.array(x) for label, x in shown.accuracy.items()}
    return cls(accuracy, np.array(shown.sizes), shown.nodes, title)

  @property
  def summary(self) -> dict[str, float]:
    """The mean accuracy; of several models under their labels."""
    several = len(self.accuracy) > 1
    return {
      f"{label}/" * several + "accuracy": float(
        np.average(values, weights=self.sizes)
      )
      for label, values in self.accuracy.items()
    }

  @property
  def collapses(self) -> dict[str, str]:
    """Adapting model -> from where on it stays below its source, in words."""
    out = {}
    for label in self.accuracy:
      source = label.rpartition(" ")[0]
      if source in self.accuracy:
        out[label] = self._collapse(label, source)
    return out

  def _collapse(self, label: str, source: str) -> str:
    starts, ours = self._windows(label)
    below = ours < self._windows(source)[1]
    last = len(below) - int(np.argmin(below[::-1])) if not below.all() else 0
    if len(below) - last < _FEWEST:
      return "not below source at the end"
    return f"below source from picture {int(starts[last]):,} on"

  def _windows(self, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the first picture and the accuracy of parts of equal batches."""
    count = min(_WINDOWS, len(self.sizes))
    rows = np.array_split(np.arange(len(self.sizes)), count)
    ends = np.cumsum(self.sizes)
    starts = np.array([ends[r[0]] - self.sizes[r[0]] for r in rows])
    values = self.accuracy[label]
    means = [np.average(values[r], weights=self.sizes[r]) for r in rows]
    return starts, np.array(means)

  def report(self, folder: str | os.PathLike[str]) -> None:
    """Write `stream.csv`, a line a batch, and the figure `stream.png`, `.svg`."""
    place = paths.parse(folder, "report")
    disk.make_folder(place)
    disk.write_text(place / "stream.csv", self._csv())
    curves = [
      lines.Line(
        label,
        starts.tolist(),
        [style.Value(100 * value) for value in means],
        i,
        looks={"marker": ""},
      )
      for i, label in enumerate(self.accuracy)
      for starts, means in [self._windows(label)]
    ]
    top = max(v.value for curve in curves for v in curve.values)
    drawn = frame.Frame(
      7.0,
      3.2,
      x="pictures of the stream",
      y="accuracy, %",
      y_ends=(0, 1.05 * top or 1),
      title=self.title,
      legend=frame.ABOVE,
    )
    figure = lines.draw([lines.Panel(curves)], drawn)
    style.save(figure, place, "stream", str(self).splitlines())

  def _csv(self) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
      ["first_picture", "pictures", "corruptions", *self.accuracy]
    )
    starts = np.cumsum(self.sizes) - self.sizes
    columns = [np.round(v, 6).tolist() for v in self.accuracy.values()]
    writer.writerows(
      zip(starts.tolist(), self.sizes.tolist(), self.nodes, *columns)
    )
    return out.getvalue()

  def __str__(self) -> str:
    """Return a line a model."""
    whole = {
      label: float(np.average(values, weights=self.sizes))
      for label, values in self.accuracy.items()
    }
    collapses = self.collapses
    texts = [
      f"{label}: {100 * value:.1f} % right"
      + (f", {collapses[label]}" if label in collapses else "")
      for label, value in whole.items()
    ]
    return "\n".join(texts)


def evaluate(predict: Any, dataset: str, keywords: Mapping[str, Any]) -> Result:
  """Run `eval.evaluate` on a stream, whose docstring has the arguments."""
  of = models_lib.SETS[dataset]
  _check_used(keywords)
  seed = conditions.check_seed(keywords["stream_seed"])
  limit = arguments.whole_number("limit", keywords["limit"]) or WHOLE
  difficulty = keywords["difficulty"]
  matrix = matrix_lib.read(_matrix_file(keywords["matrix"]), difficulty)
  names = matrix_lib.DIFFICULTIES[difficulty][1]
  models_lib.check_frost(names, keywords)
  sources = of.sources(os.fspath(keywords["manual_dir"] or ""))
  speed = arguments.whole_number("speed", keywords["speed"], 1, len(sources))
  workdir = keywords["workdir"]
  place = paths.parse(workdir, "workdir") if workdir else None
  with tempfile.TemporaryDirectory(prefix="robust_tfds_") as folder:
    networks = _networks(predict, of, keywords, workdir or folder)
  title = f"{dataset} {difficulty}, speed {speed}, seed {seed}"
  facts = f"{title}, {limit:,} pictures, {_facts(matrix, networks)}"
  with lock.held(place) if place else contextlib.nullcontext():
    keeper = kept.Keeper(place, facts, networks)
    shown = keeper.begin()
    parts = stream.parts(
      sources,
      stream.nodes(matrix, difficulty, seed),
      dataset=dataset,
      side_px=of.side_px,
      speed=speed,
      seed=seed,
      limit=limit,
      start=shown.pictures,
    )
    _show(networks, parts, keeper, shown, limit)
    result = Result.from_shown(shown, title)
    progress.say(str(result))
    if place:
      result.report(place)
  return result


def _matrix_file(file: Any) -> Any:
  if file is None:
    raise errors.UserError(
      "A stream needs matrix=FILE.npz, the accuracies that its paths follow:"
      " robust-tfds ccc-matrix measures those of a network of yours; docs/"
      "BENCHMARKS.md says how to convert the authors'."
    )
  if not isinstance(file, str | os.PathLike):
    raise errors.UserError(
      f"matrix: got {type(file).__name__}, expected the path of an .npz file."
    )
  return file


def _check_used(keywords: Mapping[str, Any]) -> None:
  """Refuse settings that a stream has no use for."""
  unused = []
  for name in keywords.keys() - _KEYWORDS:
    value, default = keywords[name], DEFAULTS[name]
    if not (isinstance(value, type(default)) and value == default):
      unused.append(name)
  if isinstance(keywords["adapt"], Mapping):
    unused += [f"adapt's {name}" for name in keywords["adapt"].keys() - _ADAPT]
  if unused:
    raise errors.UserError(
      f"Got {', '.join(sorted(unused))}: no settings of a stream, which shows batches"
      f" of {_BATCH} in an order of its own and adapts through all of them. Leave"
      f" them out; adapt takes {', '.join(sorted(_ADAPT))}."
    )


def _networks(
  predict: Any, of: models_lib.Set, keywords: Mapping[str, Any], folder: str
) -> dict[str, models_lib.Network]:
  """Return label -> network: every model as it is, and adapting if asked for."""
  asked = adapt_lib.parsed(keywords["adapt"], of.side_px)
  loaded = models_lib.loaded(predict, of, {**keywords, "adapt": None}, folder)
  out = {}
  for label, (model, variables) in loaded.items():
    out[label] = models_lib.Network(model, variables)
    entries = adapt_lib.entries(asked, label) if asked else {}
    for name, entry in entries.items():
      one = adapt_lib.parsed(entry, of.side_px)
      assert one  # its method is known
      method = adapted.method_of(one, model)
      with errors.prefixed(name):
        out[name] = models_lib.Network(model, variables, method)
  return out


def _facts(
  matrix: matrix_lib.Matrix, networks: Mapping[str, models_lib.Network]
) -> str:
  """Return what a stream's numbers depend on besides its title, in words."""
  content = hashlib.sha256(repr(matrix.names).encode())
  content.update(np.ascontiguousarray(matrix.accuracy).tobytes())
  models = [f"{label} {network.mark}" for label, network in networks.items()]
  return f"matrix {content.hexdigest()[:12]}, {', '.join(models)}"


def _show(
  networks: Mapping[str, models_lib.Network],
  parts: Iterator[stream.Part],
  keeper: kept.Keeper,
  shown: kept.Shown,
  limit: int,
) -> None:
  """Show batches of 64 in the stream's order; none is dropped."""
  if shown.pictures:
    progress.say(f"goes on after picture {shown.pictures:,} of {limit:,}")
  for images, labels, node in _batches(parts):
    for label, network in networks.items():
      right = network.right(images, labels, len(shown.sizes))
      shown.accuracy[label].append(float(right.mean()))
    shown.sizes.append(len(labels))
    shown.nodes.append(node)
    keeper.keep(shown)
    if not len(shown.sizes) % 1000:
      progress.say(f"{shown.pictures:,} of {limit:,} pictures, now {node}")
  keeper.keep(shown, whole=True)


def _batches(
  parts: Iterator[stream.Part],
) -> Iterator[tuple[np.ndarray, np.ndarray, str]]:
  """Yield (images, labels, corruptions of the first), across nodes."""
  rows = (
    (image, label, str(part.node))
    for part in parts
    for image, label in zip(part.images, part.labels, strict=True)
  )
  while listed := list(itertools.islice(rows, _BATCH)):
    images, labels, nodes = zip(*listed, strict=True)
    yield np.stack(images), np.array(labels), nodes[0]
