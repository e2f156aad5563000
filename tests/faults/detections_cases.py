"""Detections of other programs and raw results, `eval.score`."""

import copy
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

_NAN, _INF = float("nan"), float("inf")
_SQUARE = [[10.0, 5, 40, 5, 40, 45, 10, 45]]


def cases() -> Iterator[Case]:
  """Lists, cells, the ground truth, raw results; and odd ones."""
  yield from _fields()
  yield from _masks()
  yield from _texts()
  yield from _cells()
  yield from _truths()
  yield from _odd()
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


def _with_row(change: dict[str, Any], folder: pathlib.Path):
  rows = coco_test.results(0)
  for field, value in change.items():
    if value is ...:
      rows[0].pop(field)
    else:
      rows[0][field] = value
  return _with_file(json.dumps(rows).encode(), folder)


def _fields() -> Iterator[Case]:
  for field, values in (
    ("image_id", (..., None, "1", 1.5, 99, -1, True, [1])),
    ("category_id", (..., None, "5", 5.5, 0, 7, True)),
    ("score", (..., None, "0.9", _NAN, _INF, [0.9], True)),
    ("bbox", (..., None, [1, 2, 3], [1, 2, 3, 4, 5], [_NAN, 5, 30, 40],
              [10, 5, _INF, 40], [1e30, 5, 30, 40], [10, 5, -30, 40],
              ["1", 2, 3, 4], "box", [[1, 2, 3, 4]], {})),
  ):  # fmt: skip
    for value in values:
      shown = "absent" if value is ... else json.dumps(value)[:40]
      yield Case(
        f"{field} is {shown}",
        functools.partial(_with_row, {field: value}),
        ("fog_3.json", f"{field}|{field.split('_')[0]}|box"),
      )


def _masks() -> Iterator[Case]:
  for kind, value in (
    ("a polygon of 1e9", [[1e9, 1e9, 0, 5, 5, 1e9]]),
    ("a polygon of 1e30", [[1e30, 0, 1e30, 1e30, 0, 1e30]]),
    ("a polygon of NaN", [[_NAN] * 8]),
    ("a polygon of two points", [[1, 2, 3, 4]]),
    ("no polygon", []),
    ("an empty polygon", [[]]),
    ("empty", ""),
    ("text", "abc"),
    ("null", None),
    ("without counts", {"size": [80, 100]}),
    ("of another size", {"size": [8, 10], "counts": [80]}),
    ("of garbage counts", {"size": [80, 100], "counts": "garbage!"}),
    ("of too few counts", {"size": [80, 100], "counts": [5]}),
    ("of negative counts", {"size": [80, 100], "counts": [-5, 8005]}),
    ("of a size of 1e6 x 1e6", {"size": [10**6, 10**6], "counts": [10**12]}),
    ("of binary counts", {"size": [80, 100], "counts": "\u0000\u0001"}),
  ):
    yield Case(
      f"a mask is {kind}",
      functools.partial(_with_row, {"segmentation": value}),
      ("fog_3.json", "segmentation|mask|polygon|counts"),
    )
  yield Case(
    "a mask in one row alone",
    functools.partial(_with_row, {"segmentation": _SQUARE}),
    ("fog_3.json", "segmentation|mask"),
    right=_right,
  )


def _texts() -> Iterator[Case]:
  whole = json.dumps(coco_test.results(0)).encode()
  for kind, data in (
    ("empty", b""),
    ("null", b"null"),
    ("an object", b"{}"),
    ("a number", b"7"),
    ("a list of numbers", b"[1, 2]"),
    ("a list of null", b"[null]"),
    ("a list of lists", b"[[1]]"),
    ("nested 100,000 deep", b"[" * 100_000 + b"]" * 100_000),
    ("cut", whole[:100]),
    ("HTML", b"<html></html>"),
    ("binary", bytes(range(256))),
    ("two lists", whole + whole),
    ("a COCO instances file", json.dumps(coco_test.truth()).encode()),
  ):
    yield Case(
      f"fog_3.json is {kind}",
      functools.partial(_with_file, data),
      ("fog_3.json",),
    )
  yield Case(
    "clean.json is cut",
    functools.partial(_with_file, whole[:100], name="clean.json"),
    ("clean.json",),
  )


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
  )

  def name(file, folder):
    mine, _ = _write(folder)
    (mine / file).write_text("[]")
    return _score(folder)

  names = "fog_6 fogg_1 fog results fog_0 .".split()
  files = [f"{stem}.json" for stem in names]
  yield from case.rows(
    name, *((file, file, file) for file in files), kinds="a file called {}"
  )


def _truths() -> Iterator[Case]:
  def change(edit: Callable[[dict], Any], folder: pathlib.Path):
    _, path = _write(folder)
    truth = coco_test.truth()
    edit(truth)
    path.write_text(json.dumps(truth))
    return _score(folder)

  def put(part, **fields):
    return lambda t: t[part][0].update(fields)

  for kind, edit, name in (
    ("no annotations", lambda t: t.update(annotations=[]), "annotation"),
    ("no images", lambda t: t.update(images=[]), "image"),
    ("no key images", lambda t: t.pop("images"), "images"),
    ("annotations of null", lambda t: t.update(annotations=None), "annotations"),
    ("an annotation of no image", put("annotations", image_id=77), "77|image_id"),
    ("an annotation of no category", put("annotations", category_id=77),
     "77|category_id"),
    ("a fractional id", put("annotations", id=1.5), "id"),
    ("an id twice", put("annotations", id=2), "id"),
    ("an image twice", lambda t: t["images"].append(t["images"][0]), "image"),
    ("a box of NaN", put("annotations", bbox=[_NAN, 1, 2, 3]), "bbox|box"),
    ("a box of 1e30", put("annotations", bbox=[1e30, 1, 2, 3]), "bbox|box"),
    ("a box of three", put("annotations", bbox=[1, 2, 3]), "bbox|box"),
    ("an area of NaN", put("annotations", area=_NAN), "area"),
    ("a crowd of yes", put("annotations", iscrowd="yes"), "iscrowd"),
    ("a polygon of 1e9", put("annotations", segmentation=[[1e9, 1e9, 0, 5, 5, 1e9]]),
     "segmentation|mask|polygon"),
    ("a mask of another size", put("annotations", segmentation={
      "size": [8, 10], "counts": [80]}), "segmentation|mask"),
    ("no category name", lambda t: t["categories"][0].pop("name"), "name"),
    ("a width of null", put("images", width=None), "width"),
    ("a category twice", lambda t: t["categories"].append(t["categories"][0]), "categor"),
  ):  # fmt: skip
    yield Case(
      f"the truth has {kind}",
      functools.partial(change, edit),
      ("truth.json", name),
    )

  def replace(data, folder):
    _, path = _write(folder)
    path.write_bytes(data)
    return _score(folder)

  yield from case.rows(
    replace,
    ("empty", b""),
    ("a list", b"[]"),
    ("null", b"null"),
    ("nested 100,000 deep", b'{"a":' * 100_000),
    ("binary", bytes(range(256))),
    kinds="the truth is {}",
    names=("truth.json",),
  )
  yield Case("no such truth", _no_truth, ("nowhere.json",))
  yield Case("the truth is not named", _truth_not_named, ("--truth",))


def _no_truth(folder):
  _write(folder)
  return _score(folder, truth=folder / "nowhere.json")


def _truth_not_named(folder):
  mine, _ = _write(folder)
  return scored.score(folder, mine)


def _odd() -> Iterator[Case]:
  rows = coco_test.results(0)
  for kind, changed in (
    ("rows in another order", rows[::-1]),
    ("more fields", [{**r, "id": 5, "model": "m"} for r in rows]),
    ("scores of whole numbers", [{**r, "score": 1} for r in rows]),
    ("a negative score", [*rows, {**rows[0], "score": -5.0}]),
    ("a logit as a score", [{**r, "score": 17.5} for r in rows]),
    ("a box beyond the picture",
     [*rows, {**rows[0], "bbox": [90, 70, 50, 50], "score": 0.01}]),
    ("an empty box", [*rows, {**rows[0], "bbox": [9, 9, 0, 0], "score": 0.01}]),
  ):  # fmt: skip
    data = json.dumps(changed).encode()
    yield Case(
      f"odd: {kind}", functools.partial(_with_file, data), right=_right
    )
  text = json.dumps(rows).encode()
  yield from case.rows(
    _with_file,
    ("odd: a byte order mark", b"\xef\xbb\xbf" + text, _right),
    ("odd: no detections in a cell", b"[]", _none_in_fog_3),
  )
  yield Case(
    "odd: all cells",
    _whole,
    right=lambda r: abs(_overall(r, "mpc") - 1) < 1e-9,
  )


def _none_in_fog_3(rows):
  return scored.value(rows, "bbox/AP", config="fog_3") == 0


def _whole(folder):
  _write(folder, whole=True)
  return _score(folder)


def _overall(rows, metric):
  return scored.value(rows, metric, config="")


def _made() -> dict[str, Any]:
  names = list(conditions.PICTURES.names("common"))
  values = [[0.5] + [0.5 - 0.05 * s for s in range(1, 6)] for _ in names]
  return {
    "dataset": "coco",
    "model": "mine",
    "corruptions": names,
    "severities": list(range(6)),
    "results": {"bbox": {"AP": values}},
  }


def _raw_score(data: bytes, folder: pathlib.Path):
  (folder / "raw.json").write_bytes(data)
  return scored.score(folder, folder / "raw.json")


def _raw_right(rows):
  return abs(_overall(rows, "mpc") - 0.35) < 1e-9


def _raw() -> Iterator[Case]:
  def edited(edit, folder):
    content = copy.deepcopy(_made())
    edit(content)
    return _raw_score(json.dumps(content).encode(), folder)

  def value(put):
    def edit(content):
      content["results"]["bbox"]["AP"][3][3] = put

    return edit

  def rows_of(content):
    return content["results"]["bbox"]["AP"]

  keys = ("dataset", "model", "corruptions", "severities", "results")
  yield from case.rows(
    edited,
    *((f"without {k}", lambda c, k=k: c.pop(k), k) for k in keys),
    *((f"{k} of null", lambda c, k=k: c.update({k: None}), k) for k in keys),
    *(
      (f"a value of {v}", value(v), "AP|bbox|motion|value")
      for v in (None, "x", _NAN, _INF, 2, -2, 50.0, [0.1])
    ),
    ("a corruption twice",
     lambda c: c["corruptions"].__setitem__(1, "gaussian_noise"), "gaussian_noise"),
    ("an unknown corruption",
     lambda c: c["corruptions"].__setitem__(1, "foggg"), "foggg"),
    ("a severity lacks", lambda c: c["severities"].pop(), "severit|AP"),
    ("a severity twice", lambda c: c["severities"].__setitem__(5, 4), "severit"),
    ("a row lacks", lambda c: rows_of(c).pop(), "AP"),
    ("a ragged row", lambda c: rows_of(c)[2].pop(), "AP"),
    ("no metric", lambda c: c["results"].update(bbox={}), "bbox|AP"),
    ("an unknown data set", lambda c: c.update(dataset="../x"), "dataset|../x"),
    kinds="raw results: {}",
    names=("raw.json",),
  )  # fmt: skip
  yield from case.rows(
    edited,
    ("corruptions in another order", _turned),
    ("more keys", lambda c: c.update(date=1)),
    kinds="raw results: odd: {}",
    right=_raw_right,
  )
  yield from case.rows(
    _raw_score,
    ("a list", b"[]"),
    ("nested 100,000 deep", b"[" * 100_000),
    ("empty", b""),
    kinds="raw results: {}",
    names=("raw.json",),
  )


def _turned(content: dict[str, Any]) -> None:
  content["corruptions"].reverse()
  rows = content["results"]["bbox"]["AP"]
  content["results"]["bbox"]["AP"] = np.asarray(rows)[::-1].tolist()
