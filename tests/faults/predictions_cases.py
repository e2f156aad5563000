"""Classifications of other programs, `eval.score --predictions=mine.csv`.

Wrong values, headers and bytes are in tests/eval/score_test.py and bad_csv.tsv.
"""

import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions
from tests.faults import case, mutations, scored
from tests.faults.case import Case

_FILE = "mine.csv"
_NAMES = "names.txt"
Change = Callable[[scored.Rows], Any]


def cases() -> Iterator[Case]:
  """Cells, flags; and odd but valid files."""
  yield from _cells()
  yield from _odd()
  yield from _flags()
  yield from mutations.cases(
    _FILE,
    scored.text(scored.rows()).encode(),
    _score_bytes,
    scored.right,
    cuts=False,
  )


def _score_bytes(data: bytes | str, folder: pathlib.Path, name: str = _FILE):
  path = folder / name
  path.write_bytes(data if isinstance(data, bytes) else data.encode())
  return scored.score(folder, path)


def _changed(change: Change, folder: pathlib.Path):
  rows = scored.rows()
  rows = change(rows) or rows
  return _score_bytes(scored.text(rows), folder)


def _cells() -> Iterator[Case]:
  """Cells that do not fit one another."""

  def swapped_labels(rows):
    rows[-1][3] = (rows[-1][3] + 1) % scored.CLASSES

  def twice_differently(rows):
    return [*rows, [*rows[-1][:4], (rows[-1][4] + 1) % scored.CLASSES]]

  def other_ids(rows):
    for row in rows[-scored.EXAMPLES :]:
      row[2] = f"y{row[2]}"

  yield from case.rows(
    _changed,
    ("an example lacks in clean", lambda r: r[1:], "x0"),
    ("half a cell lacks", lambda r: r[:-5], "x5|x6|x7|x8|x9"),
    ("labels differ between cells", swapped_labels, "x9", "label"),
    ("a row twice with two answers", twice_differently, "x9"),
    ("other ids in one cell", other_ids, "x0|yx0"),
    ("no rows", lambda r: r.clear(), "row"),
    names=(_FILE,),
  )
  two = [*scored.HEADER, "model"]
  one = [[*r, "one"] for r in scored.rows()]
  fewer = [[*r, "two"] for r in scored.rows(examples=9)]
  others = [
    [*r[:3], (r[3] + 1) % scored.CLASSES, r[4], "two"] for r in scored.rows()
  ]
  yield from case.rows(
    _score_rows,
    (
      "no clean cell",
      (scored.rows()[scored.EXAMPLES :],),
      _FILE,
      "clean",
      _no_relative,
    ),
    (
      "two models, one of fewer examples",
      (one + fewer, two),
      "two",
      "x9",
      _counted,
    ),
    ("two models of other labels", (one + others, two), _FILE, "label"),
  )


def _score_rows(table: Sequence[Any], folder: pathlib.Path) -> Any:
  """Scores rows, with a header of their own behind them or the usual one."""
  path = folder / _FILE
  path.write_text(scored.text(*table))
  flags = {"dataset": "their_c", "baseline": "alexnet"}
  return scored.score(folder, path, **flags)


def _no_relative(rows):
  return not any(
    r["metric"].startswith("relative") and r["value"] for r in rows
  )


def _counted(rows):
  """The two models' rows say of how many examples they are."""
  counts = {(r["model"], r["n"]) for r in rows if r["metric"] == "error"}
  return counts == {("one", "10"), ("two", "9")}


def _common() -> scored.Rows:
  return scored.rows(conditions.PICTURES.names("common"))


def _odd() -> Iterator[Case]:
  """Valid files that look unusual: each must give the right table."""
  rows = scored.rows()
  whole = scored.text(rows)
  order = (4, 2, 0, 3, 1)
  turned = scored.text(
    [[r[i] for i in order] for r in rows], [scored.HEADER[i] for i in order]
  )
  rng = np.random.default_rng(0)
  yield from case.rows(
    _score_bytes,
    ("no last line end", whole.rstrip("\n").encode()),
    ("columns in another order", turned.encode()),
    ("quoted values", scored.text([[f'"{v}"' for v in r] for r in rows]).encode()),
    ("rows in another order",
     scored.text([rows[i] for i in rng.permutation(len(rows))]).encode()),
    ("ids of other scripts", whole.replace(",x", ",\u56fe/\u00e9 ").encode()),
    ("ids like paths", whole.replace(",x", ",../../x").encode()),
    ("large classes", _shifted(rows, 990)),
    kinds="odd: {}",
    right=scored.right,
  )  # fmt: skip
  yield Case("odd: a link to the file", _link, right=scored.right)


def _shifted(rows, by: int) -> bytes:
  return scored.text([[*r[:3], r[3] + by, r[4] + by] for r in rows]).encode()


def _link(folder):
  (folder / "real.csv").write_text(scored.text(scored.rows()))
  (folder / _FILE).symlink_to("real.csv")
  return scored.score(folder, folder / _FILE)


def _flags() -> Iterator[Case]:
  """Flags; more of them are in tests/eval/score_test.py."""
  yield from case.rows(
    _with,
    *(
      (f"--{name}={value}", {name: value}, *words)
      for name, value, *words in (
        ("baseline", "model:nobody", "nobody"),
        ("baseline", "../../../etc/passwd", "baseline"),
        ("seed", "x", "seed"),
        ("format", "coco", "mine.csv|truth"),
        ("columns", "top1=first", _FILE, "first"),
        ("columns", "top9=top1", "top9"),
        ("columns", "top1=", "top1="),
        ("columns", "label=top1", "'top1' is given"),
        ("separator", "tab", _FILE, "corruption"),
        ("classes", _NAMES, _FILE, "x2", "--classes"),
        ("classes", "no.txt", "no.txt"),
        ("facts", _FILE, "no workdir"),
      )
    ),
    ("--classes of one set, --dataset another",
     {"classes": _NAMES, "dataset": "digits_c"}, _NAMES, "10 classes"),
  )  # fmt: skip
  yield from case.rows(
    _score_bytes,
    ("one prediction is empty", _emptied(-1), _FILE, "row 110", "x9"),
    ("all predictions are empty", _emptied(*range(110)), _FILE, "110 of 110"),
    ("semicolons and commas", scored.text(scored.rows()).replace(",", ";", 1),
     _FILE, "corruption"),
  )  # fmt: skip
  yield Case(
    "--dataset that leaves the folder",
    _leaving,
    ("dataset|x",),
    right=lambda names: names == {_FILE, _NAMES, "out"},
  )
  yield Case(
    "--baseline=alexnet of cifar10_c",
    _alexnet_of_cifar,
    ("baseline|alexnet",),
    right=_not_normalised,
  )


def _emptied(*places: int) -> str:
  """Valid predictions, without those of some rows."""
  rows = scored.rows()
  for place in places:
    rows[place][4] = ""
  return scored.text(rows)


def _with(flags, folder):
  """Scores with what flags say, in the folder's names of files."""
  (folder / _FILE).write_text(scored.text(scored.rows()))
  (folder / _NAMES).write_text("a\nb\n")
  of_files = ("classes", "facts")
  flags = {k: folder / v if k in of_files else v for k, v in flags.items()}
  return scored.score(folder, folder / _FILE, **flags)


def _leaving(folder):
  """Names of what lies beside the result."""
  _with({"dataset": "../../../../x"}, folder)
  cells = list((folder / "out" / "cells").rglob("predictions.npz"))
  assert len(cells) == 11, f"{len(cells)} cells lie in the result"
  return {p.name for p in folder.iterdir()}


def _alexnet_of_cifar(folder):
  (folder / _FILE).write_text(scored.text(_common()))
  return scored.score(
    folder, folder / _FILE, baseline="alexnet", dataset="cifar10_c"
  )


def _not_normalised(rows):
  return all(r["value"] == "" for r in rows if r["metric"] in ("mce", "ce"))
