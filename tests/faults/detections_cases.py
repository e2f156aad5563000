"""Detections of other programs and raw results, `eval.score`.

What no row and no truth may hold is in tests/eval/metrics/detection/coco_test.py,
what no JSON may be in tests/reading/files_test.py.
"""

import functools
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from robust_tfds import conditions
from tests.eval.readers import coco_test
from tests.faults import case, mutations, scored
from tests.faults.case import Case

_NAN = float("nan")
_HUGE = [[1e9, 1e9, 0, 5, 5, 1e9]]
_NESTED = b"[" * 100_000


def cases() -> Iterator[Case]:
  """Lists, cells, the ground truth, raw results; and odd ones."""
  yield from _results()
  yield from _cells()
  yield from _truths()
  yield from _raw()
  data = json.dumps(coco_test.results(0)).encode()
  yield from mutations.cases("fog_3.json", data, _with_file, _right)


def _write(
  folder: pathlib.Path, whole: bool = False
) -> tuple[pathlib.Path, pathlib.Path]:
  """Results of fog (of all the 15), each cell as good as clean; the truth."""
  mine = folder / "mine"
  mine.mkdir()
  text = json.dumps(coco_test.results(0))
  names = conditions.PICTURES.names("common") if whole else ["fog"]
  for config in ["clean", *(f"{n}_{s}" for n in names for s in range(1, 6))]:
    (mine / f"{config}.json").write_text(text)
  truth = folder / "truth.json"
  truth.write_text(json.dumps(coco_test.truth()))
  return mine, truth


def _score(folder: pathlib.Path, **flags: Any):
  flags = {"truth": folder / "truth.json", **flags}
  return scored.score(folder, folder / "mine", **flags)


def _right(rows: list[dict[str, str]]) -> bool:
  """AP 1 everywhere."""
  cells = [r for r in rows if r["config"] and r["metric"] == "bbox/AP"]
  assert len(cells) == 6, cells
  return all(abs(float(r["value"]) - 1) < 1e-9 for r in cells)


def _with_file(data: bytes, folder: pathlib.Path, name: str = "fog_3.json"):
  mine, _ = _write(folder)
  (mine / name).write_bytes(data)
  return _score(folder)


def _results() -> Iterator[Case]:
  rows = coco_test.results(0)
  text = json.dumps(rows).encode()

  def first(change: dict[str, Any], folder: pathlib.Path):
    return _with_file(
      json.dumps([{**rows[0], **change}, *rows[1:]]).encode(), folder
    )

  square = [[10.0, 5, 40, 5, 40, 45, 10, 45]]
  yield from case.rows(
    first,
    ("image 99", {"image_id": 99}, "image"),
    ("no category", {"category_id": None}, "category"),
    ("score NaN", {"score": _NAN}, "score"),
    ("three sides", {"bbox": [1, 2, 3]}, "box"),
    ("a polygon of 1e9", {"segmentation": _HUGE}, "segmentation"),
    ("a mask in one row alone", {"segmentation": square}, "segmentation|mask"),
    kinds="a detection has {}",
    names=("fog_3.json",),
  )
  yield from case.rows(
    _with_file,
    ("empty", b""),
    ("nested 100,000 deep", _NESTED),
    ("a COCO instances file", json.dumps(coco_test.truth()).encode()),
    kinds="fog_3.json is {}",
    names=("fog_3.json",),
  )
  empty = {**rows[0], "bbox": [9, 9, 0, 0], "score": 0.01}
  beyond = {**rows[0], "bbox": [90, 70, 50, 50], "score": 0.01}
  odd = (
    ("rows in another order", rows[::-1]),
    ("more fields", [{**r, "id": 5, "model": "m"} for r in rows]),
    ("a negative score", [*rows, {**rows[0], "score": -5.0}]),
    ("a logit as a score", [{**r, "score": 17.5} for r in rows]),
    ("a box beyond the picture", [*rows, beyond]),
    ("an empty box", [*rows, empty]),
  )
  yield from case.rows(
    _with_file,
    *((kind, json.dumps(value).encode(), _right) for kind, value in odd),
    ("a byte order mark", b"\xef\xbb\xbf" + text, _right),
    ("no detections in a cell", b"[]", _none_in_fog_3),
    kinds="odd: {}",
  )


def _none_in_fog_3(rows):
  return scored.value(rows, "bbox/AP", config="fog_3") == 0


def _cells() -> Iterator[Case]:
  def without(names, folder):
    mine, _ = _write(folder, whole=True)
    for name in names:
      (mine / f"{name}.json").unlink()
    return _score(folder)

  def no_mean(rows):
    """mPC and rPC empty or absent; a note names what lacks."""
    headline = [r for r in rows if r["metric"] in ("mpc", "rpc")]
    return bool(headline) and all(
      r["value"] == "" and "fog" in r["note"] for r in headline
    )

  levels = [f"fog_{s}" for s in range(1, 6)]
  yield from case.rows(
    without,
    ("one of 75 cells lacks", ["fog_3"], "fog", no_mean),
    ("one of 15 corruptions lacks", levels, "fog", no_mean),
    ("clean lacks", ["clean"], "clean"),
    ("odd: all cells", [], lambda r: abs(_overall(r, "mpc") - 1) < 1e-9),
  )

  def name(file, folder):
    mine, _ = _write(folder)
    (mine / file).write_text("[]")
    return _score(folder)

  files = [f"{stem}.json" for stem in "fog_6 fogg_1 fog results .".split()]
  yield from case.rows(
    name, *((file, file, file) for file in files), kinds="a file called {}"
  )


def _overall(rows, metric):
  return scored.value(rows, metric, config="")


def _truths() -> Iterator[Case]:
  def first(change: tuple[str, dict[str, Any]], folder: pathlib.Path):
    truth = coco_test.truth()
    truth[change[0]][0].update(change[1])
    return replace(json.dumps(truth).encode(), folder)

  yield from case.rows(
    first,
    ("an annotation of no image", ("annotations", {"image_id": 77}), "77|image_id"),
    ("an id twice", ("annotations", {"id": 2}), "id"),
    ("a box of NaN", ("annotations", {"bbox": [_NAN, 1, 2, 3]}), "box"),
    ("a polygon of 1e9", ("annotations", {"segmentation": _HUGE}), "segmentation"),
    ("a width of null", ("images", {"width": None}), "width"),
    kinds="the truth has {}",
    names=("truth.json",),
  )  # fmt: skip

  def replace(data, folder):
    _, path = _write(folder)
    path.write_bytes(data)
    return _score(folder)

  without = coco_test.truth()
  without.pop("images")
  yield from case.rows(
    replace,
    ("empty", b""),
    ("a list", b"[]"),
    ("without images", json.dumps(without).encode(), "images"),
    kinds="the truth is {}",
    names=("truth.json",),
  )

  def flag(flags, folder):
    mine, _ = _write(folder)
    flags = {k: folder / v for k, v in flags.items()}
    return scored.score(folder, mine, **flags)

  yield from case.rows(
    flag,
    ("not there", {"truth": "nowhere.json"}, "nowhere.json"),
    ("not named", {}, "--truth"),
    kinds="the truth is {}",
  )


def _raw_score(data: bytes, folder: pathlib.Path):
  (folder / "raw.json").write_bytes(data)
  return scored.score(folder, folder / "raw.json")


def _raw() -> Iterator[Case]:
  names = list(conditions.PICTURES.names("common"))
  values = [[0.5] + [0.5 - 0.05 * s for s in range(1, 6)] for _ in names]

  def edited(edit: Callable[[dict[str, Any]], Any], folder: pathlib.Path):
    content = {
      "dataset": "coco",
      "model": "mine",
      "corruptions": list(names),
      "severities": list(range(6)),
      "results": {"bbox": {"AP": [list(row) for row in values]}},
    }
    edit(content)
    return _raw_score(json.dumps(content).encode(), folder)

  def ap(content):
    return content["results"]["bbox"]["AP"]

  def put(place, value):
    return lambda content: content["corruptions"].__setitem__(place, value)

  keys = ("dataset", "model", "corruptions", "severities", "results")
  yield from case.rows(
    edited,
    *((f"without {k}", lambda c, k=k: c.pop(k), k) for k in keys),
    *(
      (f"a value of {v}", lambda c, v=v: ap(c)[3].__setitem__(3, v), "AP|value")
      for v in ("x", _NAN, 2, 50.0)
    ),
    ("a corruption twice", put(1, "gaussian_noise"), "gaussian_noise"),
    ("an unknown corruption", put(1, "foggg"), "foggg"),
    ("a severity lacks", lambda c: c["severities"].pop(), "severit|AP"),
    ("a row lacks", lambda c: ap(c).pop(), "AP"),
    ("a ragged row", lambda c: ap(c)[2].pop(), "AP"),
    ("no metric", lambda c: c["results"].update(bbox={}), "bbox|AP"),
    ("an unknown data set", lambda c: c.update(dataset="../x"), "dataset|../x"),
    kinds="raw results: {}",
    names=("raw.json",),
  )

  def turned(content: dict[str, Any]) -> None:
    content["corruptions"].reverse()
    content["results"]["bbox"]["AP"] = np.asarray(values)[::-1].tolist()

  yield from case.rows(
    edited,
    ("corruptions in another order", turned),
    ("more keys", lambda c: c.update(date=1)),
    kinds="raw results: odd: {}",
    right=lambda rows: abs(_overall(rows, "mpc") - 0.35) < 1e-9,
  )
  yield Case(
    "raw results: nested 100,000 deep",
    functools.partial(_raw_score, _NESTED),
    ("raw.json",),
  )
