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
  yield from _odd()
  yield from _folders()
  yield from _built()
  png = functools.partial(_bytes, "bad.png")
  yield from mutations.cases("bad.png", _save("PNG"), png, _like(), count=5)
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
  usual = ("--corruption=brightness", "--severity=1")
  commands.run("robust_tfds.corrupt_folder", folder, out, *usual, *flags)
  return _written(out)


def _written(out: pathlib.Path) -> dict[str, np.ndarray]:
  base = out / "brightness" / "1"
  return {
    p.relative_to(base).as_posix(): np.asarray(Image.open(p))
    for p in base.rglob("*.png")
  }


def _bytes(name: str, data: bytes, folder: pathlib.Path) -> Any:
  """Beside a good picture, which must be written whatever the other is."""
  tiny_files.put(folder, {name: data, _GOOD: _save("PNG")})
  try:
    return _corrupt(folder)
  except Refused:
    done = _written(folder.parent / "out")
    if _GOOD not in done:
      raise AssertionError("the good picture was left out too") from None
    raise


def _jpeg(data: bytes, folder: pathlib.Path) -> Any:
  """The result, and the file that it has to be of."""
  return _bytes("bad.jpg", data, folder), data


def _as_decoded(result: Any) -> bool:
  """JPEG has no checksum: a changed file is another picture, or none."""
  got, data = result
  with Image.open(io.BytesIO(data)) as picture:
    levels = np.asarray(picture.convert("RGB"))
  return _is(levels, "bad.jpg", 0, got)


def _is(levels: np.ndarray, name: str, off: int, got: Any) -> bool:
  """Whether a result is that of pixels which are `off` levels away at most."""
  from robust_tfds import corruptions

  made = got[pathlib.PurePath(name).with_suffix(".png").as_posix()]
  key = corruptions.example_key(0, "folder", "brightness", 1, name)
  want = np.asarray(
    corruptions.corrupt(levels, "brightness", 1, edition="any", key=key)
  )
  assert made.shape == want.shape, (made.shape, want.shape)
  worst = int(np.abs(made.astype(int) - want).max())
  assert worst <= off, f"{worst} levels away"
  return True


def _like(
  levels: np.ndarray | None = None, name: str = "bad.png", off: int = 0
) -> Callable[[Any], bool]:
  levels = _levels() if levels is None else levels
  return functools.partial(_is, levels, name, off)


def _bomb() -> bytes:
  """A PNG of a few bytes that says it is huge."""
  head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
  parts = []
  for chunk in (b"IHDR" + head, b"IDAT" + zlib.compress(bytes(1000)), b"IEND"):
    check = struct.pack(">I", zlib.crc32(chunk))
    parts.append(struct.pack(">I", len(chunk) - 4) + chunk + check)
  return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _broken() -> Iterator[Case]:
  jpeg = _save("JPEG")
  for name, kind, data in (
    ("bad.png", "text", b"hello"),
    ("bad.png", "a bomb of 60,000 x 60,000", _bomb()),
    ("bad.jpg", "cut at half", jpeg[: len(jpeg) // 2]),
  ):
    act = functools.partial(_bytes, name, data)
    yield Case(f"{name} is {kind}", act, (name,))


def _odd() -> Iterator[Case]:
  """Depths, modes, turns, sizes and names."""
  levels = _levels()
  picture = Image.fromarray(levels)
  grey = np.asarray(picture.convert("L").convert("RGB"))
  clear = picture.convert("RGBA")
  clear.putalpha(100)
  one = np.full((1, 1, 3), 90, np.uint8)
  wide = np.tile(levels[:1], (1, 100, 1))
  ramp = np.tile(np.linspace(0, 65535, 40).astype(np.uint16), (33, 1))
  deep = np.repeat((ramp / 257).round().astype(np.uint8)[..., None], 3, -1)
  turned = _save("PNG", exif=_exif(6))
  upright = np.asarray(picture.transpose(Image.Transpose.ROTATE_270))
  yield from case.rows(
    functools.partial(_bytes, "bad.png"),
    ("odd: grey", tiny_files.encoded(picture.convert("L")), _like(grey)),
    ("half transparent", tiny_files.encoded(clear), "bad.png", "transparen"),
    ("odd: one pixel", tiny_files.encoded(one), _like(one)),
    ("odd: 4,000 x 1", tiny_files.encoded(wide), _like(wide)),
    ("odd: a PNG of 16 bits", tiny_files.encoded(ramp), _like(deep, off=1)),
    ("odd: turned by EXIF", turned, _like(upright)),
    ("odd: EXIF orientation 77", _save("PNG", exif=_exif(77)), _like()),
  )
  floats = tiny_files.encoded((ramp / 65).astype(np.float32), "TIFF")
  pages = {"save_all": True, "append_images": [picture]}
  yield from case.rows(
    functools.partial(_bytes, "bad.tif"),
    ("bad.tif of floats", floats, _like(deep, "bad.tif", 1)),
    (
      "a TIFF of two pages",
      tiny_files.encoded(picture, "TIFF", **pages),
      _like(name="bad.tif"),
    ),
    names=("bad.tif",),
  )
  for name in ("\u56fe \u00e9.png", "a b;c.png", "=1+1.png", "-rf.png",
               "a/b/c.png", "bad.jpg"):  # fmt: skip
    act = functools.partial(_bytes, name, _save("PNG"))
    yield Case(f"odd: a PNG called {name}", act, right=_like(name=name))


def _exif(turn: int) -> Image.Exif:
  exif = Image.Exif()
  exif[0x0112] = turn
  return exif


def _folders() -> Iterator[Case]:
  def act(change: Any, folder: pathlib.Path, *flags: str) -> Any:
    (folder / _GOOD).write_bytes(_save("PNG"))
    change(folder)
    return _corrupt(folder, *flags)

  def twins(folder):
    (folder / "good.jpg").write_bytes(_save("JPEG"))

  def loop(folder):
    (folder / "loop").symlink_to(folder, target_is_directory=True)

  def only_good(got):
    return list(got) == [_GOOD]

  yield from case.rows(
    act,
    ("an empty folder", lambda f: (f / _GOOD).unlink(), "/in"),
    ("a broken link", lambda f: (f / "gone.png").symlink_to("no"), "gone.png"),
    ("odd: a folder that links to itself", loop, "loop", only_good),
    ("odd: another file", lambda f: (f / "notes.txt").touch(), only_good),
    # Their whole names are kept; that of good.jpg does not end in .png.
    ("odd: two pictures of one stem", twins, only_good),
    ("OUT is a file", lambda f: (f.parent / "out").touch(), "/out"),
  )
  yield from case.rows(
    lambda flag, folder: act(lambda f: None, folder, flag),
    *(
      (flag, flag, word)
      for flag, word in (
        ("--corruption=fogg", "fog"),
        ("--severity=0", "severity"),
        ("--severity=1,6", "severity"),
        ("--severity=", "severit"),
        ("--workers=0", "workers"),
        ("--format=gif", "format"),
        ("--seed=x", "seed"),
        ("--frost_dir=/nowhere", "/nowhere"),
        ("--manifest=/nowhere/todo.csv", "/nowhere"),
      )
    ),
    kinds="flag {}",
  )


def _built() -> Iterator[Case]:
  """The same files as pictures of ImageNet."""
  name = "ILSVRC2012_val_00000001.JPEG"
  where = f"val/n01440764/{name}"

  def build(data: bytes, folder: pathlib.Path) -> Any:
    other = _save("JPEG", np.zeros((300, 260, 3), np.uint8))
    files = {where: data, where.replace("1.JPEG", "2.JPEG"): other}
    return builds.of_files("imagenet_c", files, folder)

  def right(examples):
    return (
      len(examples) == 2 and examples[name]["image"].shape[:2] == (224,) * 2
    )

  large = np.kron(_levels(), np.ones((8, 8, 1), np.uint8))
  jpeg = _save("JPEG", large)
  yield from case.rows(
    build,
    ("a builder's picture is cut at half", jpeg[: len(jpeg) // 2], name),
    ("odd: a builder's picture is a PNG", _save("PNG", large), right),
    ("odd: a builder's picture is grey", _save("JPEG", large[..., 0]), right),
    ("odd: a builder's picture is small", _save("JPEG"), right),
  )
