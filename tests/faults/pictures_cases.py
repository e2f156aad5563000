"""Pictures, at `robust_tfds.corrupt_folder` and at a builder.

What no picture may be is in tests/reading/pictures_test.py.
"""

import functools
import io
import pathlib
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from PIL import Image

from tests import tiny_files
from tests.faults import builds, case, commands, mutations
from tests.faults.case import Case, Refused

_SIDE = (40, 33)  # width, height
_GOOD = "good.png"


def cases() -> Iterator[Case]:
  """Broken files, depths, modes, turns, bombs, folders; and a builder's."""
  yield from _broken()
  yield from _deep()
  yield from _modes()
  yield from _folders()
  yield from _built()
  yield from mutations.cases("bad.png", _save("PNG"), _png, _whole, count=5)
  yield from mutations.cases(
    "bad.jpg", _save("JPEG"), _jpeg, _as_decoded, count=5
  )


def _levels() -> np.ndarray:
  """A picture of all levels: a ramp, and a corner that tells every turn."""
  width, height = _SIDE
  out = np.zeros((height, width, 3), np.uint8)
  out[..., 0] = np.linspace(0, 255, width)
  out[..., 1] = np.linspace(0, 255, height)[:, None]
  out[:8, :8] = (250, 10, 130)
  return out


def _save(form: str, levels: np.ndarray | None = None, **options: Any) -> bytes:
  levels = _levels() if levels is None else levels
  return tiny_files.encoded(levels, form, **options)


def _corrupt(folder: pathlib.Path, *flags: str) -> dict[str, np.ndarray]:
  """What `brightness` of severity 1 makes of a folder, by file name."""
  out = folder.parent / "out"
  commands.run(
    "robust_tfds.corrupt_folder",
    folder,
    out,
    "--corruption=brightness",
    "--severity=1",
    *flags,
  )
  return _written(out)


def _written(out: pathlib.Path) -> dict[str, np.ndarray]:
  base = out / "brightness" / "1"
  return {
    p.relative_to(base).as_posix(): np.asarray(Image.open(p))
    for p in base.rglob("*.png")
  }


def _bytes(name: str, data: bytes, folder: pathlib.Path) -> Any:
  """Beside a good picture, which must be written whatever the other is."""
  (folder / name).parent.mkdir(parents=True, exist_ok=True)
  (folder / name).write_bytes(data)
  (folder / _GOOD).write_bytes(_save("PNG"))
  try:
    return _corrupt(folder)
  except Refused:
    done = _written(folder.parent / "out")
    if _GOOD not in done:
      raise AssertionError("the good picture was left out too") from None
    raise


def _png(data: bytes, folder: pathlib.Path) -> Any:
  return _bytes("bad.png", data, folder)


def _jpeg(data: bytes, folder: pathlib.Path) -> Any:
  """The result, and the file that it has to be of."""
  return _bytes("bad.jpg", data, folder), data


def _as_decoded(result: Any) -> bool:
  """JPEG has no checksum: a changed file is another picture, or none."""
  got, data = result
  with Image.open(io.BytesIO(data)) as picture:
    levels = np.asarray(picture.convert("RGB"))
  return _is(levels, "bad.jpg", 0, got)


def _brighter(levels: np.ndarray, name: str) -> np.ndarray:
  from robust_tfds import corruptions

  key = corruptions.example_key(0, "folder", "brightness", 1, name)
  return np.asarray(
    corruptions.corrupt(levels, "brightness", 1, edition="any", key=key)
  )


def _is(levels: np.ndarray, name: str, off: int, got: Any) -> bool:
  """Whether a result is that of pixels which are `off` levels away at most."""
  made = got[pathlib.PurePath(name).with_suffix(".png").as_posix()]
  want = _brighter(levels, name)
  assert made.shape == want.shape, (made.shape, want.shape)
  worst = int(np.abs(made.astype(int) - want).max())
  assert worst <= off, f"{worst} levels away"
  return True


def _like(
  levels: np.ndarray, name: str = "bad.png", off: int = 0
) -> Callable[[Any], bool]:
  return functools.partial(_is, levels, name, off)


def _whole(got: Any) -> bool:
  return _is(_levels(), "bad.png", 0, got)


def _chunk(kind: bytes, data: bytes) -> bytes:
  check = zlib.crc32(kind + data)
  return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def _bomb(width: int, height: int) -> bytes:
  """A PNG of a few bytes that says it is huge."""
  head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
  body = zlib.compress(bytes(1000))
  parts = (_chunk(b"IHDR", head), _chunk(b"IDAT", body), _chunk(b"IEND", b""))
  return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _broken() -> Iterator[Case]:
  jpeg = _save("JPEG")
  for name, kind, data in (
    ("bad.png", "text", b"hello"),
    ("bad.png", "a bomb of 60,000 x 60,000", _bomb(60_000, 60_000)),
    ("bad.png", "an SVG", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
    ("bad.jpg", "cut at half", jpeg[: len(jpeg) // 2]),
  ):  # fmt: skip
    yield Case(
      f"{name} is {kind}", functools.partial(_bytes, name, data), (name,)
    )


def _mode(mode: str, array: np.ndarray, form: str = "TIFF") -> bytes:
  picture = Image.fromarray(array)
  assert picture.mode == mode, (picture.mode, mode)
  return tiny_files.encoded(picture, form)


def _deep() -> Iterator[Case]:
  """More than 8 bits a value: scaled by the file's rule, or refused."""
  ramp = np.tile(np.linspace(0, 65535, 40).astype(np.uint16), (33, 1))
  grey = np.repeat((ramp / 257).round().astype(np.uint8)[..., None], 3, -1)
  yield Case(
    "odd: a PNG of 16 bits",
    functools.partial(_png, _mode("I;16", ramp, "PNG")),
    right=_like(grey, "bad.png", 1),
  )
  floats = _mode("F", (ramp / 65).astype(np.float32))
  yield Case(
    "bad.tif of floats",
    functools.partial(_bytes, "bad.tif", floats),
    ("bad.tif",),
    _like(grey, "bad.tif", 1),
  )


def _modes() -> Iterator[Case]:
  levels = _levels()
  picture = Image.fromarray(levels)
  grey = np.asarray(picture.convert("L").convert("RGB"))
  clear = picture.convert("RGBA")
  clear.putalpha(100)
  one = np.full((1, 1, 3), 90, np.uint8)
  wide = np.tile(levels[:1], (1, 100, 1))
  yield from case.rows(
    lambda image, folder: _png(tiny_files.encoded(image), folder),
    ("odd: a picture grey", picture.convert("L"), _like(grey)),
    ("half transparent", clear, "bad.png", "transparen"),
    ("odd: one pixel", one, _like(one)),
    ("odd: 4,000 x 1", wide, _like(wide)),
  )  # fmt: skip
  yield from case.rows(
    lambda turn, folder: _png(_save("PNG", exif=_exif(turn)), folder),
    *(
      (turn, turn, _like(np.asarray(_turned(picture, turn)))) for turn in (3, 6)
    ),
    (77, 77, _whole),
    kinds="odd: EXIF orientation {}",
  )
  for name in (
    "\u56fe \u00e9.png",
    "a b;c.png",
    "=1+1.png",
    "-rf.png",
    "a/b/c.png",
  ):
    yield Case(
      f"odd: called {name}",
      functools.partial(_bytes, name, _save("PNG")),
      right=_like(levels, name),
    )
  yield Case(
    "odd: a PNG called jpg",
    functools.partial(_bytes, "bad.jpg", _save("PNG")),
    right=_like(levels, "bad.jpg"),
  )
  many = tiny_files.encoded(
    picture, "TIFF", save_all=True, append_images=[picture]
  )
  yield Case(
    "a TIFF of two pages",
    functools.partial(_bytes, "bad.tif", many),
    ("bad.tif",),
    right=_like(levels, "bad.tif"),
  )


def _turned(picture: Image.Image, turn: int) -> Image.Image:
  from PIL import ImageOps

  data = tiny_files.encoded(picture, exif=_exif(turn))
  return ImageOps.exif_transpose(Image.open(io.BytesIO(data)))


def _exif(turn: int) -> Image.Exif:
  exif = Image.Exif()
  exif[0x0112] = turn
  return exif


def _folders() -> Iterator[Case]:
  def run(make: Callable[[pathlib.Path], Any], *flags: str):
    def act(folder: pathlib.Path) -> Any:
      make(folder)
      return _corrupt(folder, *flags)

    return act

  def good(folder):
    (folder / _GOOD).write_bytes(_save("PNG"))

  def link(folder):
    good(folder)
    (folder / "gone.png").symlink_to("nowhere.png")

  def loop(folder):
    good(folder)
    (folder / "loop").symlink_to(folder, target_is_directory=True)

  def other(folder):
    good(folder)
    (folder / "notes.txt").write_text("x")

  def twins(folder):
    good(folder)
    (folder / "good.jpg").write_bytes(_save("JPEG"))

  def closed(folder):
    good(folder)
    (folder.parent / "out").write_text("a file")

  def only_good(got):
    return list(got) == [_GOOD]

  yield Case("an empty folder", run(lambda f: None), ("/in",))
  yield Case("a broken link", run(link), ("gone.png",))
  yield Case(
    "odd: a folder that links to itself", run(loop), ("loop",), only_good
  )
  yield Case("odd: another file", run(other), right=only_good)
  yield Case("two pictures of one stem", run(twins), ("good.",))
  yield Case(
    "odd: two pictures of one stem, --keep_names",
    run(twins, "--keep_names"),
    right=only_good,  # of those that end in .png
  )
  yield Case("OUT is a file", run(closed), ("/out",))
  for flag, name in (
    ("--corruption=fogg", "fog"),
    ("--severity=0", "severity"),
    ("--severity=1.5", "severity"),
    ("--severity=1,6", "severity"),
    ("--severity=", "severit"),
    ("--workers=0", "workers"),
    ("--workers=-3", "workers"),
    ("--format=gif", "format"),
    ("--seed=x", "seed"),
    ("--frost_dir=/nowhere", "/nowhere"),
    ("--manifest=/nowhere/todo.csv", "/nowhere"),
    ("--manifest=/dev/null", "something is there"),
  ):
    yield Case(f"flag {flag}", run(good, flag), (name,))


def _built() -> Iterator[Case]:
  """The same files as pictures of ImageNet."""
  where = "val/n01440764/ILSVRC2012_val_00000001.JPEG"
  name = "ILSVRC2012_val_00000001.JPEG"

  def build(data: bytes, folder: pathlib.Path) -> Any:
    other = _save("JPEG", np.zeros((300, 260, 3), np.uint8))
    files = {where: data, where.replace("1.JPEG", "2.JPEG"): other}
    return builds.of_files("imagenet_c", files, folder)

  large = np.kron(_levels(), np.ones((8, 8, 1), np.uint8))
  jpeg = _save("JPEG", large)
  yield from case.rows(
    build,
    ("cut at half", jpeg[: len(jpeg) // 2]),
    ("a bomb of 60,000 x 60,000", _bomb(60_000, 60_000)),
    kinds="a builder's picture is {}",
    names=(name,),
  )
  yield from case.rows(
    build,
    ("a PNG", _save("PNG", large)),
    ("grey", _save("JPEG", large[..., 0])),
    ("small", _save("JPEG")),
    kinds="odd: a builder's picture is {}",
    right=lambda e: len(e) == 2 and e[name]["image"].shape == (224, 224, 3),
  )
