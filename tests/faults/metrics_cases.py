"""The functions of `eval.metrics`: arrays and dicts in, floats out."""

from __future__ import annotations

import functools
import math
import pathlib
from collections.abc import Callable, Iterator, Sequence
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


def _rows(where: str, *table: Sequence[Any]) -> Iterator[Case]:
  """A case a row: its kind, the arguments, then words, keywords, a check."""
  for kind, args, *rest in table:
    words = [item for item in rest if isinstance(item, str)]
    keywords = next((item for item in rest if isinstance(item, dict)), {})
    right = next((item for item in rest if callable(item)), None)
    yield _case(kind, where, args, *words, right=right, **keywords)


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
  short = {n: v for n, v in _errors().items() if n != "fog"}
  zeros = {"errors": _errors(fog=[0.0] * 5), "clean_error": 0.3}
  lacking = {"errors": short, "clean_error": 0.3}
  arrays = {k: np.array(v, np.float32) for k, v in _errors().items()}
  whole = (_errors(), 0.4)
  yield from _rows(
    where,
    ("an unknown name", ({"fogg": [0.5] * 5}, 0.4), "fogg"),
    ("no errors", ({}, 0.4), "error|empty|corruption", _no_mce),
    ("one of 15 lacks", (short, 0.4), "fog", _no_mce),
    ("an unknown baseline", whole, "alexnet", {"baseline": "alexnte"}),
    ("a baseline of zeros", whole, "baseline|zero|0", {"baseline": zeros}, _no_mce),
    ("a baseline that lacks one", whole, "fog", {"baseline": lacking}, _no_mce),
    ("a baseline without clean_error", whole, "clean_error",
     {"baseline": {"errors": _errors()}}),
    ("odd: numpy arrays", (arrays, np.float32(0.4)), lambda r: r["mce"] > 0.5),
    ("odd: all right", whole, lambda r: abs(r["mean_error"] - 0.7) < 1e-9),
  )  # fmt: skip


def _absent(result: Any, name: str) -> bool:
  value = result.get(name)
  return value is None or math.isnan(value)


def _no_mce(result: Any) -> bool:
  return _absent(result, "mce")


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
  yield from _rows(
    flip,
    ("odd: a list", (top1.tolist(),), _near(1 / 8)),
    ("odd: int8", (top1.astype(np.int8),), _near(1 / 8)),
    ("odd: noise", (top1,), {"noise": True}, _near(3 / 8)),
  )
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
  yield from _rows(
    "stability.rank",
    ("logits of NaN", (np.full((2, 3, 9), np.nan), 5), "logit|NaN|finite"),
    ("k beyond the classes", (np.zeros((2, 3, 4)), 5), "k|class"),
    ("k 0", (np.zeros((2, 3, 9)), 0), "k"),
    ("odd: ties", (np.zeros((2, 3, 9)), 5), _first_classes),
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
  yield from _rows(
    summary,
    (
      "one alone gives no mean",
      ({"tilt": 0.1}, {"tilt": 1.0}),
      "tilt|perturbation",
      lambda r: _absent(r, "mfr"),
    ),
  )


def _first_classes(ranked: Any) -> bool:
  return np.asarray(ranked)[0, 0].tolist() == [0, 1, 2, 3, 4]


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
  yield from _rows(
    where,
    ("odd: n 0", (0, 0), "n|0|example", lambda r: [*map(float, r[-2:])] == [0, 1]),
    ("odd: all", (3, 3), lambda r: float(r[-1]) == 1),
  )  # fmt: skip


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
  turned = (correct[::-1], group[::-1], frame[::-1])
  yield from _rows(
    where,
    (
      "odd: k 0",
      (correct, group, frame),
      {"k": 0},
      lambda r: r["acc_orig"][0] == 0.5,
    ),
    (
      "odd: another order",
      turned,
      {"k": 10},
      lambda r: r["acc_pmk"][0] == 0.5,
    ),
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
  yield from _rows(
    where,
    ("nothing", ({}, 0.8), "accuracy|no |empty|cell"),
    ("odd: all", (acc, 0.8), lambda r: abs(r["gamma_a"]["mean"] - 0.7) < 1e-9),
  )


def _detection() -> Iterator[Case]:
  where = "detection.coco_ap"
  gt, dt = coco_test.truth(), coco_test.results(0)

  def rows(**fields):
    return [{**dt[0], **fields}, *dt[1:]]

  def truth(**fields):
    first, *others = gt["annotations"]
    return {**gt, "annotations": [{**first, **fields}, *others]}

  masked = [{**r, "segmentation": [[1e9, 1e9, 0, 5, 5, 1e9]]} for r in dt]
  square = [[10, 5, 40, 5, 40, 45, 10, 45]]
  drawn = [{**a, "segmentation": square} for a in gt["annotations"]]
  outlined = {**gt, "annotations": drawn}
  segm = {"iou_type": "segm"}
  yield from _rows(
    where,
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
    ("an unknown iou_type", (gt, dt), "iou_type|segm", {"iou_type": "box"}),
    ("an unknown backend", (gt, dt), "backend|hotcoco", {"backend": "x"}),
    ("segm of 1e9", (outlined, masked), "segmentation|mask|polygon", segm),
    ("segm without masks", (outlined, dt), "segm|mask", segm),
    ("odd: no detections", (gt, []), lambda r: r["AP"] == 0),
    ("odd: all", (gt, dt), lambda r: abs(r["AP"] - 1) < 1e-9),
  )
  box = {"image": "a", "label": "cat", "bbox": [1, 1, 9, 9]}
  boxes, scored = [{**box, "difficult": False}], [{**box, "score": 0.5}]

  def detected(**fields):
    return boxes, [{**scored[0], **fields}], ["cat"]

  def given(**fields):
    return [{**boxes[0], **fields}], scored, ["cat"]

  yield from _rows(
    "detection.voc_ap50",
    ("no score", detected(score=None), "score"),
    ("a score of NaN", detected(score=_NAN), "score"),
    # Of a detection it is just wrong: the authors' detectors give some.
    ("a turned box of an object", given(bbox=[9, 9, 1, 1]), "bbox|box"),
    ("a box of NaN", detected(bbox=[_NAN] * 4), "bbox|box|x1"),
    ("a label that is none", detected(label="dog"), "dog"),
    ("no classes", (boxes, scored, []), "class"),
    ("a class twice", (boxes, scored, ["cat", "cat"]), "cat"),
    ("difficult of maybe", given(difficult="maybe"), "difficult"),
    ("odd: all", given(), lambda r: r["mean"] == 1),
  )
  cells = {n: [0.5, 0.4, 0.3, 0.2, 0.1] for n in _COMMON}
  without = {n: v for n, v in cells.items() if n != "fog"}
  yield from _rows(
    "detection.summarize",
    ("four severities", ({**cells, "fog": [0.5] * 4}, 0.6), "fog"),
    ("NaN", ({**cells, "fog": [_NAN] * 5}, 0.6), "fog"),
    ("percent", ({**cells, "fog": [50] * 5}, 0.6), "fog"),
    ("an unknown name", ({**cells, "fogg": [0.5] * 5}, 0.6), "fogg"),
    ("one lacks", (without, 0.6), "fog", lambda r: _absent(r, "mpc")),
    ("clean NaN", (cells, _NAN), "clean"),
    ("clean 0", (cells, 0.0), "clean", lambda r: _absent(r, "rpc")),
    ("an unknown scope", (cells, 0.6), "scope|benchmark", {"scope": "x"}),
  )
