"""The functions of `eval.metrics`: arrays and dicts in, floats out."""

from __future__ import annotations

import functools
import math
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from robust_tfds import conditions
from tests.eval.readers import coco_test
from tests.faults.case import Case

_NAN, _INF = float("nan"), float("inf")
_COMMON = conditions.PICTURES.names("common")


def cases() -> Iterator[Case]:
  """Module by module."""
  yield from _corruption_error()
  yield from _stability()
  yield from _intervals()
  yield from _pm_k()
  yield from _action()
  yield from _detection()


def _call(
  module: str, function: str, args: tuple, kwargs: dict, _: pathlib.Path
):
  import importlib

  found = importlib.import_module(f"robust_tfds.eval.metrics.{module}")
  return getattr(found, function)(*args, **kwargs)


def _case(
  kind: str,
  where: str,
  args: tuple,
  *names: str,
  right: Callable[[Any], bool] | None = None,
  **kwargs: Any,
) -> Case:
  module, _, function = where.rpartition(".")
  act = functools.partial(_call, module, function, args, kwargs)
  return Case(f"{where}: {kind}", act, names, right)


def _near(expected: float) -> Callable[[Any], bool]:
  return lambda got: math.isclose(float(got), expected, abs_tol=1e-12)


def _errors(**changed: Any) -> dict[str, Any]:
  return {**{n: [0.5, 0.6, 0.7, 0.8, 0.9] for n in _COMMON}, **changed}


def _corruption_error() -> Iterator[Case]:
  where = "corruption_error.summarize"
  for kind, value, right in (
    ("four severities", [0.5] * 4, None),
    ("six severities", [0.5] * 6, None),
    ("NaN", [0.5, _NAN, 0.5, 0.5, 0.5], None),
    ("inf", [0.5, _INF, 0.5, 0.5, 0.5], None),
    ("negative", [-0.1, 0.5, 0.5, 0.5, 0.5], None),
    ("percent", [50, 60, 70, 80, 90], None),
    ("text", ["a"] * 5, None),
    ("None", None, None),
    ("a number", 0.5, None),
    ("two axes", [[0.5] * 5], None),
  ):
    yield _case(
      f"errors of fog are {kind}",
      where,
      (_errors(fog=value), 0.4),
      "fog",
      right=right,
    )
  for value in (_NAN, -0.1, 40.0, "a", None):
    yield _case(f"clean_error {value}", where, (_errors(), value), "clean")
  yield _case("an unknown name", where, ({"fogg": [0.5] * 5}, 0.4), "fogg")
  yield _case(
    "no errors",
    where,
    ({}, 0.4),
    "error|empty|corruption",
    right=lambda r: _absent(r, "mce"),
  )
  short = {n: v for n, v in _errors().items() if n != "fog"}
  yield _case(
    "one of 15 lacks",
    where,
    (short, 0.4),
    "fog",
    right=lambda r: _absent(r, "mce"),
  )
  yield _case(
    "an unknown baseline",
    where,
    (_errors(), 0.4),
    "alexnet",
    baseline="alexnte",
  )
  yield _case(
    "a baseline of zeros",
    where,
    (_errors(), 0.4),
    "baseline|zero|0",
    baseline={"errors": _errors(fog=[0.0] * 5), "clean_error": 0.3},
    right=lambda r: _absent(r, "mce"),
  )
  yield _case(
    "a baseline that lacks one",
    where,
    (_errors(), 0.4),
    "fog",
    baseline={"errors": short, "clean_error": 0.3},
    right=lambda r: _absent(r, "mce"),
  )
  yield _case(
    "a baseline without clean_error",
    where,
    (_errors(), 0.4),
    "clean_error",
    baseline={"errors": _errors()},
  )
  yield _case(
    "odd: numpy arrays",
    where,
    (
      {k: np.array(v, np.float32) for k, v in _errors().items()},
      np.float32(0.4),
    ),
    right=lambda r: r["mce"] > 0.5,
  )
  yield _case(
    "odd: all right",
    where,
    (_errors(), 0.4),
    right=lambda r: abs(r["mean_error"] - 0.7) < 1e-9,
  )


def _absent(result: Any, name: str) -> bool:
  value = result.get(name)
  return value is None or math.isnan(value)


def _stability() -> Iterator[Case]:
  flip = "stability.flip_probability"
  top1 = np.array([[1, 1, 2, 2, 2], [3, 3, 3, 3, 3]])
  for difficulty in (7, 5, 0, -1, 1.5, "1", None):
    yield _case(
      f"difficulty {difficulty!r}",
      flip,
      (top1,),
      "difficulty",
      difficulty=difficulty,
    )
  for kind, value in (
    ("one axis", top1[0]),
    ("three axes", top1[None]),
    ("one frame", top1[:, :1]),
    ("no sequences", top1[:0]),
    ("fractions", top1 + 0.5),
    ("NaN", np.where(top1 == 2, np.nan, top1)),
    ("text", np.array([["a", "b"]])),
    ("negative classes", top1 - 9),
    ("complex", top1 + 1j),
    ("ragged", [[1, 2, 3], [1, 2]]),
    ("None", None),
  ):
    yield _case(
      f"top1 is {kind}", flip, (value,), "top1|sequence|frame|class|shape"
    )
  yield _case("odd: a list", flip, (top1.tolist(),), right=_near(1 / 8))
  yield _case("odd: int8", flip, (top1.astype(np.int8),), right=_near(1 / 8))
  yield _case("odd: noise", flip, (top1,), right=_near(3 / 8), noise=True)
  ranked = np.tile(np.arange(6), (2, 4, 1))
  for function in ("top5_distance", "zipf_distance"):
    where = f"stability.{function}"
    for kind, value in (
      ("four ranks", ranked[..., :4]),
      ("two axes", ranked[0]),
      ("one frame", ranked[:, :1]),
      ("a class twice", np.zeros_like(ranked)),
      ("fractions", ranked + 0.5),
      ("no sequences", ranked[:0]),
    ):
      if kind == "four ranks" and function == "zipf_distance":
        continue
      yield _case(
        f"ranked is {kind}", where, (value,), "rank|class|frame|sequence|shape"
      )
    yield _case("odd: the same in all frames", where, (ranked,), right=_near(0))
  rank = "stability.rank"
  yield _case(
    "logits of NaN", rank, (np.full((2, 3, 9), np.nan), 5), "logit|NaN|finite"
  )
  yield _case("k beyond the classes", rank, (np.zeros((2, 3, 4)), 5), "k|class")
  yield _case("k 0", rank, (np.zeros((2, 3, 9)), 0), "k")
  yield _case(
    "odd: ties",
    rank,
    (np.zeros((2, 3, 9)), 5),
    right=lambda r: np.asarray(r)[0, 0].tolist() == [0, 1, 2, 3, 4],
  )
  summary = "stability.summarize"
  for kind, fp in (
    ("an unknown name", {"tiltt": 0.1}),
    ("NaN", {"tilt": _NAN}),
    ("negative", {"tilt": -0.1}),
    ("percent", {"tilt": 40}),
    ("text", {"tilt": "a"}),
  ):
    yield _case(f"fp is {kind}", summary, (fp, {}), "tilt")
  yield _case(
    "one alone gives no mean",
    summary,
    ({"tilt": 0.1}, {"tilt": 1.0}),
    "tilt|perturbation",
    right=lambda r: _absent(r, "mfr"),
  )


def _intervals() -> Iterator[Case]:
  where = "intervals.clopper_pearson"
  for kind, args in (
    ("more successes than n", (5, 3)),
    ("negative", (-1, 3)),
    ("NaN", (_NAN, 3)),
    ("a fraction", (1.5, 3)),
    ("n negative", (0, -3)),
    ("text", ("1", 3)),
    ("None", (None, 3)),
  ):
    yield _case(kind, where, args, "success|n|trial")
  for level in (0, 1, 95, -0.5, _NAN, "0.95"):
    yield _case(f"level {level}", where, (1, 3), "level", level=level)
  yield _case(
    "odd: n 0",
    where,
    (0, 0),
    "n|0|example",
    right=lambda r: [float(x) for x in r[-2:]] == [0, 1],
  )
  yield _case("odd: all", where, (3, 3), right=lambda r: float(r[-1]) == 1)


def _pm_k() -> Iterator[Case]:
  where = "pm_k.accuracy"
  correct = np.array([True, True, False, True])
  group = np.array(["a", "a", "b", "b"])
  frame = np.array([0, 1, 0, -1])
  for kind, args in (
    ("unequal lengths", (correct[:3], group, frame)),
    ("fractions", (correct * 0.5, group, frame)),
    ("2", (correct * 2, group, frame)),
    ("NaN", (np.where(correct, np.nan, 0), group, frame)),
    ("no anchor", (correct, group, np.array([0, 1, 2, -1]))),
    ("two anchors", (correct, group, np.array([0, 1, 0, 0]))),
    (
      "a frame twice",
      (np.tile(correct, 2), np.tile(group, 2), np.tile(frame, 2)),
    ),
    ("nothing", (correct[:0], group[:0], frame[:0])),
    ("two axes", (correct[None], group[None], frame[None])),
    ("fractional frames", (correct, group, frame + 0.5)),
  ):
    yield _case(
      kind, where, args, "correct|group|frame|anchor|set|length|shape|'b'", k=10
    )
  for k in (-1, 1.5, "10", None, _NAN):
    yield _case(f"k {k!r}", where, (correct, group, frame), "k", k=k)
  yield _case(
    "odd: k 0",
    where,
    (correct, group, frame),
    k=0,
    right=lambda r: r["acc_orig"][0] == 0.5,
  )
  yield _case(
    "odd: another order",
    where,
    (correct[::-1], group[::-1], frame[::-1]),
    k=10,
    right=lambda r: r["acc_pmk"][0] == 0.5,
  )


def _action() -> Iterator[Case]:
  where = "action.robustness"
  whole = {c.name: None for c in conditions.VIDEOS.conditions() if not c.clean}
  acc = {(n, s): 0.5 for n in whole for s in range(1, 6)}
  for kind, change in (
    ("an unknown name", {("fogg", 1): 0.5}),
    ("severity 6", {("jpeg", 6): 0.5}),
    ("severity 0", {("jpeg", 0): 0.5}),
    ("NaN", {("jpeg", 1): _NAN}),
    ("percent", {("jpeg", 1): 50.0}),
    ("negative", {("jpeg", 1): -0.5}),
    ("text", {("jpeg", 1): "a"}),
    ("a name alone", {"jpeg": 0.5}),
  ):
    yield _case(kind, where, ({**acc, **change}, 0.8), "jpeg|fogg")
  for clean in (0.0, _NAN, 80.0, -1.0, "a", None):
    yield _case(f"clean {clean}", where, (acc, clean), "clean")
  yield _case("nothing", where, ({}, 0.8), "accuracy|no |empty|cell")
  yield _case(
    "odd: all",
    where,
    (acc, 0.8),
    right=lambda r: abs(r["gamma_a"]["mean"] - 0.7) < 1e-9,
  )


def _detection() -> Iterator[Case]:
  where = "detection.coco_ap"
  gt, dt = coco_test.truth(), coco_test.results(0)

  def rows(**fields):
    return [{**dt[0], **fields}, *dt[1:]]

  def truth(**fields):
    first, *others = gt["annotations"]
    return {**gt, "annotations": [{**first, **fields}, *others]}

  for kind, args, word in (
    ("gt of nothing", ({}, dt), "images|gt"),
    ("gt None", (None, dt), "gt|ground|NoneType|None"),
    ("dt None", (gt, None), "dt|detection|results|None"),
    ("a score of NaN", (gt, rows(score=_NAN)), "score"),
    ("a score of text", (gt, rows(score="a")), "score"),
    ("a box of NaN", (gt, rows(bbox=[_NAN, 1, 2, 3])), "bbox|box"),
    ("a box of three", (gt, rows(bbox=[1, 2, 3])), "bbox|box"),
    ("a box of 1e30", (gt, rows(bbox=[1e30, 1, 2, 3])), "bbox|box"),
    ("a negative side", (gt, rows(bbox=[1, 1, -2, 3])), "bbox|box"),
    ("an unknown image", (gt, rows(image_id=77)), "77"),
    ("an unknown category", (gt, rows(category_id=77)), "77"),
    ("a crowd of yes", (truth(iscrowd="yes"), dt), "iscrowd"),
    ("a fractional id", (truth(id=1.5), dt), "id"),
    ("gt box of inf", (truth(bbox=[_INF, 1, 2, 3]), dt), "bbox|box"),
  ):
    yield _case(kind, where, args, word)
  yield _case(
    "an unknown iou_type", where, (gt, dt), "iou_type|segm", iou_type="box"
  )
  yield _case(
    "an unknown backend", where, (gt, dt), "backend|hotcoco", backend="x"
  )
  masked = [{**r, "segmentation": [[1e9, 1e9, 0, 5, 5, 1e9]]} for r in dt]
  square = {
    **gt,
    "annotations": [
      {**a, "segmentation": [[10, 5, 40, 5, 40, 45, 10, 45]]}
      for a in gt["annotations"]
    ],
  }
  yield _case(
    "segm of 1e9",
    where,
    (square, masked),
    "segmentation|mask|polygon",
    iou_type="segm",
  )
  yield _case(
    "segm without masks", where, (square, dt), "segm|mask", iou_type="segm"
  )
  yield _case(
    "odd: no detections", where, (gt, []), right=lambda r: r["AP"] == 0
  )
  yield _case(
    "odd: all", where, (gt, dt), right=lambda r: abs(r["AP"] - 1) < 1e-9
  )
  voc = "detection.voc_ap50"
  boxes = [
    {"image": "a", "label": "cat", "bbox": [1, 1, 9, 9], "difficult": False}
  ]
  found = [{"image": "a", "label": "cat", "bbox": [1, 1, 9, 9], "score": 0.5}]
  for kind, args, word in (
    ("no score", (boxes, [{**found[0], "score": None}], ["cat"]), "score"),
    (
      "a score of NaN",
      (boxes, [{**found[0], "score": _NAN}], ["cat"]),
      "score",
    ),
    (  # of a detection it is just wrong: the authors' detectors give some
      "a turned box of an object",
      ([{**boxes[0], "bbox": [9, 9, 1, 1]}], found, ["cat"]),
      "bbox|box",
    ),
    (
      "a box of NaN",
      (boxes, [{**found[0], "bbox": [_NAN] * 4}], ["cat"]),
      "bbox|box|x1",
    ),
    (
      "a label that is none",
      (boxes, [{**found[0], "label": "dog"}], ["cat"]),
      "dog",
    ),
    ("no classes", (boxes, found, []), "class"),
    ("a class twice", (boxes, found, ["cat", "cat"]), "cat"),
    (
      "difficult of maybe",
      ([{**boxes[0], "difficult": "maybe"}], found, ["cat"]),
      "difficult",
    ),
  ):
    yield _case(kind, voc, args, word)
  yield _case(
    "odd: all", voc, (boxes, found, ["cat"]), right=lambda r: r["mean"] == 1
  )
  summary = "detection.summarize"
  cells = {n: [0.5, 0.4, 0.3, 0.2, 0.1] for n in _COMMON}
  for kind, args, word in (
    ("four severities", ({**cells, "fog": [0.5] * 4}, 0.6), "fog"),
    ("NaN", ({**cells, "fog": [_NAN] * 5}, 0.6), "fog"),
    ("percent", ({**cells, "fog": [50] * 5}, 0.6), "fog"),
    ("an unknown name", ({**cells, "fogg": [0.5] * 5}, 0.6), "fogg"),
    ("one lacks", ({n: v for n, v in cells.items() if n != "fog"}, 0.6), "fog"),
    ("clean NaN", (cells, _NAN), "clean"),
    ("clean 0", (cells, 0.0), "clean"),
  ):
    right = (lambda r: _absent(r, "rpc")) if kind == "clean 0" else None
    right = (lambda r: _absent(r, "mpc")) if kind == "one lacks" else right
    yield _case(kind, summary, args, word, right=right)
  yield _case(
    "an unknown scope", summary, (cells, 0.6), "scope|benchmark", scope="x"
  )
