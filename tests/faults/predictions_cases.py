"""Classifications of other programs, `eval.score --predictions=mine.csv`."""

from __future__ import annotations

import functools
import io
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions
from tests import tiny_files
from tests.faults import case, mutations, scored
from tests.faults.case import Case

_FILE = "mine.csv"
_ZIP = tiny_files.zipped({"a": b"b"})
Change = Callable[[scored.Rows], Any]


def cases() -> Iterator[Case]:
  """Values, rows, cells, headers, bytes, arrays; and odd but valid files."""
  yield from _values()
  yield from _cells()
  yield from _headers()
  yield from _bytes()
  yield from _arrays()
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


def _put(row: int, column: int, value: Any) -> Change:
  def change(rows: scored.Rows) -> None:
    rows[row][column] = value

  return change


def _case(kind: str, change: Change, *names: str) -> Case:
  return Case(kind, functools.partial(_changed, change), (_FILE, *names))


def _values() -> Iterator[Case]:
  """One value of the last row (x9 of snow_5) is wrong."""
  for column, name, values in (
    (4, "top1", ("cat", "1.5", "nan", "inf", "", "-1", "1e400", "1+2j", "0x1",
                 "2020-01-02", "99999999999999999999", "True", "null")),
    (3, "label", ("cat", "1.5", "", "-1", "-9223372036854775808", "nan")),
    (1, "severity", ("6", "0", "-1", "2.5", "three", "", "1e1")),
    (0, "corruption", ("fogg", "../fog", "fog/3", "<b>", "=1+1", "fog\0")),
  ):  # fmt: skip
    for value in values:
      yield _case(
        f"{name} is {value!r}", _put(-1, column, value), f"{name}|{value}|nul"
      )
  for value in ("", " ", "x0", "x\0y"):
    words = "example_id|more than one|examples|nul|empty"
    yield _case(f"example_id is {value!r}", _put(-1, 2, value), words)


def _cells() -> Iterator[Case]:
  """Cells that do not fit one another."""

  def swapped_labels(rows):
    rows[-1][3] = (rows[-1][3] + 1) % scored.CLASSES

  def twice(rows):
    return [*rows, rows[-1]]

  def twice_differently(rows):
    return [*rows, [*rows[-1][:4], (rows[-1][4] + 1) % scored.CLASSES]]

  def other_ids(rows):
    for row in rows[-scored.EXAMPLES :]:
      row[2] = f"y{row[2]}"

  yield _case("an example lacks in one cell", lambda r: r[:-1], "x9")
  yield _case("an example lacks in clean", lambda r: r[1:], "x0")
  yield _case("an example lacks in the middle", lambda r: r[:34] + r[35:], "x4")
  yield _case("half a cell lacks", lambda r: r[:-5], "x5|x6|x7|x8|x9")
  yield _case("labels differ between cells", swapped_labels, "x9", "label")
  yield _case("a row twice", twice, "x9")
  yield _case("a row twice with two answers", twice_differently, "x9")
  yield _case("other ids in one cell", other_ids, "x0|yx0")
  yield _case(
    "one more example in one cell", lambda r: [*r, ["snow", 5, "z", 0, 0]], "z"
  )
  yield _case("no rows", lambda r: r.clear(), "row")
  without = [r for r in _common() if r[:2] != ["fog", 3]]
  scarce = [r for r in _common() if r[0] != "fog"]
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
    ("mCE without one cell", (without,), _FILE, "fog", _no_mce),
    ("mCE without one corruption", (scarce,), _FILE, "fog", _no_mce),
    ("mCE of all cells", (_common(),), _has_mce),
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
  return _score_bytes(scored.text(*table), folder)


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


def _no_mce(rows):
  """Empty or absent; the note names what lacks."""
  mce = [r for r in rows if r["metric"] in ("mce", "relative_mce")]
  return all(r["value"] == "" and "fog" in r["note"] for r in mce) and mce != []


def _has_mce(rows):
  return 0.5 < scored.value(rows, "mce") < 2


def _headers() -> Iterator[Case]:
  whole = scored.text(scored.rows())
  body = whole.split("\n", 1)[1]
  six = [[*r, r[4]] for r in scored.rows()]
  ranks = [[*r, r[4], 2, 3, 4] for r in scored.rows()]
  gap = [[*r, 90] for r in scored.rows()]
  top5 = ["top2", "top3", "top4", "top5"]
  yield from case.rows(
    lambda head, folder: _score_bytes(f"{head}\n{body}", folder),
    ("column top1 twice", "corruption,severity,example_id,top1,top1", "top1"),
    ("a header of fewer names", "corruption,severity,example_id,label", "top1"),
    ("a header of more names", "corruption,severity,example_id,label,top1,top2",
     "top2|line 2|6"),
    ("a header in capitals", "CORRUPTION,SEVERITY,EXAMPLE_ID,LABEL,TOP1", "top1|columns"),
    ("a name that lacks", "corruption,severity,example_id,,top1", "label|column 4"),
    ("names with blanks", "corruption, severity,example_id,label,top1", "severity"),
    names=(_FILE,),
  )  # fmt: skip
  yield from case.rows(
    _score_bytes,
    ("the header a second time", whole + whole, "header|line 112|severity"),
    names=(_FILE,),
  )
  yield from case.rows(
    lambda table, folder: _score_rows(
      (table[0], [*scored.HEADER, *table[1]]), folder
    ),
    ("column label twice", (six, ["label"]), "label"),
    ("one class twice in the top 5", (ranks, top5), "top2|top5|twice"),
    ("top3 without top2", (gap, ["top3"]), "top2|top3", scored.right),
    names=(_FILE,),
  )


def _bytes() -> Iterator[Case]:
  whole = scored.text(scored.rows())
  lines = whole.split("\n")
  yield from case.rows(
    _score_bytes,
    ("empty file", b""),
    ("a header alone", lines[0].encode(), "row|empty"),
    ("one byte", b"\0"),
    ("binary", bytes(range(256)) * 20),
    ("UTF-16", whole.encode("utf-16")),
    ("UTF-32", whole.encode("utf-32")),
    ("Latin-1 bytes", whole.encode() + b"fog,5,caf\xe9,1,1\n"),
    ("HTML", b"<!doctype html><html><body>404</body></html>"),
    ("JSON", b'{"corruption": []}'),
    ("a NUL in the middle", whole.replace("x3", "x\0003", 1).encode()),
    ("cut in the last line", whole[:-4].encode(), "x9|line 111"),
    ("a row too short", "\n".join([*lines[:5], "fog,1"]).encode(), "line 6"),
    ("a row too long", whole.encode() + b"fog,1,x0,1,1,1,1\n", "line 112"),
    ("a quote left open", whole.encode() + b'fog,1,"x0,1,1\n'),
    ("a field of 10 MB", whole.encode() + b"a" * 10_000_000),
    ("semicolons", whole.replace(",", ";").encode()),
    ("a zip called csv", _ZIP),
    names=(_FILE,),
  )
  yield Case("a folder called csv", _folder, (_FILE,))
  yield Case("no such file", _nowhere, ("nowhere.csv",))
  ending = functools.partial(_score_bytes, whole, name="mine.xlsx")
  yield Case("an unknown ending", ending, ("mine.xlsx",))


def _folder(folder):
  (folder / _FILE).mkdir()
  return scored.score(folder, folder / _FILE)


def _nowhere(folder):
  return scored.score(folder, folder / "nowhere.csv")


def _columns() -> dict[str, np.ndarray]:
  return {
    name: np.array([r[i] for r in scored.rows()])
    for i, name in enumerate(scored.HEADER)
  }


def _npz(change: Callable[[dict], Any], folder: pathlib.Path):
  columns = _columns()
  change(columns)
  np.savez(folder / "mine.npz", **columns)
  return scored.score(folder, folder / "mine.npz")


def _npz_bytes(make: Callable[[], bytes], folder: pathlib.Path):
  return _score_bytes(make(), folder, "mine.npz")


def _arrays() -> Iterator[Case]:
  def put(name, make):
    def change(columns):
      columns[name] = make(columns[name])

    return change

  for kind, change, names in (
    ("columns of unequal length", put("top1", lambda a: a[:-1]), ("top1",)),
    ("complex numbers", put("top1", lambda a: a + 0j), ("top1",)),
    ("dates", put("top1", lambda a: a.astype("datetime64[D]")), ("top1",)),
    ("time spans", put("label", lambda a: a.astype("timedelta64[s]")), ("label",)),
    ("booleans", put("top1", lambda a: a.astype(bool)), ("top1",)),
    ("fractions", put("top1", lambda a: a + 0.5), ("top1",)),
    ("NaN", put("top1", lambda a: np.where(a == 3, np.nan, a)), ("top1",)),
    ("two axes", put("top1", lambda a: np.stack([a, a], 1)), ("top1",)),
    ("no axis", put("top1", lambda a: np.int64(3)), ("top1",)),
    ("no rows", lambda c: c.update({k: v[:0] for k, v in c.items()}), ("row",)),
    ("a pickle", put("top1", lambda a: a.astype(object)), ("top1|pickle",)),
    ("a record", put("top1", lambda a: a.astype([("a", int)])), ("top1",)),
    ("ids as bytes", put("example_id", lambda a: a.astype("S")), ("example_id",)),
    ("a column lacks", lambda c: c.pop("label"), ("label",)),
    ("uint64 beyond int64", put("label", lambda a: a.astype(np.uint64) + 2**63),
     ("label",)),
  ):  # fmt: skip
    right = scored.right if kind in ("ids as bytes",) else None
    yield Case(
      f"npz: {kind}",
      functools.partial(_npz, change),
      ("mine.npz", *names),
      right,
    )
  for kind, make in (
    ("npz: a header that promises 29 TiB", _huge),
    ("npz: cut", lambda: tiny_files.npz(_columns())[:300]),
    ("npz: empty", lambda: b""),
    ("npz: an npy", lambda: tiny_files.npy(np.arange(3))),
    ("npz: members that are no arrays", lambda: _ZIP),
  ):
    yield Case(kind, functools.partial(_npz_bytes, make), ("mine.npz",))


def _huge() -> bytes:
  """`top1` says that it has four million million values."""
  header = io.BytesIO()
  fields = {"descr": "<i8", "fortran_order": False, "shape": (4 * 10**12,)}
  np.lib.format.write_array_header_1_0(header, fields)
  arrays = {f"{k}.npy": tiny_files.npy(v) for k, v in _columns().items()}
  arrays["top1.npy"] = header.getvalue() + bytes(8)
  return tiny_files.zipped(arrays)


def _odd() -> Iterator[Case]:
  """Valid files that look unusual: each must give the right table."""
  rows = scored.rows()
  whole = scored.text(rows)
  order = (4, 2, 0, 3, 1)
  turned = scored.text(
    [[r[i] for i in order] for r in rows], [scored.HEADER[i] for i in order]
  )
  more = scored.text(
    [[*r, "=HYPERLINK(1)", "x"] for r in rows], [*scored.HEADER, "note", "b"]
  )
  rng = np.random.default_rng(0)
  for kind, data in (
    ("a byte order mark", b"\xef\xbb\xbf" + whole.encode()),
    ("lines of Windows", whole.replace("\n", "\r\n").encode()),
    ("no last line end", whole.rstrip("\n").encode()),
    ("columns in another order", turned.encode()),
    ("more columns", more.encode()),
    ("quoted values", scored.text([[f'"{v}"' for v in r] for r in rows]).encode()),
    ("rows in another order",
     scored.text([rows[i] for i in rng.permutation(len(rows))]).encode()),
    ("clean by name", whole.replace("\n,0", "\nclean,0").encode()),
    ("ids of other scripts", whole.replace(",x", ",\u56fe/\u00e9 ").encode()),
    ("ids with commas and quotes", _quoted(rows)),
    ("blank last lines", (whole + "\n\n").encode()),
    ("ids like paths", whole.replace(",x", ",../../x").encode()),
    ("large classes", _shifted(rows, 990)),
    ("whole numbers as floats", _floats(rows)),
  ):  # fmt: skip
    yield Case(
      f"odd: {kind}", functools.partial(_score_bytes, data), right=scored.right
    )
  small = {"top1": np.uint8, "label": ">i2"}
  yield from case.rows(
    _npz,
    (
      "odd: npz of small integers",
      lambda c: c.update({k: c[k].astype(v) for k, v in small.items()}),
    ),
    right=scored.right,
  )
  yield Case("odd: a link to the file", _link, right=scored.right)
  yield Case(
    "odd: two files",
    _two_files,
    right=lambda rows: scored.right([r for r in rows if r["model"] == "one"]),
  )


def _quoted(rows) -> bytes:
  return scored.text(
    [[*r[:2], f'"a,""b"" {r[2]}"', *r[3:]] for r in rows]
  ).encode()


def _shifted(rows, by: int) -> bytes:
  return scored.text([[*r[:3], r[3] + by, r[4] + by] for r in rows]).encode()


def _floats(rows) -> bytes:
  return scored.text([[*r[:4], f"{r[4]}.0"] for r in rows]).encode()


def _link(folder):
  (folder / "real.csv").write_text(scored.text(scored.rows()))
  (folder / _FILE).symlink_to("real.csv")
  return scored.score(folder, folder / _FILE)


def _two_files(folder):
  for name in ("one", "two"):
    (folder / f"{name}.csv").write_text(scored.text(scored.rows()))
  return scored.score(folder, folder / "one.csv", folder / "two.csv")


def _flags() -> Iterator[Case]:
  for flag, value, word in (
    ("baseline", "alexnte", "alexnet"),
    ("baseline", "model:nobody", "nobody"),
    ("baseline", "../../../etc/passwd", "baseline"),
    ("seed", "x", "seed"),
    ("rules", "voc", "rules"),
    ("format", "coco", "mine.csv|truth"),
  ):
    yield Case(
      f"--{flag}={value}", functools.partial(_with, flag, value), (word,)
    )
  yield Case(
    "--dataset that leaves the folder",
    _leaving,
    ("dataset|x",),
    right=lambda names: names == {_FILE, "out"},
  )
  yield Case(
    "--baseline=alexnet of cifar10_c",
    _alexnet_of_cifar,
    ("baseline|alexnet",),
    right=_not_normalised,
  )


def _leaving(folder):
  """Names of what lies beside the result."""
  _with("dataset", "../../../../x", folder)
  cells = list((folder / "out" / "cells").rglob("predictions.npz"))
  assert len(cells) == 11, f"{len(cells)} cells lie in the result"
  return {p.name for p in folder.iterdir()}


def _with(flag, value, folder):
  (folder / _FILE).write_text(scored.text(scored.rows()))
  return scored.score(folder, folder / _FILE, **{flag: value})


def _alexnet_of_cifar(folder):
  (folder / _FILE).write_text(scored.text(_common()))
  return scored.score(
    folder, folder / _FILE, baseline="alexnet", dataset="cifar10_c"
  )


def _not_normalised(rows):
  return all(r["value"] == "" for r in rows if r["metric"] in ("mce", "ce"))
