"""Tars, zips and arrays as published, `robust_tfds.build`."""

from __future__ import annotations

import functools
import gzip
import io
import pathlib
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from PIL import Image

from tests import tiny_files
from tests.building.sources import small_sets
from tests.faults import builds, case, mutations
from tests.faults.case import Case

_VAL = "ILSVRC2012_img_val.tar"
_NAMES = [f"ILSVRC2012_val_{i:08d}.JPEG" for i in (1, 2, 3)]
_LABELS = [65, 970, 230]  # of the first three validation images
_TINY = "Tiny-ImageNet-C.tar"
_BIN = "cifar-10-batches-bin/test_batch.bin"
Member = tuple[tarfile.TarInfo, bytes]


def cases() -> Iterator[Case]:
  """ImageNet's tar, a tar of corrupted pictures, a zip, CIFAR's arrays, lists."""
  yield from _val()
  yield from _tiny()
  yield from _zips()
  yield from _cifar()
  yield from _arrays()
  yield from _classes()
  data = _tar(_val_members())
  act = functools.partial(_imagenet)
  yield from mutations.cases(
    f"{_VAL}|ILSVRC2012_val", data, act, _three, count=8
  )


def _jpeg(seed: int, side: int = 256) -> bytes:
  small = Image.fromarray(tiny_files.noise(8, 8, seed))
  return tiny_files.encoded(small.resize((side, side)), "JPEG")


def _member(
  name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> Member:
  info = tarfile.TarInfo(name)
  info.size, info.type, info.linkname = len(data), kind, link
  return info, data


def _tar(members: list[Member], form: int = tarfile.GNU_FORMAT) -> bytes:
  return _written(members, form)[0]


def _written(members: list[Member], form: int) -> tuple[bytes, int]:
  """A tar, and where its last member ends, before the end mark."""
  out = io.BytesIO()
  with tarfile.open(fileobj=out, mode="w", format=form) as tar:
    for info, data in members:
      tar.addfile(info, io.BytesIO(data))
    end = tar.offset
  return out.getvalue(), end


def _end(members: list[Member]) -> int:
  return _written(members, tarfile.GNU_FORMAT)[1]


def _val_members() -> list[Member]:
  return [_member(name, _jpeg(i)) for i, name in enumerate(_NAMES)]


def _imagenet(data: bytes, folder: pathlib.Path) -> Any:
  return builds.of_files("imagenet_c", {_VAL: data}, folder)


def _three(found: Any) -> bool:
  labels = {k: int(e["label"]) for k, e in found.items()}
  assert labels == dict(zip(_NAMES, _LABELS)), labels
  return all(e["image"].shape == (224, 224, 3) for e in found.values())


def _links(name: str) -> Iterator[tuple[str, Member]]:
  for kind, what in (
    (tarfile.SYMTYPE, "a symbolic link"),
    (tarfile.LNKTYPE, "a hard link"),
    (tarfile.CHRTYPE, "a device"),
    (tarfile.FIFOTYPE, "a pipe"),
  ):
    yield what, _member(name, kind=kind, link=_NAMES[0])


def _val() -> Iterator[Case]:
  members = _val_members()
  whole = _tar(members)
  first_two = _end(members[:2])
  for kind, data, names in (
    ("empty", b"", (_VAL,)),
    ("an end mark alone", _tar([]), (_VAL,)),
    ("cut in a member", whole[: len(whole) // 2], (_VAL,)),
    ("cut between members", whole[:first_two], (_VAL,)),
    ("without its end mark", whole[: _end(members)], (_VAL,)),
    ("half an end mark", whole[: _end(members) + 512], (_VAL,)),
    ("HTML", b"<html></html>" * 100, (_VAL,)),
    ("zeros", bytes(10240), (_VAL,)),
    ("followed by text", whole + b"hello" * 200, (_VAL,)),
    ("of other pictures", _tar([_member("a.JPEG", _jpeg(0))]), (_VAL + "|a.JPEG",)),
    ("of a name twice", _tar([*members, members[0]]), (_NAMES[0],)),
    ("of two folders' names", _tar([*members, _member("b/" + _NAMES[0], _jpeg(9))]),
     (_NAMES[0],)),
    ("with an empty picture", _tar([*members[:2], _member(_NAMES[2])]), (_NAMES[2],)),
    ("with a number beyond 50,000",
     _tar([*members, _member("ILSVRC2012_val_00050001.JPEG", _jpeg(1))]), ("00050001",)),
    ("with a changed header", whole[:100] + b"99" + whole[102:], (_VAL,)),
    ("gzip that is cut", gzip.compress(whole)[:500], (_VAL,)),
  ):  # fmt: skip
    right = _three if kind in ("half an end mark", "followed by text") else None
    yield Case(
      f"{_VAL} is {kind}", functools.partial(_imagenet, data), names, right
    )
  for what, link in _links(_NAMES[2]):
    yield Case(
      f"{_VAL} holds {what}",
      functools.partial(_imagenet, _tar([*members[:2], link])),
      (_NAMES[2],),
    )
  for start in ("../../", "/"):
    odd = _tar([_member(start + m[0].name, m[1]) for m in members])
    yield Case(
      f"{_VAL} of names that begin with {start}",
      functools.partial(_imagenet, odd),
      (_NAMES[0],),
    )
  for kind, data in (
    ("in a folder", _tar([_member("val/" + m[0].name, m[1]) for m in members])),
    ("of the pax format", _tar(members, tarfile.PAX_FORMAT)),
    ("of the old format", _tar(members, tarfile.USTAR_FORMAT)),
    ("with its folder", _tar([_member("./", kind=tarfile.DIRTYPE), *members])),
    ("in another order", _tar(members[::-1])),
    ("of long names", _tar(
      [_member("a" * 150 + "/" + m[0].name, m[1]) for m in members])),
    ("of three members", whole),
  ):  # fmt: skip
    yield Case(
      f"odd: {_VAL} {kind}", functools.partial(_imagenet, data), right=_three
    )


def _tiny_set(data: bytes, folder: pathlib.Path) -> Any:
  small_sets.tiny_imagenet(folder)
  (folder / _TINY).write_bytes(data)
  return builds.build("tiny_imagenet_c", folder, "fog_3_published")


def _tiny() -> Iterator[Case]:
  top = "Tiny-ImageNet-C/fog/3"
  members = [
    _member(f"{top}/n0000000{i + 1}/val_{i}.JPEG", _jpeg(i, 64))
    for i in range(2)
  ]
  whole = _tar(members)

  def two(found):
    labels = {k: int(e["label"]) for k, e in found.items()}
    return labels == {"val_0.JPEG": 0, "val_1.JPEG": 1}

  name = "val_1.JPEG"
  last = f"{top}/n00000002/{name}"
  for kind, data, names in (
    ("cut in a member", whole[:1500], (_TINY,)),
    ("cut between members", whole[: _end(members[:1])], (_TINY,)),
    ("without its end mark", whole[: _end(members)], (_TINY,)),
    ("empty", b"", (_TINY,)),
    ("of another corruption", _tar([_member("T/snow/3/n00000001/a.JPEG", _jpeg(0, 64))]),
     ("fog",)),
    ("of an unknown class",
     _tar([*members, _member(f"{top}/n99999999/a.JPEG", _jpeg(0, 64))]),
     ("n99999999",)),
    ("of another size", _tar([members[0], _member(last, _jpeg(1, 63))]), (name,)),
    ("of a broken picture", _tar([members[0], _member(last, b"hello")]), (name,)),
    ("of a name twice", _tar([*members, members[0]]), ("val_0.JPEG",)),
  ):  # fmt: skip
    yield Case(f"{_TINY} is {kind}", functools.partial(_tiny_set, data), names)
  for what, link in _links(last):
    yield Case(
      f"{_TINY} holds {what}",
      functools.partial(_tiny_set, _tar([members[0], link])),
      (name,),
    )
  more = [*members, _member("Tiny-ImageNet-C/README", b"hello")]
  yield from case.rows(
    _tiny_set,
    ("of two pictures", whole),
    ("with a README", _tar(more)),
    kinds=f"odd: {_TINY} {{}}",
    right=two,
  )


def _zips() -> Iterator[Case]:
  def files(folder: pathlib.Path) -> dict[str, bytes]:
    made = small_sets.tiny_imagenet(folder.parent / "made")
    return {
      p.relative_to(made).as_posix(): p.read_bytes()
      for p in sorted(made.rglob("*"))
      if p.is_file()
    }

  def act(change: Callable[[bytes], bytes], folder: pathlib.Path) -> Any:
    data = change(tiny_files.zipped(files(folder)))
    return builds.of_files(
      "tiny_imagenet_c", {"tiny-imagenet-200.zip": data}, folder
    )

  name = "tiny-imagenet-200.zip"
  broken = b"\xff\xd8\x00"
  yield from case.rows(
    act,
    ("cut", lambda d: d[: len(d) // 2]),
    ("without its directory", lambda d: d[:-200]),
    ("empty", lambda d: b""),
    ("HTML", lambda d: b"<html>"),
    ("of changed bytes", lambda d: d.replace(b"\xff\xd8\xff", broken, 1)),
    kinds=f"{name} is {{}}",
    names=(f"{name}|val_",),
  )
  yield from case.rows(
    act,
    ("whole", lambda d: d),
    ("after a prefix", lambda d: b"MZ" + d, name),
    kinds=f"odd: {name} {{}}",
    right=builds.count(2),
  )


def _cifar() -> Iterator[Case]:
  def act(change: Callable[[bytes], bytes], folder: pathlib.Path) -> Any:
    small_sets.cifar10(folder)
    path = folder / _BIN
    path.write_bytes(change(path.read_bytes()))
    return builds.build("cifar10_c", folder)

  yield from case.rows(
    act,
    ("cut in a record", lambda d: d[:-5]),
    ("empty", lambda d: b""),
    ("of label 10", lambda d: b"\x0a" + d[1:]),
    ("of label 255", lambda d: b"\xff" + d[1:]),
    ("one byte too long", lambda d: d + b"\0"),
    ("text", lambda d: b"hello"),
    kinds="test_batch.bin is {}",
    names=("test_batch.bin",),
  )

  def packed(change: Callable[[bytes], bytes], folder: pathlib.Path) -> Any:
    small_sets.cifar10(folder)
    path = folder / _BIN
    data = gzip.compress(_tar([_member(_BIN, path.read_bytes())]))
    path.unlink()
    (folder / "cifar-10-binary.tar.gz").write_bytes(change(data))
    return builds.build("cifar10_c", folder)

  archive = "cifar-10-binary.tar.gz"
  yield from case.rows(
    packed,
    ("cut", lambda d: d[:-3000]),
    ("empty", lambda d: b""),
    ("HTML", lambda d: b"<html>"),
    ("of a changed checksum", lambda d: d[:-8] + b"\0\0\0\0" + d[-4:]),
    kinds=f"{archive} is {{}}",
    names=(archive,),
  )
  whole = functools.partial(packed, lambda d: d)
  yield Case(f"odd: {archive} whole", whole, right=builds.count(3))


def _arrays() -> Iterator[Case]:
  """`CIFAR-10-C/fog.npy`: 50,000 pictures; the valid file is a sparse one."""

  def write(
    path: pathlib.Path, shape, dtype="u1", body: int | None = None
  ) -> None:
    """A header and `body` bytes; all of them by default."""
    with open(path, "wb") as f:
      np.lib.format.write_array_header_1_0(
        f, {"descr": dtype, "fortran_order": False, "shape": shape}
      )
      size = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
      f.truncate(f.tell() + (size if body is None else body))

  def act(pixels: dict[str, Any], labels: Any, folder: pathlib.Path) -> Any:
    small_sets.cifar10(folder)
    place = folder / "CIFAR-10-C"
    place.mkdir()
    if isinstance(pixels.get("shape"), tuple):
      write(place / "fog.npy", **pixels)
    else:
      (place / "fog.npy").write_bytes(pixels["data"])
    if isinstance(labels, bytes):
      (place / "labels.npy").write_bytes(labels)
    elif labels is not None:
      np.save(place / "labels.npy", labels, allow_pickle=True)
    return builds.build("cifar10_c", folder, "fog_3_published", limit=5)

  shape = (50_000, 32, 32, 3)
  zeros = np.zeros(50_000, np.uint8)
  pickled = tiny_files.npy(np.array([object] * 3, object), allow_pickle=True)
  for kind, pixels in (
    ("of 49,999 pictures", {"shape": (49_999, 32, 32, 3)}),
    ("of floats", {"shape": shape, "dtype": "<f4", "body": 100}),
    ("cut", {"shape": shape, "body": 1000}),
    ("a promise of 29 TiB", {"shape": (10**10, 32, 32, 3), "body": 100}),
    ("of two axes", {"shape": (50_000, 3072)}),
    ("empty", {"data": b""}),
    ("HTML", {"data": b"<html>"}),
    ("a pickle", {"data": pickled}),
    ("of a negative shape", {"shape": (-50_000, 32, 32, 3), "body": 100}),
  ):
    yield Case(
      f"fog.npy is {kind}", functools.partial(act, pixels, zeros), ("fog.npy",)
    )
  good = {"shape": shape}
  other = zeros.copy()
  other[10_001] = 3
  for kind, labels in (
    ("absent", None),
    ("of 10,000 labels", zeros[:10_000]),
    ("of label 10", zeros + 10),
    ("of floats", zeros.astype(np.float32) + 0.5),
    ("of two axes", zeros[:, None]),
    ("other labels at another severity", other),
    ("a pickle", zeros.astype(object)),
    ("empty", b""),
  ):
    yield Case(
      f"labels.npy is {kind}",
      functools.partial(act, good, labels),
      ("labels.npy",),
    )
  yield Case(
    "odd: arrays, five pictures of them",
    functools.partial(act, good, zeros),
    right=builds.count(5),
  )


def _classes() -> Iterator[Case]:
  """Labels are numbered by the whole list."""

  def tiny(
    change: Callable[[list[str]], list[str]], folder: pathlib.Path
  ) -> Any:
    small_sets.tiny_imagenet(folder)
    path = folder / "tiny-imagenet-200" / "wnids.txt"
    path.write_text("\n".join(change(path.read_text().split())) + "\n")
    return builds.build("tiny_imagenet_c", folder)

  for kind, change in (
    ("2 of 200 classes", lambda w: w[-2:]),
    ("199 classes", lambda w: w[1:]),
    ("201 classes", lambda w: [*w, "n99999999"]),
    ("a class twice", lambda w: [w[1], *w[1:]]),
    ("no classes", lambda w: []),
    ("other classes", lambda w: [f"x{i}" for i in range(200)]),
  ):
    yield Case(
      f"wnids.txt of {kind}",
      functools.partial(tiny, change),
      ("wnids.txt|n0000000",),
    )

  def folders(wnids: list[str], folder: pathlib.Path) -> Any:
    files = {f"val/{w}/{w}_{i}.JPEG": _jpeg(i) for i, w in enumerate(wnids)}
    return builds.of_files("imagenet_c", files, folder)

  yield Case(
    "odd: 2 of ImageNet's 1000 folders",
    functools.partial(folders, ["n15075141", "n01443537"]),
    right=lambda e: sorted(int(x["label"]) for x in e.values()) == [1, 999],
  )
  yield Case(
    "a folder of no class",
    functools.partial(folders, ["n01443537", "n99999999"]),
    ("n99999999",),
  )
