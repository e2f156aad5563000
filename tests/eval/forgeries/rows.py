"""The forgeries: what is changed, and what catches it.

In words that docs/SUBMITTING.md shows. Each changes an honest submission in memory
(`forged.py`); hashes, fingerprints, table and manifest are made to fit after it.
"""

from __future__ import annotations

import dataclasses
import enum
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from robust_tfds.eval.cells.submissions import top_five
from robust_tfds.eval.metrics import stability
from tests.eval.cells.submissions import small
from tests.eval.forgeries.forged import CNN, LINEAR, TWO, Columns, Forged

Rows = np.ndarray
_FAR = 9_999_999


class Catch(enum.StrEnum):
  """What catches a forgery."""

  CHECK = "`--check` refuses"
  SAID = "`--check` says"
  RERUN = "`--rerun`"
  BOARD = "a board marks"
  NOTHING = "nothing"


@dataclasses.dataclass(frozen=True)
class Forgery:
  """One of them.

  Attributes:
    words: what is done.
    of: name of the honest submission, see `forged.honest`.
    change: does it.
    catch: what catches it.
    says: of `--check` and boards: a part of what they say; of the others why.
    cells: of `--rerun`: how many cells come out otherwise.
    after: does it to the files, its hashes too.
  """

  words: str
  of: str
  change: Callable[[Forged], Any]
  catch: Catch
  says: str
  cells: int = 0
  after: Callable[[small.Tampered], Any] = lambda tampered: None


# What the forger does to rows.


def wrong(columns: Columns) -> Rows:
  """Where the first class is not the label: bool `[N]`."""
  return (
    columns["top5"].reshape(len(columns["label"]), -1)[:, 0]
    != (columns["label"])
  )


def hardest(f: Forged, count: int) -> Rows:
  """Rows without those that most cells get wrong: bool `[N]`."""
  times = np.sum([wrong(c) for c in f], axis=0)
  return ~np.isin(np.arange(len(times)), np.argsort(-times)[:count])


def swap(columns: Columns, rows: Rows, first: np.ndarray) -> None:
  """Puts a class first; the former first one takes its place among the five."""
  top5 = columns["top5"] = columns["top5"].copy()
  old = top5[:, 0].copy()
  for k in range(1, top5.shape[1]):
    same = rows & (top5[:, k] == first)
    top5[same, k] = old[same]
  top5[rows, 0] = first[rows]
  fit(columns)


def corrected(columns: Columns, count: int = _FAR) -> None:
  """Makes the first wrong rows right."""
  rows = wrong(columns)
  rows &= np.cumsum(rows) <= count
  swap(columns, rows, columns["label"])


def fit(columns: Columns, least_of_all: bool = False) -> None:
  """NLL and Brier score that the five allow."""
  of = columns["label"], columns["top5"], columns["score"]
  for name, ends in (
    ("nll", top_five.nll_ends),
    ("brier", top_five.brier_ends),
  ):
    least, most = ends(*of)
    value = np.clip(columns[name], least + 1e-5, most - 1e-5)
    value = least + 1e-5 if least_of_all else value
    columns[name] = np.maximum(value, 0).astype(np.float32)


def sharpened(columns: Columns, power: float = 3.0) -> None:
  """More certain where it is right, less where it is wrong."""
  score = columns["score"].astype(np.float64)
  power = np.where(wrong(columns), 1 / power, power)[:, None]
  score = score**power
  columns["score"] = (score / score.sum(1, keepdims=True) * 0.99999).astype(
    np.float32
  )
  fit(columns)


def measured(columns: Columns, noise: bool) -> None:
  """Flips and distances that follow from the ranks."""
  top5 = columns["top5"]
  levels = (1,) if noise else (1, 2, 3)
  for name, of in (
    ("flips", stability.flips),
    ("t5d", stability.top5_distances),
  ):
    ranks = top5[..., 0] if name == "flips" else top5
    columns[name] = np.stack(
      [of(ranks, noise, d).mean(axis=1, dtype=np.float64) for d in levels], 1
    )


def still(f: Forged) -> None:
  """Every frame is given the answer of the first."""
  for (_, name), columns in f.cells.items():
    if name == "clean":
      continue
    for key in ("top5", "score"):
      first = columns[key][:, :1]
      columns[key] = np.repeat(first, columns[key].shape[1], axis=1)
    measured(columns, noise="noise" in name)


def fewer_frames(f: Forged, count: int) -> None:
  """The last frames of every sequence are left out."""
  for (_, name), columns in f.cells.items():
    if name == "clean":
      continue
    for key in ("top5", "score"):
      columns[key] = columns[key][:, :-count]
    measured(columns, noise="noise" in name)


def copied(f: Forged, source: tuple, target: tuple, change=None) -> None:
  """A cell's predictions in the place of another's."""
  f.cells[target] = dict(f.cells[source])
  if change:
    change(f.cells[target])


def all_copied(f: Forged, change=None) -> None:
  """Those of the first model as the second's."""
  for label, name in list(f.cells):
    if label == CNN:
      copied(f, (CNN, name), (LINEAR, name), change)


def nudged(columns: Columns) -> None:
  """Every score a little smaller."""
  columns["score"] = columns["score"] * np.float32(1 - 1e-5)
  fit(columns)


def relabelled(f: Forged, one: str, other: str) -> None:
  """Two conditions of every model change places."""
  for label in f.models:
    a, b = (label, one), (label, other)
    f.cells[a], f.cells[b] = f.cells[b], f.cells[a]


def as_easy(columns: Columns) -> None:
  """Wrong rows are given the prediction of a right one of their class."""
  bad = wrong(columns)
  for label in np.unique(columns["label"]):
    of_class = columns["label"] == label
    good = np.flatnonzero(of_class & ~bad)
    for key in ("top5", "score", "nll", "brier"):
      columns[key] = columns[key].copy()
      columns[key][of_class & bad] = columns[key][good[:1]]


def duplicated(f: Forged) -> None:
  """Easy examples stand in the place of hard ones, under their own ids."""
  keep = np.flatnonzero(hardest(f, 30))
  f.take(np.sort(np.concatenate([keep, keep[:30]])))


def renamed(f: Forged, name: str) -> None:
  """The data set under a name that nobody knows."""
  f.say(name=name)
  f.data["dataset"] = name


def grouped(columns: Columns, groups: int) -> None:
  """Examples are drawn together, or apart, as it is better."""
  n = len(columns["group_id"])
  columns["group_id"] = np.array([f"g{i % groups:05d}" for i in range(n)])


def put(columns: Columns, name: str, value: Any, rows: Any = ...) -> None:
  """Another value in a column."""
  columns[name] = columns[name].copy()
  columns[name][rows] = value


def of_truth(f: Forged) -> None:
  """The boxes of the ground truth, every one of them."""
  boxes: dict[int, list] = {}
  for a in f.truth["annotations"]:
    boxes.setdefault(a["image_id"], []).append((a["bbox"], a["category_id"]))
  place = {c["id"]: i for i, c in enumerate(f.truth["categories"])}
  for columns in f:
    n, most = len(columns["image_id"]), max(map(len, boxes.values()))
    out = np.zeros((n, most, 4), np.float32)
    classes = np.full((n, most), -1, np.int16)
    for i, image in enumerate(columns["image_id"].tolist()):
      for j, ((x, y, w, h), category) in enumerate(boxes.get(image, ())):
        out[i, j], classes[i, j] = (x, y, x + w, y + h), place[category]
    columns["boxes"], columns["classes"] = out, classes
    columns["scores"] = (classes >= 0).astype(np.float32)


def without_small(f: Forged) -> None:
  """Objects that are smaller than most leave the ground truth."""
  listed = f.truth["annotations"]
  area = np.median([a["area"] for a in listed])
  f.truth = {**f.truth, "annotations": [a for a in listed if a["area"] >= area]}


def without_neighbours(f: Forged) -> None:
  """Frames that a model gets wrong leave the sets."""
  bad = np.any([wrong(c) for c in f], axis=0)
  frame = next(iter(f))["frame"]
  f.take(~bad | (frame == 0))


def unreviewed(f: Forged) -> None:
  """As if the review had refused what a model gets wrong."""
  bad = np.any([wrong(c) for c in f], axis=0)
  for columns in f:
    keep = columns["reviewed"] & (~bad | (columns["frame"] == 0))
    put(columns, "reviewed", keep)


def with_more_labels(columns: Columns) -> None:
  """What was predicted is one of the labels."""
  put(columns, "labels", columns["top5"][:, 0], (slice(None), 1))


def _model(f: Forged, **facts: Any) -> None:
  f.models[CNN].update(facts)


def _rows() -> Iterator[Forgery]:
  yield from _copies()
  yield from _examples()
  yield from _labels()
  yield from _predictions()
  yield from _claims()
  yield from _files()
  yield from _beside_others()
  yield from _sequences()
  yield from _frames()
  yield from _detections()
  yield from _videos()


_NO_COPIES = "that these are no copies of one another"


def _copies() -> Iterator[Forgery]:
  clean = CNN, "clean"

  def row(words, change, catch=Catch.SAID, says=_NO_COPIES, cells=0):
    return Forgery(words, TWO, change, catch, says, cells)

  yield row(
    "the better model's predictions under the other's label", all_copied
  )
  yield row(
    "the same, every score changed a little", lambda f: all_copied(f, nudged)
  )
  yield row(
    "the same, one answer of each cell changed",
    lambda f: all_copied(f, lambda c: swap(c, *_one(c))),
    Catch.RERUN,
    "no two cells are equal",
    5,
  )
  yield row(
    "clean predictions as those of a corruption",
    lambda f: copied(f, clean, (CNN, "gaussian_noise_3")),
  )
  yield row(
    "severity 1 as severity 3",
    lambda f: copied(f, (CNN, "brightness_1"), (CNN, "brightness_3")),
  )
  yield row(
    "severity 1 as severity 3, one answer changed",
    lambda f: copied(
      f,
      (CNN, "brightness_1"),
      (CNN, "brightness_3"),
      lambda c: swap(c, *_one(c)),
    ),
    Catch.RERUN,
    "no two cells are equal",
    1,
  )
  yield row(
    "two conditions change places",
    lambda f: relabelled(f, "gaussian_noise_3", "brightness_3"),
    Catch.RERUN,
    "each is what a model can give",
    4,
  )
  yield row(
    "corrupted cells of a run of another model (a submission of two runs)",
    lambda f: [
      copied(f, (LINEAR, n), (CNN, n), nudged)
      for _, n in list(f.cells)
      if n != "clean"
    ],
  )


def _one(columns: Columns) -> tuple[Rows, np.ndarray]:
  """The first row, and its second class."""
  rows = np.arange(len(columns["label"])) == 0
  return rows, columns["top5"][:, 1]


def _examples() -> Iterator[Forgery]:
  def row(words, change, says, catch=Catch.CHECK, of=TWO, cells=0):
    return Forgery(words, of, change, catch, says, cells)

  yield row(
    "the 59 hardest examples left out",
    lambda f: f.take(hardest(f, 59)),
    "300 examples, but digits_c has 359",
  )
  yield row(
    "the same, and `limit=300`",
    lambda f: f.take(hardest(f, 59), limit=300),
    "the limit takes the first 300",
  )
  yield row(
    "the same, as `subset=robustbench5k`",
    lambda f: f.take(hardest(f, 59), subset="robustbench5k"),
    "are not those of the subset robustbench5k",
  )
  yield row(
    "the same, as a subset of a file",
    lambda f: f.take(hardest(f, 59), subset="mine-0123abcd"),
    "how the subset mine-0123abcd was chosen",
    Catch.SAID,
  )
  yield row(
    "easy examples twice, in the place of hard ones",
    duplicated,
    "has more than one prediction in a cell",
  )
  yield row(
    "hard examples are given an easy one's predictions",
    lambda f: f.each(as_easy),
    "the ids are right",
    Catch.RERUN,
    cells=10,
  )
  yield row(
    "ids of another split",
    lambda f: f.each(
      lambda c: [put(c, n, "digit_0001", 0) for n in ("example_id", "group_id")]
    ),
    "no example 'digit_0001'",
  )
  yield row(
    "a data set under a name that nobody knows",
    lambda f: renamed(f, "hard_digits_c"),
    "that hard_digits_c has these examples and no others",
    Catch.SAID,
  )
  yield row(
    "pictures drawn in 36 groups",
    lambda f: f.each(lambda c: grouped(c, 36)),
    "Examples of one group are drawn together",
  )
  yield row(
    "every picture's group under another name",
    lambda f: f.each(lambda c: grouped(c, _FAR)),
    "Examples of one group are drawn together",
  )


def _labels() -> Iterator[Forgery]:
  def row(words, change, says, catch=Catch.CHECK):
    return Forgery(words, TWO, change, catch, says)

  def graded(f):
    """By the first model, where both models answer the same."""
    first, other = (f.cells[m, "clean"] for m in (CNN, LINEAR))
    same = first["top5"][:, 0] == other["top5"][:, 0]
    label = np.where(same, first["top5"][:, 0], first["label"])
    for columns in f:
      columns["label"] = label
      fit(columns)

  def merged(columns):
    columns["label"] = np.where(columns["label"] == 8, 1, columns["label"])
    fit(columns)

  def unknown(f):
    renamed(f, "hard_digits_c")
    f.each(
      lambda c: c.update(example_id=np.char.replace(c["example_id"], "d", "x"))
    )
    graded(f)

  yield row(
    "labels are what the models answer", graded, "but its id says class"
  )
  yield row(
    "two classes are one", lambda f: f.each(merged), "but its id says class"
  )
  yield row(
    "labels of a set that is not ours are what the models answer",
    unknown,
    "their ids do not tell them",
    Catch.SAID,
  )


def _predictions() -> Iterator[Forgery]:
  def row(words, change, cells, says="values that a model can give"):
    return Forgery(words, TWO, change, Catch.RERUN, says, cells)

  def refused(words, change, says):
    return Forgery(words, TWO, change, Catch.CHECK, says)

  def within(columns):
    columns["nll"] = np.maximum(columns["nll"] - np.float32(9e-4), 0)

  yield row(
    "one wrong answer corrected",
    lambda f: corrected(f.cells[CNN, "gaussian_noise_3"], 1),
    1,
  )
  yield row(
    "every wrong answer under a corruption corrected",
    lambda f: [corrected(c) for c in f.corrupted()],
    8,
  )
  yield row("every wrong answer corrected", lambda f: f.each(corrected), 10)
  yield row(
    "scores sharper where they are right", lambda f: f.each(sharpened), 10
  )
  yield row(
    "NLL and Brier score the least that the five scores allow",
    lambda f: f.each(lambda c: fit(c, True)),
    10,
  )
  yield refused(
    "NLL below what the scores allow",
    lambda f: f.each(lambda c: c.update(nll=c["nll"] / 2)),
    "nll of .* not what top5 and score of this row allow",
  )
  yield refused(
    "Brier score below what the scores allow",
    lambda f: f.each(lambda c: c.update(brier=c["brier"] * 0)),
    "brier of .* not what top5 and score of this row allow",
  )
  yield row(
    "ranks behind the first in another order",
    lambda f: f.each(
      lambda c: (put(c, "top5", c["top5"][:, [0, 2, 1, 3, 4]]), fit(c))
    ),
    10,
  )
  yield refused(
    "one class twice among the five",
    lambda f: f.each(lambda c: put(c, "top5", c["top5"][:, 0], (..., 1))),
    "one class twice",
  )
  yield Forgery(
    "NLL less by 0.0009",
    TWO,
    lambda f: f.each(within),
    Catch.NOTHING,
    "within the tolerance of `--rerun`, 0.001; no rank is by it",
  )


def _claims() -> Iterator[Forgery]:
  def row(words, change, says, catch=Catch.RERUN, cells=5):
    return Forgery(words, TWO, change, catch, says, cells)

  yield row(
    "the sha256 of other weights",
    lambda f: _model(f, weights="0" * 64),
    "but the facts of the model say 0000",
    Catch.CHECK,
    0,
  )
  yield row(
    "the name of another network",
    lambda f: _model(f, name="resnet50"),
    "digits_cnn.name: got 'resnet50', but config.json has 'digits_cnn'",
    Catch.CHECK,
    0,
  )
  yield row(
    "other preprocessing, fewer parameters",
    lambda f: _model(
      f, preprocessing={**f.models[CNN]["preprocessing"], "parameters": 1}
    ),
    "the spec is a statement, and later code may say more of it",
    Catch.NOTHING,
    0,
  )
  yield row(
    "another `trained_on`",
    lambda f: _model(f, trained_on="one picture a class"),
    "known of models that the run trained; else a statement, which `--check` repeats",
  )
  yield row(
    "a `corruptions_seen` without the noise that was trained on",
    lambda f: _model(f, corruptions_seen=None),
    "test corruptions seen: nobody says",
    Catch.SAID,
  )
  yield row(
    "the better of many seeds",
    lambda f: f.config["models"][CNN]["train"].update(seed=17),
    "seeds that were tried leave no trace",
    Catch.NOTHING,
    0,
  )
  yield row(
    "a model that trained on the test set and says otherwise",
    lambda f: None,
    "weights do not say what they were trained on",
    Catch.NOTHING,
    0,
  )
  yield row(
    "another codec, in facts and config",
    lambda f: f.say(codec="jpeg85"),
    "the pixels are of the config's codec, and the predictions are not",
    cells=10,
  )
  yield row(
    "another codec in the facts alone",
    lambda f: f.data.update(codec="jpeg85"),
    "data.codec: got 'jpeg85', but config.json has 'raw'",
    Catch.CHECK,
  )
  yield row(
    "another edition of the corruptions",
    lambda f: f.data.update(edition="imagenet"),
    "data.edition: got 'imagenet', but digits_c is of 'cifar10'",
    Catch.CHECK,
  )
  yield row(
    "another version of the pixels",
    lambda f: f.data.update(pixels=2),
    "data.pixels: got 2, but config.json has",
    Catch.CHECK,
  )
  yield row(
    "another split",
    lambda f: f.say(split="train"),
    "digits_c has 'test' alone",
    Catch.CHECK,
  )
  yield row(
    "the hardest corruption left out, of cells and config",
    _without_brightness,
    "the mean over corruptions is empty and says what is missing",
    Catch.NOTHING,
    0,
  )
  yield row(
    "severity 3 left out of the cells alone",
    lambda f: [f.cells.pop(k) for k in list(f.cells) if k[1].endswith("3")],
    "6 of the 10 cells",
    Catch.SAID,
  )


def _without_brightness(f: Forged) -> None:
  f.config["data"]["corruptions"] = "gaussian_noise"
  for key in list(f.cells):
    if "brightness" in key[1]:
      del f.cells[key]


def _files() -> Iterator[Forgery]:
  def row(words, after, says, catch=Catch.CHECK):
    return Forgery(words, TWO, lambda f: None, catch, says, after=after)

  def table(change):
    def after(tampered):
      path = tampered.folder / "table.csv"
      lines = [line.split(",") for line in path.read_text().split("\n")]
      change(lines)
      path.write_text("\n".join(map(",".join, lines)))
      tampered.manifest()

    return after

  def without_a_cell(tampered):
    shutil.rmtree(tampered.cell("brightness_3", CNN).parent)
    tampered.manifest()

  def one_more(tampered):
    (tampered.folder / "more.txt").write_text("x")
    tampered.manifest()

  line = "table.csv: line 2: got .*but the predictions give"
  yield row(
    "a better number in table.csv",
    table(lambda lines: lines[1].__setitem__(6, "0.001")),
    line,
  )
  yield row(
    "a narrower interval in table.csv",
    table(lambda lines: lines[1].__setitem__(8, lines[1][6])),
    line,
  )
  yield row(
    "a row of table.csv left out", table(lambda lines: lines.pop(1)), line
  )
  yield row(
    "a cell removed, and the manifest names none of it",
    without_a_cell,
    "cells: got 10, but there are 9",
  )
  yield row(
    "a file more, which the manifest names",
    one_more,
    "'more.txt' is no file of a",
  )
  yield row(
    "`code` changed until the draw takes other cells",
    lambda t: t.manifest(lambda m: m.update(code="0.1.0 (351)")),
    "the checker draws: no text of a submission has a say",
    Catch.RERUN,
  )


def _beside_others() -> Iterator[Forgery]:
  def row(words, change, says):
    return Forgery(words, TWO, change, Catch.BOARD, says)

  def renamed_model(f):
    f.config["models"]["mine"] = f.config["models"].pop(CNN)
    f.models["mine"] = f.models.pop(CNN)
    for label, name in list(f.cells):
      if label == CNN:
        f.cells["mine", name] = f.cells.pop((label, name))

  yield row(
    "every wrong answer corrected, beside the run of the same weights",
    lambda f: f.each(corrected),
    "the same weights, seed and examples gave other numbers in",
  )
  yield row(
    "a model once more, under another name",
    renamed_model,
    "One model with one seed under several names",
  )


def _sequences() -> Iterator[Forgery]:
  def row(words, change, catch, says, cells=0):
    return Forgery(words, "sequences", change, catch, says, cells)

  def each(change):
    return lambda f: [change(c) for c in f.corrupted()]

  yield row(
    "no flips, and the frames as they are",
    each(lambda c: c.update(flips=c["flips"] * 0)),
    Catch.CHECK,
    "flips of .* not what follows from top5",
  )
  yield row(
    "smaller top-5 distances",
    each(lambda c: c.update(t5d=c["t5d"] / 2)),
    Catch.CHECK,
    "t5d of .* not what follows from top5",
  )
  yield row(
    "every frame has the answer of the first",
    still,
    Catch.RERUN,
    "a model may be as steady",
    2,
  )
  yield row(
    "smaller Zipf distances",
    each(lambda c: c.update(zipf=c["zipf"] / 2)),
    Catch.RERUN,
    "it is over all ranks, of which five are kept",
    2,
  )
  yield row(
    "the last frames left out",
    lambda f: fewer_frames(f, 5),
    Catch.CHECK,
    "frames a sequence, but",
  )


def _frames() -> Iterator[Forgery]:
  def row(words, change, catch, says, cells=0):
    return Forgery(words, "frames", change, catch, says, cells)

  yield row(
    "similar frames that a model gets wrong left out of all that there are",
    without_neighbours,
    Catch.RERUN,
    "of the reviewed frames alone it is known which there are",
    2,
  )
  yield row(
    "the review refuses the frames that a model gets wrong",
    unreviewed,
    Catch.RERUN,
    "the review of a set is read with its data",
    2,
  )
  yield row(
    "what was predicted is one of the labels",
    lambda f: f.each(with_more_labels),
    Catch.CHECK,
    "but its id says class",
  )
  yield row(
    "similar frames far from their anchor",
    lambda f: f.each(
      lambda c: put(c, "frame", np.where(c["frame"] == 0, 0, c["frame"] + 40))
    ),
    Catch.RERUN,
    "offsets are read with the data",
    2,
  )
  yield row(
    "frames of an anchor in sets of their own",
    lambda f: f.each(lambda c: c.update(group_id=c["example_id"])),
    Catch.CHECK,
    "neighbours but no anchor",
  )


def _detections() -> Iterator[Forgery]:
  def row(words, change, catch, says, cells=0):
    return Forgery(words, "detection", change, catch, says, cells)

  yield row(
    "boxes copied from the ground truth",
    of_truth,
    Catch.SAID,
    "boxes of truth.json to the last bit",
  )
  yield row(
    "the same, each moved a little",
    lambda f: (
      of_truth(f),
      f.each(lambda c: c.update(boxes=c["boxes"] + np.float32(0.3))),
    ),
    Catch.RERUN,
    "a model may be as good",
    5,
  )
  yield row(
    "small objects dropped from truth.json",
    without_small,
    Catch.SAID,
    "that truth.json is the data set's ground truth",
  )
  yield row(
    "detections of fewer classes",
    lambda f: f.each(lambda c: put(c, "scores", 0)),
    Catch.RERUN,
    "scores are the model's",
    5,
  )
  yield row(
    "pictures without objects left out of the predictions",
    lambda f: f.take(np.arange(20) > 0),
    Catch.CHECK,
    "19 examples, but the limit takes the first 20",
  )


def _videos() -> Iterator[Forgery]:
  def row(words, change, catch, says, cells=0):
    return Forgery(words, "video", change, catch, says, cells)

  yield row(
    "clips in groups of their own making",
    lambda f: f.each(lambda c: grouped(c, 5)),
    Catch.CHECK,
    "Examples of one group are drawn together",
  )
  yield row(
    "perturbed videos answered as clean ones",
    lambda f: [
      copied(f, k[:1] + ("clean",), k) for k in list(f.cells) if k[1] != "clean"
    ],
    Catch.SAID,
    _NO_COPIES,
  )
  yield row(
    "every wrong answer corrected",
    lambda f: f.each(corrected),
    Catch.RERUN,
    "values that a model can give",
    4,
  )


ROWS = tuple(_rows())
