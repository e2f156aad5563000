"""Made-up contexts of all tasks: small tables, small pictures, no model."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from eval import tasks
from eval.cells import table
from eval.cells.files.overlay import Overlay
from eval.metrics import calibration
from eval.tables.context import Context
from eval.tasks.headlines import adapted
from robust_tfds import conditions

# HTML, Markdown's and LaTeX's characters, and mathematics that is none.
EVIL = 'a_b&c|<script>alert("x")</script>[y](javascript:z) $\\frac{'
MODELS = ("ours", "base")
# Those of metrics of one's own name no numbers; `own_metric_test` has their reports.
FACTS = {
  name: tasks.get(name).facts
  for name in tasks.names()
  if not tasks.get(name).whole_outputs
}


def of_task(task: str, **changes: Any) -> Context:
  """A context with everything that the task's reports show.

  Args:
    task: its name.
    **changes: `models`, `names` (of corruptions), and attributes of the context
      to replace.
  """
  models = changes.pop("models", MODELS)
  names = changes.pop("names", None)
  fields = _FIELDS[task](models, *([] if names is None else [names]))
  rows = [
    row for model in (*models, "") for row in _Rows(model).of(task, fields)
  ]
  return Context(
    **{
      "facts": FACTS[task],
      "dataset": "digits_c",
      "rows": rows,
      "baseline": "AlexNet (its source)",
      "provenance": ("made up", EVIL),
      "class_names": ("cat_0", "dog", "newt"),
      **fields,
      **changes,
    }
  )


class _Rows:
  """Rows of one model; the values follow from the rows' other columns."""

  def __init__(self, model: str):
    self._model = model

  def of(self, task: str, fields: dict[str, Any]) -> list[table.Row]:
    """All rows of a task."""
    names = fields["corruptions"]
    if not self._model:
      return self._lines() if task == "frames" else []
    if task == "classification":
      return self._classification(names)
    if task == "sequences":
      return self._sequences(names)
    if task == "frames":
      return self._frames()
    if task == "frame_detection":
      return self._frame_detection()
    if task == "subtypes":
      return self._subtypes()
    if task == "segmentation":
      return self._segmentation(names)
    return self._detection(names) if task == "detection" else self._video(names)

  def _row(
    self,
    metric: str,
    name: str = "",
    level: int | None = None,
    config: str = "",
    n: int | None = None,
    value: float | None = None,
  ) -> table.Row:
    seed = zlib.crc32(f"{self._model},{metric},{name},{level}".encode())
    value = seed % 900 / 1000 + 0.05 if value is None else value
    ends = max(value - 0.04, 0.0), min(value + 0.05, 1.0)
    return table.Row(
      self._model, "digits_c", config, name, level, metric, value, *ends, n
    )

  def _cells(self, names: Sequence[str], *metrics: str) -> list[table.Row]:
    cells = [("", 0), *((n, s) for n in names for s in conditions.SEVERITIES)]
    return [
      self._row(m, n, s, f"{n}_{s}" if n else "clean", 100)
      for n, s in cells
      for m in metrics
    ]

  def _classification(self, names: Sequence[str]) -> list[table.Row]:
    return [
      *self._cells(names, "error"),
      *(self._row(m, n) for n in names for m in ("mean_error", "ce")),
      self._row("clean_error"),
      *([self._row("mce")] if set(_COMMON) <= set(names) else []),
    ]

  def _sequences(self, names: Sequence[str]) -> list[table.Row]:
    metrics = "flip_probability", "fr", "unnormalised_t5d", "t5d"
    means = "clean_error", "mfr", "mean_flip_probability", "mt5d"
    return [
      *(
        self._row(m, n, d, n=40)
        for n in names
        for d in conditions.DIFFICULTIES
        for m in (*metrics, "zipf_distance")
      ),
      *(self._row(m) for m in (*means, "mean_unnormalised_t5d")),
    ]

  def _frames(self) -> list[table.Row]:
    means = "acc_orig", "acc_pmk", "drop", "effective_robustness"
    metrics = [
      *means,
      *(f"{m}/class={c}" for m in ("acc_orig", "acc_pmk") for c in range(3)),
      *(f"{m}/frame_type={t}" for m in ("acc_orig", "acc_pmk") for t in "IP"),
      *(f"{m}/unreviewed" for m in ("acc_orig", "acc_pmk")),
      *(f"acc_pmk/k={k}" for k in range(11)),
      *(f"conditional/distance={k}" for k in range(11)),
      *(f"error/offset={k:+d}" for k in range(-10, 11)),
      *(f"linf_cdf/{s}=0.{k}" for s in ("pairs", "mistakes") for k in (2, 5)),
    ]
    return [
      *(self._row(m, level=0, config="clean", n=20) for m in metrics),
      *(self._row(m) for m in means),
    ]

  def _frame_detection(self) -> list[table.Row]:
    metrics = [m.name for m in FACTS["frame_detection"].headlines]
    of_sets = [f"{m}/class={c}" for m in metrics[:2] for c in range(3)]
    of_sets += [f"chosen/offset={offset:+d}" for offset in (-1, 0, 1)]
    return [
      *(self._row(m, level=0, config="clean", n=20) for m in of_sets),
      *(self._row(m) for m in metrics),
    ]

  def _subtypes(self) -> list[table.Row]:
    metrics = "seen_subtype_accuracy", "unseen_subtype_accuracy"
    of_types = [f"{m}/class={c}" for m in metrics for c in range(3)]
    return [
      *(
        self._row(m, level=0, config="clean", n=20)
        for m in (*metrics, *of_types)
      ),
      *(self._row(m) for m in (*metrics, "subtype_gap")),
    ]

  def _lines(self) -> list[table.Row]:
    return [
      self._row(f"{line}_{part}", n=9, value=value)
      for line in ("published_trend", "trend")
      for part, value in (("slope", 0.9), ("intercept", -0.1))
    ]

  def _detection(self, names: Sequence[str]) -> list[table.Row]:
    return [
      *self._cells(names, "bbox/AP", "bbox/AP50", "bbox/APs"),
      *(self._row(m, n) for n in names for m in ("mean_ap", "segm/mean_ap")),
      *(self._row(m) for m in ("p", "mpc", "rpc", "mpc_all", "segm/p")),
    ]

  def _segmentation(self, names: Sequence[str]) -> list[table.Row]:
    of_classes = (
      f"{m}/class={c}" for m in ("clean_iou", "mean_iou") for c in range(3)
    )
    return [
      *self._cells(names, "miou", "aacc", "macc"),
      *(self._row(m, n) for n in names for m in ("mean_miou", "cd", "rcd")),
      *(self._row(m) for m in ("clean_miou", "mean_miou", "retention", "gam")),
      *(self._row(m, n=9) for m in of_classes),
    ]

  def _video(self, names: Sequence[str]) -> list[table.Row]:
    shifts = "category/Age", "category/Crowd", "shift/kids", "shift/old"
    return [
      *self._cells(names, "accuracy"),
      *(self._row(f"accuracy/{s}", "", 0, "clean", 7) for s in shifts),
      *(self._row(m, n) for n in names for m in ("gamma_a", "gamma_r")),
      *(self._row(m) for m in ("clean_accuracy", "gamma_a", "gamma_r")),
    ]


_COMMON = conditions.PICTURES.names("common")


def _picture(value: int) -> np.ndarray:
  return np.full((8, 10, 3), value, np.uint8)


def _sequence(value: int) -> np.ndarray:
  return np.stack([_picture(value + 5 * t) for t in range(12)])


def _reliability(
  models: Sequence[str], names: Sequence[str]
) -> dict[tuple[str, str, int], calibration.Bins]:
  """The same diagram of clean, the least and the most severe; empty bins."""
  bins = calibration.reliability([0.3, 0.7, 0.7, 0.9], [0, 1, 0, 1])
  cells = [("", 0), *((n, s) for n in names for s in (1, 5))]
  return {(m, n, s): bins for m in models for n, s in cells}


def _of_classification(
  models: Sequence[str], names: Sequence[str] = ("fog", "snow", "spatter")
) -> dict[str, Any]:
  return {
    "family": conditions.PICTURES,
    "corruptions": tuple(names),
    "gallery": {models[0]: [(_picture(9), "daisy 9 %")]},
    "samples": {
      ("", 0): _picture(0),
      **{(n, s): _picture(40 * s) for n in names for s in (1, 3, 5)},
    },
    "published": {models[0]: {"mce": 0.95, "source": "a paper"}},
    "curves": [adapted.Curve(models[0], (8.0, 24.0), (0.5, 0.4))],
    "reliability": _reliability(models, names),
  }


def _of_sequences(
  models: Sequence[str],
  names: Sequence[str] = ("gaussian_noise", "tilt", "shear"),
) -> dict[str, Any]:
  predicted = np.arange(12)[:, None] // 3 % 4 + np.zeros((1, 5), int)
  return {
    "family": conditions.SEQUENCES,
    "corruptions": tuple(names),
    "samples": {(n, 1): _sequence(20) for n in names},
    "predicted": {(m, n, 1): predicted for m in models for n in names},
    "networks": {"AlexNet": (0.43, 1.0)},
    "published": {
      models[0]: {"fr": {n: 0.5 for n in names}, "source": "a paper"}
    },
  }


def _of_frames(
  models: Sequence[str], names: Sequence[str] = ()
) -> dict[str, Any]:
  return {
    "family": conditions.PICTURES,
    "corruptions": tuple(names),
    "baseline": "",
    "networks": {
      "a": (0.6, 0.4),
      "b": (0.7, 0.5),
      "c_d, printed": (0.5, 0.4, 0.4, 0.6, 0.3, 0.5),
    },
    "gallery": {models[0]: [(_picture(9), "cat"), (_picture(99), "dog")]},
  }


def _of_subtypes(
  models: Sequence[str], names: Sequence[str] = ()
) -> dict[str, Any]:
  return {
    "family": conditions.PICTURES,
    "corruptions": tuple(names),
    "baseline": "",
  }


def _of_detection(
  models: Sequence[str], names: Sequence[str] = ("fog", "spatter")
) -> dict[str, Any]:
  box = (1.0, 1.0, 6.0, 6.0)
  mask = np.ones((3, 4), bool)
  boxes = [
    Overlay("hit", box, EVIL, mask, (1, 2)),
    Overlay("missed", box, "dog"),
    Overlay("wrong", box, "newt"),
  ]
  return {
    "family": conditions.PICTURES,
    "corruptions": tuple(names),
    "baseline": "",
    "overlays": {
      "clean": [(_picture(50), boxes)],
      "fog_3": [(_picture(90), boxes), (_picture(95), [])],
    },
    "overlay_note": f"{models[0]}: detections of a score of at least 0.50",
  }


def _of_segmentation(
  models: Sequence[str], names: Sequence[str] = ("fog", "spatter")
) -> dict[str, Any]:
  mask = np.arange(80, dtype=np.uint8).reshape(8, 10) % 3
  answer = np.roll(mask, 1, axis=1)
  mask[0] = 255
  return {
    "family": conditions.PICTURES,
    "corruptions": tuple(names),
    "baseline": "",
    "maps": {
      title: [(_picture(50), mask, answer), (_picture(90), mask, mask)]
      for title in ("clean", "fog_3")
    },
  }


def _of_frame_detection(
  models: Sequence[str], names: Sequence[str] = ()
) -> dict[str, Any]:
  of = _of_detection(models, names)
  anchors, *worst = of["overlays"].values()
  return {
    **of,
    "overlays": {"anchor": anchors, "worst frame": worst[0]},
    "networks": {f"{EVIL}, other subset": (0.8, 0.6, 0.9, 0.7)},
  }


def _of_video(
  models: Sequence[str], names: Sequence[str] = ("shot_noise", "jumbling")
) -> dict[str, Any]:
  pairs = np.array([[0, 0], [0, 1], [1, 1], [2, 1], [2, 2]])
  return {
    "family": conditions.VIDEOS,
    "corruptions": tuple(names),
    "baseline": "",
    "samples": {
      ("", 0): _sequence(0),
      **{(n, 3): _sequence(30) for n in names},
    },
    "confusions": {
      (m, n, s): pairs
      for m in models
      for n, s in [("", 0), *((n, 3) for n in names)]
    },
    "reliability": _reliability(models, names),
    "gflops": {models[0]: 50.0},
  }


_FIELDS = {
  "classification": _of_classification,
  "sequences": _of_sequences,
  "frames": _of_frames,
  "frame_detection": _of_frame_detection,
  "subtypes": _of_subtypes,
  "detection": _of_detection,
  "segmentation": _of_segmentation,
  "video": _of_video,
}
