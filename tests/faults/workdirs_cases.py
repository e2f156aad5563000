"""Damaged workdirs, continued and scored again.

What no note and no config.json may hold is in tests/eval/cells.
"""

import json
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.faults import runs, scored
from tests.faults.case import Case

Damage = Callable[[pathlib.Path], Any]
_NPZ = f"{runs.CELL}/predictions.npz"
_NOTE = f"{runs.CELL}/provenance.json"
_SECONDS = 400  # the first case makes the run


def cases() -> Iterator[Case]:
  """Each damage at every door; harmless ones must change nothing."""
  damages = [
    *((*row, ("brightness_3|brightness_1",)) for row in _cells()),
    *((*row, ("examples/",)) for row in _examples()),
    *_settings(),
  ]
  for door in (_score, _continue):
    name = door.__name__[1:]
    for kind, damage, names in damages:
      yield _case(f"{name}: {kind}", door, damage, names)
    for kind, damage in _harmless():
      yield _case(f"odd: {name}: {kind}", door, damage, (), True)
  for kind, damage in [*list(_cells())[:6], *_examples()]:
    yield _case(f"odd: repaired: {kind}", _repair, damage, (), True)
  yield from _absent()


def _case(
  kind: str, door: Any, damage: Damage, names: tuple, may_be_right: bool = False
) -> Case:
  def act(folder: pathlib.Path) -> Any:
    workdir = runs.copy(folder)
    damage(workdir)
    return folder, door(folder, workdir)

  right = (lambda r: runs.same(*r)) if may_be_right else None
  return Case(kind, act, names, right, seconds=_SECONDS, slow=True)


def _score(folder: pathlib.Path, workdir: pathlib.Path) -> Any:
  return scored.score(folder, workdir)


def _continue(folder: pathlib.Path, workdir: pathlib.Path, *flags: str) -> Any:
  data = f"--config.data.data_dir={runs.made(folder) / 'data'}"
  runs.run(workdir, runs.CONFIG, data, *flags)
  return scored.table(workdir)


def _repair(folder: pathlib.Path, workdir: pathlib.Path) -> Any:
  return _continue(folder, workdir, "--repair")


def _bytes(name: str, change: Callable[[bytes], bytes]) -> Damage:
  def damage(workdir: pathlib.Path) -> None:
    path = workdir / name
    path.write_bytes(change(path.read_bytes()))

  return damage


def _columns(
  change: Callable[[dict[str, np.ndarray]], Any], name: str = _NPZ
) -> Damage:
  def damage(workdir: pathlib.Path) -> None:
    for path in workdir.glob(name):
      with np.load(path) as file:
        columns = dict(file)
      change(columns)
      np.savez(path, **columns)

  return damage


def _all(
  name: str, change: Callable[[pathlib.Path], Any]
) -> Callable[[pathlib.Path], None]:
  def damage(workdir: pathlib.Path) -> None:
    for path in workdir.glob(name):
      change(path)

  return damage


def _note(change: Callable[[dict[str, Any]], Any]) -> Damage:
  def edit(data: bytes) -> bytes:
    note = json.loads(data)
    return json.dumps(change(note) or note).encode()

  return _bytes(_NOTE, edit)


def _flip(data: bytes) -> bytes:
  at = len(data) // 2
  return data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]


def _each(columns: dict[str, np.ndarray], change: Callable[[Any], Any]) -> None:
  for name, values in columns.items():
    columns[name] = change(values)


def _swap(workdir: pathlib.Path) -> None:
  a, b = workdir / runs.CELL, workdir / runs.OTHER
  a.rename(workdir / "aside")
  b.rename(a)
  (workdir / "aside").rename(b)


def _other_cell(workdir: pathlib.Path) -> None:
  shutil.rmtree(workdir / runs.CELL)
  shutil.copytree(workdir / runs.OTHER, workdir / runs.CELL)


def _other_columns(workdir: pathlib.Path) -> None:
  shutil.copy(workdir / runs.OTHER / "predictions.npz", workdir / _NPZ)


def _numbers(change: Callable[[np.ndarray], np.ndarray]) -> Damage:
  """Changes a column of whole numbers that scores are made of."""

  def edit(columns: dict[str, np.ndarray]) -> None:
    name = next(k for k in columns if k.startswith("top"))
    columns[name] = change(columns[name])

  return _columns(edit)


def _lacking(columns: dict[str, np.ndarray]) -> None:
  columns.pop(next(k for k in columns if k.startswith("top")))


def _cells() -> Iterator[tuple[str, Damage]]:
  """The first six are repaired, too."""
  yield from {
    "predictions cut": _bytes(_NPZ, lambda d: d[: len(d) // 2]),
    "predictions flipped": _bytes(_NPZ, _flip),
    "predictions empty": _bytes(_NPZ, lambda d: b""),
    "a row removed": _columns(lambda c: _each(c, lambda v: v[:-1])),
    "another severity's cell": _other_cell,
    "note cut": _bytes(_NOTE, lambda d: d[: len(d) // 2]),
    "predictions are text": _bytes(_NPZ, lambda d: b"hello"),
    "predictions are absent": lambda w: (w / _NPZ).unlink(),
    "all rows removed": _columns(lambda c: _each(c, lambda v: v[:0])),
    "a row twice": _columns(
      lambda c: _each(c, lambda v: np.concatenate([v, v[-1:]]))
    ),
    "rows in another order": _numbers(lambda v: v[::-1]),
    "a prediction changed": _numbers(lambda v: v + 1),
    "a column lacks": _columns(_lacking),
    "a pickle": _numbers(lambda v: v.astype(object)),
    "two cells swapped": _swap,
    "another severity's predictions": _other_columns,
    "note empty": _bytes(_NOTE, lambda d: b""),
    "note of another model": _note(lambda n: n.update(model="other")),
    "note of another fingerprint": _note(
      lambda n: n.update(fingerprint="0" * 12)
    ),
    "note without model": _note(lambda n: n.pop("model")),
  }.items()


def _examples() -> Iterator[tuple[str, Damage]]:
  """Of the file that all cells share."""
  files = "examples/*.npz"

  def bytes_of(change: Callable[[bytes], bytes]) -> Damage:
    return _all(files, lambda p: p.write_bytes(change(p.read_bytes())))

  yield "examples cut", bytes_of(lambda d: d[: len(d) // 2])
  yield "examples flipped", bytes_of(_flip)
  yield "examples are text", bytes_of(lambda d: b"hello")
  yield "examples are absent", _all(files, lambda p: p.unlink())
  yield "no examples", lambda w: shutil.rmtree(w / "examples")
  yield (
    "labels changed",
    _columns(lambda c: c.update({"label.int32": c["label.int32"] + 1}), files),
  )


def _settings() -> Iterator[tuple[str, Damage, tuple[str, ...]]]:
  config = ("config.json|/run",)

  def edit(change: Callable[[dict[str, Any]], Any]) -> Damage:
    def damage(data: bytes) -> bytes:
      settings = json.loads(data)
      return json.dumps(change(settings) or settings).encode()

    return _bytes("config.json", damage)

  for kind, damage in (
    ("cut", _bytes("config.json", lambda d: d[: len(d) // 2])),
    ("of version 99", edit(lambda c: c["versions"].update(workdir=99))),
    ("without data", edit(lambda c: c.pop("data"))),
  ):
    yield f"config.json {kind}", damage, config


def _harmless() -> Iterator[tuple[str, Damage]]:
  def extra(workdir: pathlib.Path) -> None:
    (workdir / "notes.txt").write_text("mine")
    (workdir / runs.CELL / ".predictions.npz.tmp123").write_bytes(b"half")

  def link(workdir: pathlib.Path) -> None:
    workdir.rename(workdir.parent / "elsewhere")
    workdir.symlink_to("elsewhere", target_is_directory=True)

  yield "table.csv cut", _bytes("table.csv", lambda d: d[:50])
  yield (
    "table.csv edited",
    _bytes("table.csv", lambda d: d.replace(b"0.0625", b"0.5")),
  )
  yield "table.csv HTML", _bytes("table.csv", lambda d: b"<html>")
  yield "timing.json cut", _bytes("timing.json", lambda d: d[:10])
  yield "timing.json nested", _bytes("timing.json", lambda d: b"[" * 100_000)
  yield "contents.json cut", _bytes("contents.json", lambda d: d[:10])
  yield "contents.json of other JSON", _bytes("contents.json", lambda d: b"[1]")
  yield "files of other programs", extra
  yield "the workdir is a link", link


def _absent() -> Iterator[Case]:
  """What is simply not there, a cell alone; and models."""

  def without(name: str) -> Damage:
    return lambda workdir: shutil.rmtree(workdir / name)

  yield _case(
    "odd: continue: a cell is absent", _continue, without(runs.CELL), (), True
  )
  yield _case(
    "odd: continue: the note is absent",
    _continue,
    lambda w: (w / _NOTE).unlink(),
    ("brightness_3",),
    True,
  )
  yield _case("odd: continue: no cells", _continue, without("cells"), (), True)
  yield _case("score: no cells", _score, without("cells"), ("/run",))

  for kind, change in (
    ("cut", lambda d: d[: len(d) // 2]),
    ("empty", lambda d: b""),
    ("flipped", _flip),
  ):
    weights = _bytes("models/digits_cnn/weights.npz", change)

    def damage(workdir, weights=weights):
      shutil.rmtree(workdir / runs.CELL)
      weights(workdir)

    yield _case(
      f"continue: trained weights {kind}",
      _continue,
      damage,
      ("models/digits_cnn|weights.npz",),
    )

  def file(folder: pathlib.Path) -> Any:
    (folder / "run").write_text("a file")
    return runs.run(folder / "run")

  yield Case("continue: the workdir is a file", file, ("/run",))
  yield Case(
    "score: no workdir", lambda f: _score(f, f / "nowhere"), ("nowhere",)
  )
