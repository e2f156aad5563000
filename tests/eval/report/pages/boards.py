"""Boards made up for tests: sizes, tasks and names of every kind."""

import dataclasses
import itertools

import numpy as np

from eval import tasks
from eval.cells.number import Number
from eval.compare.boards import board as board_lib
from eval.compare.boards.board import Board, Entry
from robust_tfds import conditions
from tests.eval.report.figures import boards as made_up

ODD_NAMES = (
  "<script>alert(1)</script>",
  "\"quotes\" & 'more' > <",
  '=HYPERLINK("http://example.org")',
  "+1-2@x",
  "Größe 模型 🦜",
  "نموذج עברית",
  "\u202ereversed",
  "ResNet50",
  "resnet50",
  "con",
  "a/b\\c:d*e?",
  "long-" + "x" * 150,
  "]]></style><!--",
  "javascript:alert(1)",
  "a name with   spaces",
)
_DATA = {
  "dataset": "imagenet_c",
  "version": "2.0.0",
  "split": "test",
  "subset": "",
  "examples": 50_000,
  "source": "fly",
  "codec": "jpeg85",
  "edition": "imagenet",
  "geometry": "resize256_crop224",
  "px": [224, 224],
  "metric": 3,
  "pixels": 5,
  "ids": "5d41402abc4b2a76b9719d911017c592",
}
_BY = {
  "name": "resnet50",
  "weights": "9a0364b9e99bb480dd25e1f0284c8555",
  "dtype": "bfloat16",
  "preprocessing": {"mean": [0.485, 0.456, 0.406], "input_px": 224},
  "adapter": "jax",
  "code": "4.1.0",
  "random": False,
  "trained_on": "ImageNet-1k, training split",
  "corruptions_seen": [],
  "classes": None,
}


def number(value, n=None, half=0.006, note=""):
  """A number with an interval around it."""
  return Number(float(value), float(value) - half, float(value) + half, n, note)


def classification(
  models=6,
  *,
  names=None,
  key="imagenet-c-jpeg85",
  title="ImageNet-C, JPEG 85",
  differs=None,
  conditions_of=None,
  printed=0,
) -> Board:
  """A board of `models` runs, of which some are partial, and printed rows."""
  listed = conditions_of or conditions.PICTURES.conditions()
  labels = list(names or (f"model-{i:03d}" for i in range(models)))
  entries = [
    _classified(f"{key}-{i}", label, i, listed)
    for i, label in enumerate(labels)
  ]
  entries = _ranked(entries, "mce")
  entries += [
    _printed(f"{key}-printed-{i}", f"Printed {i}", i) for i in range(printed)
  ]
  return Board(
    key=key,
    title=title,
    facts=tasks.get("classification").facts,
    family=conditions.PICTURES,
    dataset="imagenet_c",
    data=_DATA,
    differs=differs or {},
    baseline="AlexNet (Hendrycks & Dietterich 2019, appendix D)",
    ranked_by="mce",
    conditions=listed,
    entries=entries,
    notes=("CE and mCE divide by a published baseline, a constant.",),
  )


def one(**changes) -> Board:
  """A board of a single run, with fields of its entry replaced."""
  return changed(classification(1), lambda entry: changes)


def changed(board, fields) -> Board:
  """The board with what `fields` gives of each entry replaced."""
  entries = [dataclasses.replace(e, **fields(e)) for e in board.entries]
  return dataclasses.replace(board, entries=entries)


def awkward() -> Board:
  """Names that a page must not take for anything but names; every state."""
  board = classification(names=ODD_NAMES, key="Odd", title=ODD_NAMES[0])
  entries = list(board.entries)
  missing = "missing: fog 3, fog 4 (2 of 75)"
  entries[-1] = dataclasses.replace(
    entries[-1],
    state=board_lib.PARTIAL,
    remark=missing,
    rank=None,
    rank_range=None,
    numbers={
      k: Number(None, note=missing) if k[0] in ("mce", "ce") else v
      for k, v in entries[-1].numbers.items()
    },
    cells=dict(itertools.islice(entries[-1].cells.items(), 10)),
  )
  entries[-2] = dataclasses.replace(
    entries[-2],
    state=board_lib.SEEN,
    remark="trained on gaussian_noise, <b>fog</b>",
    rank=None,
    rank_range=None,
  )
  entries.append(_printed("Odd-printed", "=PRINTED()", 0))
  return dataclasses.replace(board, entries=entries)


def several() -> list[Board]:
  """One board of every kind."""
  lossless = {"codec": "raw", "source": "prepared"}
  return [
    classification(12, differs={"codec": "jpeg85", "source": "fly"}, printed=2),
    classification(
      1, key="imagenet-c-raw", title="ImageNet-C, raw pixels", differs=lossless
    ),
    awkward(),
    sequences(),
    detection(),
    video(),
    frames(),
  ]


def sequences() -> Board:
  """Perturbations with difficulties in the numbers."""
  family = conditions.SEQUENCES
  entries = []
  for i in range(3):
    draw = np.random.default_rng(i)
    numbers = {
      ("clean_error", "", None): number(0.25 + i / 50, 5000),
      ("mean_flip_probability", "", 1): number(0.05 + i / 100, 5000),
      ("mfr", "", 1): number(0.6 + i / 10),
      ("mt5d", "", 1): number(0.8 + i / 10),
    }
    cells = {}
    for condition in family.conditions():
      if condition.clean:
        cells[condition] = {"error": number(0.25 + i / 50, 5000)}
        continue
      flips = number(draw.uniform(0.02, 0.3), 5000)
      cells[condition] = {
        "flip_probability": flips,
        "unnormalised_t5d": number(draw.uniform(1, 5), 5000, 0.1),
      }
      numbers["flip_probability", condition.name, condition.level] = flips
      numbers["fr", condition.name, 1] = number(draw.uniform(0.4, 1.2))
    entries.append(_entry(f"p-{i}", f"model-{i}", i, numbers, cells))
  return Board(
    key="imagenet-p",
    title="imagenet-p",
    facts=tasks.get("sequences").facts,
    family=family,
    dataset="imagenet_p",
    data={"dataset": "imagenet_p", "version": "1.0.0", "split": None},
    differs={},
    baseline="",
    ranked_by="mfr",
    conditions=family.conditions(),
    entries=_ranked(entries, "mfr"),
  )


def detection() -> Board:
  """Boxes and masks, higher is better."""
  names = conditions.PICTURES.names()
  return _of_task("coco-c", "detection", "mpc", names=names)


def video() -> Board:
  """Numbers of groups; higher is better."""
  return _of_task("ucf101-p", "video", "gamma_r")


def frames() -> Board:
  """One condition with many numbers."""
  return _of_task("imagenet-vid-robust", "frames", "acc_pmk")


def _of_task(key, task, ranked_by, **changes) -> Board:
  """The board that figures have of the task, ranked and with facts."""
  made = made_up.board(task, **changes)
  facts = {"data": _DATA, "model_facts": _BY}
  entries = [
    dataclasses.replace(e, key=f"{key}-{i}", label=f"{task}-{i}", **facts)
    for i, e in enumerate(made.entries)
  ]
  return dataclasses.replace(
    made,
    key=key,
    title=key,
    dataset=key.replace("-", "_"),
    ranked_by=ranked_by,
    entries=_ranked(entries, ranked_by, higher=True),
  )


def _entry(key, label, seed, numbers, cells) -> Entry:
  return Entry(
    key=key,
    label=label,
    model=label,
    run=f"run-{seed}",
    seed=seed,
    data=_DATA,
    model_facts=_BY,
    numbers=numbers,
    cells=cells,
  )


def _classified(key, label, seed, listed) -> Entry:
  draw = np.random.default_rng(seed)
  names = list(dict.fromkeys(c.name for c in listed if c.name))
  scale = draw.uniform(0.35, 1.1)
  cells = {}
  for condition in listed:
    error = min(
      scale * (0.3 + 0.11 * condition.level * draw.uniform(0.6, 1.2)), 0.99
    )
    cells[condition] = {
      "error": number(error, 50_000, 0.004),
      "top5_error": number(error * 0.6, 50_000, 0.004),
      "ece": number(error / 9, 50_000, 0.002),
      "ece_adaptive": number(error / 9.1, 50_000, 0.002),
      "rms_calibration_error": number(error / 7, 50_000, 0.002),
      "nll": number(4 * error, 50_000, 0.02),
      "brier": number(1.2 * error, 50_000, 0.01),
    }
  numbers = {
    ("clean_error", "", None): cells[listed[0]]["error"],
    ("mean_corruption_error", "", None): number(0.6 * scale),
    ("mce", "", None): number(0.8 * scale),
    ("relative_mce", "", None): number(0.9 * scale),
    ("extra_mean_corruption_error", "", None): number(0.5 * scale),
  }
  for name in names:
    ratio = scale * draw.uniform(0.6, 1)
    numbers["mean_error", name, None] = number(0.7 * ratio)
    numbers["ce", name, None] = number(ratio)
    numbers["relative_ce", name, None] = number(1.1 * ratio)
  return _entry(key, label, seed % 3, numbers, cells)


def _printed(key, label, place) -> Entry:
  names = conditions.PICTURES.names("common")
  numbers = {
    ("clean_error", "", None): Number(0.239 + place / 50),
    ("mce", "", None): Number(0.767 + place / 50),
  }
  numbers |= {("ce", n, None): Number(0.8 + place / 50) for n in names}
  return Entry(
    key=key,
    label=label,
    model=label,
    numbers=numbers,
    state=board_lib.PRINTED,
    remark="Its protocol is another one: PNG.",
    source="Hendrycks & Dietterich 2019 (arXiv 1903.12261), Table 1",
  )


def _ranked(entries, metric, higher=False) -> list[Entry]:
  ordered = sorted(
    entries, key=lambda e: e.number(metric).value, reverse=higher
  )
  last = len(entries)
  return [
    dataclasses.replace(e, rank=i, rank_range=(max(i - 1, 1), min(i + 1, last)))
    for i, e in enumerate(ordered, 1)
  ]
