"""Tars and zips as published, `robust_tfds.build`.

What no archive may hold is in tests/reading/archives_test.py, what the files of
one may not in tests/building/sources.
"""

import functools
import gzip
import io
import pathlib
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

from PIL import Image

from tests import tiny_files
from tests.building.sources import small_sets
from tests.faults import builds, case, mutations
from tests.faults.case import Case

_VAL = "ILSVRC2012_img_val.tar"
_NAMES = [f"ILSVRC2012_val_{i:08d}.JPEG" for i in (1, 2, 3)]
_LABELS = [65, 970, 230]  # of the first three validation images
_ZIP = "tiny-imagenet-200.zip"
_BIN = "cifar-10-batches-bin/test_batch.bin"
Member = tuple[tarfile.TarInfo, bytes]


def cases() -> Iterator[Case]:
  """ImageNet's tar, a zip, CIFAR's, folders."""
  yield from _val()
  yield from _zips()
  yield from _cifar()
  yield from _class_folders()
  data = _tar(_val_members())
  yield from mutations.cases(
    f"{_VAL}|ILSVRC2012_val", data, _imagenet, _three, count=8
  )


def _jpeg(seed: int, side: int = 256) -> bytes:
  small = Image.fromarray(tiny_files.noise(8, 8, seed))
  return tiny_files.encoded(small.resize((side, side)), "JPEG")


def _member(
  name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE
) -> Member:
  info = tarfile.TarInfo(name)
  info.size, info.type = len(data), kind
  return info, data


def _tar(members: list[Member], form: int = tarfile.GNU_FORMAT) -> bytes:
  out = io.BytesIO()
  with tarfile.open(fileobj=out, mode="w", format=form) as tar:
    for info, data in members:
      tar.addfile(info, io.BytesIO(data))
  return out.getvalue()


def _val_members() -> list[Member]:
  return [_member(name, _jpeg(i)) for i, name in enumerate(_NAMES)]


def _imagenet(data: bytes, folder: pathlib.Path) -> Any:
  return builds.of_files("imagenet_c", {_VAL: data}, folder)


def _three(found: Any) -> bool:
  labels = {k: int(e["label"]) for k, e in found.items()}
  assert labels == dict(zip(_NAMES, _LABELS)), labels
  return all(e["image"].shape == (224, 224, 3) for e in found.values())


def _val() -> Iterator[Case]:
  members = _val_members()
  whole = _tar(members)
  yield from case.rows(
    _imagenet,
    ("empty", b"", _VAL),
    ("an end mark alone", _tar([]), _VAL),
    ("cut in a member", whole[: len(whole) // 2], _VAL),
    ("of other pictures", _tar([_member("a.JPEG", _jpeg(0))]), _VAL + "|a.JPEG"),
    ("of two folders' names", _tar([*members, _member("b/" + _NAMES[0], _jpeg(9))]),
     _NAMES[0]),
    ("with an empty picture", _tar([*members[:2], _member(_NAMES[2])]), _NAMES[2]),
    ("with a number beyond 50,000",
     _tar([*members, _member("ILSVRC2012_val_00050001.JPEG", _jpeg(1))]), "00050001"),
    kinds=f"{_VAL} is {{}}",
  )  # fmt: skip
  yield from case.rows(
    _imagenet,
    ("in a folder", _tar([_member("val/" + m[0].name, m[1]) for m in members])),
    ("of the pax format", _tar(members, tarfile.PAX_FORMAT)),
    ("with its folder", _tar([_member("./", kind=tarfile.DIRTYPE), *members])),
    ("of long names", _tar(
      [_member("a" * 150 + "/" + m[0].name, m[1]) for m in members])),
    kinds=f"odd: {_VAL} {{}}",
    right=_three,
  )  # fmt: skip


def _zips() -> Iterator[Case]:
  def act(change: Callable[[bytes], bytes], folder: pathlib.Path) -> Any:
    made = small_sets.tiny_imagenet(folder.parent / "made")
    files = {
      p.relative_to(made).as_posix(): p.read_bytes()
      for p in sorted(made.rglob("*"))
      if p.is_file()
    }
    data = change(tiny_files.zipped(files))
    return builds.of_files("tiny_imagenet_c", {_ZIP: data}, folder)

  broken = b"\xff\xd8\x00"
  two = builds.count(2)
  yield from case.rows(
    act,
    ("cut", lambda d: d[: len(d) // 2], f"{_ZIP}|val_"),
    ("of changed bytes", lambda d: d.replace(b"\xff\xd8\xff", broken, 1),
     f"{_ZIP}|val_"),
    ("whole", lambda d: d, two),
    ("after a prefix", lambda d: b"MZ" + d, _ZIP, two),
    kinds=f"{_ZIP} is {{}}",
  )  # fmt: skip


def _cifar() -> Iterator[Case]:
  def act(change: Callable[[bytes], bytes], folder: pathlib.Path) -> Any:
    small_sets.cifar10(folder)
    path = folder / _BIN
    path.write_bytes(change(path.read_bytes()))
    return builds.build("cifar10_c", folder)

  yield from case.rows(
    act,
    ("cut in a record", lambda d: d[:-5]),
    ("of label 10", lambda d: b"\x0a" + d[1:]),
    ("one byte too long", lambda d: d + b"\0"),
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
    (f"{archive} is cut", lambda d: d[:-3000], archive),
    (f"odd: {archive} whole", lambda d: d, builds.count(3)),
  )


def _class_folders() -> Iterator[Case]:
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
