"""Damaged workdirs, continued and scored again.

All kinds of damage are in tests/eval/cells/workdir_test.py; what no note and no
config.json may hold is in tests/eval/cells/facts_test.py.
"""

import functools
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
_WEIGHTS = "models/digits_cnn/weights.npz"
_SECONDS = 400  # the first case makes the run


def cases() -> Iterator[Case]:
  """Each damage at every door; harmless ones must change nothing."""
  for kind, damage, names in _damages():
    yield _case(f"score: {kind}", _score, damage, names)
    yield _case(f"continue: {kind}", _continue, damage, names)
  for kind, damage in _harmless():
    yield _case(f"odd: score: {kind}", _score, damage, (), True)
    yield _case(f"odd: continue: {kind}", _continue, damage, (), True)
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


def _continue(folder: pathlib.Path, workdir: pathlib.Path) -> Any:
  data = f"--config.data.data_dir={runs.made(folder) / 'data'}"
  runs.run(workdir, runs.CONFIG, data)
  return scored.table(workdir)


def _bytes(pattern: str, change: Callable[[bytes], bytes]) -> Damage:
  """Changes the bytes of files."""

  def damage(workdir: pathlib.Path) -> None:
    for path in workdir.glob(pattern):
      path.write_bytes(change(path.read_bytes()))

  return damage


def _cut(data: bytes) -> bytes:
  return data[: len(data) // 2]


def _flip(data: bytes) -> bytes:
  at = len(data) // 2
  return data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]


def _json(name: str, change: Callable[[dict[str, Any]], Any]) -> Damage:
  def edit(data: bytes) -> bytes:
    content = json.loads(data)
    change(content)
    return json.dumps(content).encode()

  return _bytes(name, edit)


def _top(change: Callable[[np.ndarray], np.ndarray]) -> Damage:
  """Changes the column that scores are made of."""

  def damage(workdir: pathlib.Path) -> None:
    with np.load(workdir / _NPZ) as file:
      columns = dict(file)
    name = next(k for k in columns if k.startswith("top"))
    np.savez(workdir / _NPZ, **{**columns, name: change(columns[name])})

  return damage


def _swap(workdir: pathlib.Path) -> None:
  a, b = workdir / runs.CELL, workdir / runs.OTHER
  a.rename(workdir / "aside")
  b.rename(a)
  (workdir / "aside").rename(b)


def _damages() -> Iterator[tuple[str, Damage, tuple[str, ...]]]:
  cell = ("brightness_3|brightness_1",)
  for kind, damage in (
    ("predictions cut", _bytes(_NPZ, _cut)),
    ("predictions flipped", _bytes(_NPZ, _flip)),
    ("a prediction changed", _top(lambda v: v + 1)),
    ("a pickle", _top(lambda v: v.astype(object))),
    ("two cells swapped", _swap),
    ("note cut", _bytes(_NOTE, _cut)),
    ("note of another model", _json(_NOTE, lambda n: n.update(model="other"))),
  ):
    yield kind, damage, cell
  yield "examples cut", _bytes("examples/*.npz", _cut), ("examples/",)
  yield (
    "no examples",
    lambda w: shutil.rmtree(w / "examples"),
    ("examples/",),
  )
  config = ("config.json|/run",)
  yield "config.json cut", _bytes("config.json", _cut), config
  yield (
    "config.json of version 99",
    _json("config.json", lambda c: c["versions"].update(workdir=99)),
    config,
  )


def _harmless() -> Iterator[tuple[str, Damage]]:
  def extra(workdir: pathlib.Path) -> None:
    (workdir / "notes.txt").write_text("mine")
    (workdir / runs.CELL / ".predictions.npz.tmp123").write_bytes(b"half")

  def link(workdir: pathlib.Path) -> None:
    workdir.rename(workdir.parent / "elsewhere")
    workdir.symlink_to("elsewhere", target_is_directory=True)

  yield (
    "table.csv edited",
    _bytes("table.csv", lambda d: d.replace(b"0.0625", b"0.5")),
  )
  yield "timing.json nested", _bytes("timing.json", lambda d: b"[" * 100_000)
  yield "contents.json of other JSON", _bytes("contents.json", lambda d: b"[1]")
  yield "files of other programs", extra
  yield "the workdir is a link", link


def _absent() -> Iterator[Case]:
  """What is simply not there, a cell alone; and models."""

  def remove(name: str, workdir: pathlib.Path) -> None:
    shutil.rmtree(workdir / name)

  for kind, name in (("a cell is absent", runs.CELL), ("no cells", "cells")):
    damage = functools.partial(remove, name)
    yield _case(f"odd: continue: {kind}", _continue, damage, (), True)
  yield _case(
    "odd: continue: the note is absent",
    _continue,
    lambda w: (w / _NOTE).unlink(),
    ("brightness_3",),
    True,
  )
  no_cells = functools.partial(remove, "cells")
  yield _case("score: no cells", _score, no_cells, ("/run",))

  def weights(workdir: pathlib.Path) -> None:
    remove(runs.CELL, workdir)
    _bytes(_WEIGHTS, _flip)(workdir)

  yield _case(
    "continue: trained weights flipped",
    _continue,
    weights,
    ("models/digits_cnn|weights.npz",),
  )

  def file(folder: pathlib.Path) -> Any:
    (folder / "run").write_text("a file")
    return runs.run(folder / "run")

  yield Case("continue: the workdir is a file", file, ("/run",))
  yield Case(
    "score: no workdir", lambda f: _score(f, f / "nowhere"), ("nowhere",)
  )
