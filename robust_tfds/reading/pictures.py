"""Opens picture files: the only place that calls `PIL.Image.open`.

A picture is taken as torchvision's loader takes it, `convert("RGB")` of the first
frame: grey, 1-bit, palette, CMYK, YCbCr and Lab become RGB by Pillow, transparency
and colour profiles are left aside, EXIF turns nothing. What that call would spoil:

  16-bit grey    value / 257, rounded (Pillow before 12 cuts at 255); a TIFF of n
                 bits is divided by (2^n - 1) / 255, one whose white is 0 inverted
  32-bit, float  refused: nothing in the file says which value is white
  16-bit RGB     the high byte of each value, as Pillow reads it

The format is found in the content, never in the name: ImageNet has a PNG that is
called .JPEG. Bytes after the picture's end are of no matter.
"""

import contextlib
import functools
import io
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from robust_tfds import errors
from robust_tfds.reading import limits
from robust_tfds.storage import paths

Source = bytes | str | os.PathLike

# What is opened. Pillow knows more, some of which start other programs (EPS).
_FORMATS = (
  "JPEG",
  "PNG",
  "BMP",
  "GIF",
  "TIFF",
  "WEBP",
  "PPM",
  "JPEG2000",
  "AVIF",
)
_DEEP = ("I;16", "I;16L", "I;16B", "I;16N", "I", "F")
_BITS, _PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0  # TIFF 6.0, section 8
_SMALL_PX = 32  # the least side of a published benchmark's pictures
_ORIENTATION = 274  # TIFF 6.0; EXIF takes it over
_TURNS = {  # orientation -> the method that makes it upright: EXIF 2.3, 4.6.4
  2: "FLIP_LEFT_RIGHT",
  3: "ROTATE_180",
  4: "FLIP_TOP_BOTTOM",
  5: "TRANSPOSE",
  6: "ROTATE_270",
  7: "TRANSVERSE",
  8: "ROTATE_90",
}
_ON_ITS_SIDE = 5  # and above: rows are columns
_HEIC = (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypheim", b"ftypheis")


def picture(file: Source, source: str = "") -> np.ndarray:
  """Read the pixels of a picture file: uint8 RGB `[H, W, 3]`, see the header.

  Args:
    file: its path or its bytes.
    source: what a refusal begins with; the path where it is empty.

  Raises:
    UserError: not a picture, cut off, with values whose range is unknown, or
      larger than `limits.PICTURE_PIXELS`.
  """
  with opened(file, source) as image:
    return np.asarray(rgb(image, source or _named(file)))


@contextlib.contextmanager
def opened(file: Source, source: str = "") -> Iterator[Any]:
  """Decode the first frame of a picture file: a PIL picture of its own mode.

  Args:
    file: its path or its bytes.
    source: what a refusal begins with; the path where it is empty.

  Raises:
    UserError: as `picture`, but for the range of the values.
  """
  source = source or _named(file)
  with _header(file, source) as image:
    width, height = image.size
    if not width or not height:
      raise errors.UserError(
        f"{source}: a picture of {width} x {height} px, expected at least 1 x 1."
        " Replace the file."
      )
    noun = f"pixels ({width} x {height})"
    limits.check(width * height, limits.PICTURE_PIXELS, source, noun)
    try:
      image.load()
    except Exception as e:  # decoders raise whatever broken files make them
      raise _refusal(file, source, e) from e
    yield image


def rgb(image: Any, source: str) -> Any:
  """Convert a PIL picture to mode RGB, see the header.

  Raises:
    UserError: 32-bit or float values, whose range the file does not say.
  """
  if image.mode == "RGB":
    return image
  if image.mode in _DEEP:
    return _eight_bits(image, source).convert("RGB")
  try:
    return image.convert("RGB")
  except ValueError as e:
    raise errors.UserError(
      f"{source}: pictures of mode {image.mode} are not read ({e}). Save it as"
      " 8-bit RGB."
    ) from e


def stored(data: bytes, source: str) -> bytes:
  """Return a picture file that TFDS decodes to the pixels of `picture`.

  TFDS' own decoders, TensorFlow or Pillow without a conversion, take palettes
  for grey, keep transparency and cut 16-bit grey.

  Returns:
    The file itself where it is an 8-bit grey or RGB JPEG or PNG, else a PNG of
    its pixels.

  Raises:
    UserError: as `picture`.
  """
  with _header(data, source) as image:
    if image.format in ("JPEG", "PNG") and image.mode in ("L", "RGB"):
      return data
  with opened(data, source) as image:
    out = io.BytesIO()
    rgb(image, source).save(out, "PNG", compress_level=1)
    return out.getvalue()


def is_deep(image: Any) -> bool:
  """Return whether a PIL picture has more than 8 bits a value."""
  return image.mode in _DEEP


def orientation(image: Any) -> int:
  """Return how the EXIF data ask viewers to turn a picture: 1-8; 1 is not at all.

  Pillow itself turns TIFF pictures when it decodes them.
  """
  try:
    number = image.getexif().get(_ORIENTATION, 1)
  except Exception:  # broken EXIF data turn nothing, as in viewers
    return 1
  return number if number in _TURNS else 1


def size(
  file: Source, source: str = "", *, ignore_orientation: bool = False
) -> tuple[int, int]:
  """Return height and width of a picture turned upright; read its header alone.

  Raises:
    UserError: not a picture.
  """
  number, (height, width) = turn_mark(file, source)
  on_its_side = number >= _ON_ITS_SIDE and not ignore_orientation
  return (width, height) if on_its_side else (height, width)


def turn_mark(file: Source, source: str = "") -> tuple[int, tuple[int, int]]:
  """Return the `orientation` and the stored (height, width), from the header.

  Raises:
    UserError: not a picture.
  """
  with _header(file, source or _named(file)) as image:
    return orientation(image), image.size[::-1]


def upright(image: Any, number: int) -> Any:
  """Turn a PIL picture from its `orientation`; 1 leaves it as it is."""
  if number not in _TURNS:
    return image
  from PIL import Image

  return image.transpose(Image.Transpose[_TURNS[number]])


def oddities(
  file: Source,
  source: str,
  *,
  drop_alpha: bool = False,
  ignore_orientation: bool = False,
) -> list[str]:
  """Say in what respects a picture is shown differently from how it is stored.

  The one rule of `folder:` and `corrupt_folder`. Decodes what has an alpha
  channel; of others reads the header alone.

  Args:
    file: its path or its bytes.
    source: what a refusal begins with.
    drop_alpha: transparency is left aside.
    ignore_orientation: no picture is turned.

  Returns:
    Words that follow a number of pictures; of small ones, too.

  Raises:
    UserError: not a picture, or with transparency that may not be dropped.
  """
  with _header(file, source) as image:
    number = 1 if ignore_orientation else orientation(image)
    small, several = min(image.size) < _SMALL_PX, has_more_frames(image)
    transparent = "A" in image.getbands() or "transparency" in image.info
  if transparent:
    with opened(file, source) as image:
      transparent = _is_transparent(image)
  if transparent and not drop_alpha:
    raise errors.UserError(
      f"{source}: has transparency; use --drop_alpha to ignore it"
      " (--config.data.drop_alpha, drop_alpha=True of evaluate)."
    )
  odd = {
    "pictures turned upright as their EXIF data ask": number != 1,
    "pictures whose transparency is dropped": transparent,
    "pictures have more frames, of which the first was taken": several,
    f"pictures have a side below {_SMALL_PX} px": small,
  }
  return [words for words, holds in odd.items() if holds]


def _is_transparent(image: Any) -> bool:
  """Return whether any pixel of a picture with an alpha channel is transparent."""
  if is_deep(image):
    return True
  return bool(np.asarray(image.convert("RGBA"))[..., 3].min() < 255)


def has_more_frames(image: Any) -> bool:
  """Return whether frames or pages follow the first; move on to the second.

  The previews that cameras append to a JPEG (MPO) are none.
  """
  if image.format == "MPO":
    return False
  try:
    image.seek(1)
  except Exception:  # EOFError where there is none, any where it is broken
    return False
  return True


@contextlib.contextmanager
def _header(file: Source, source: str) -> Iterator[Any]:
  """Open a picture and read its header alone."""
  from PIL import Image

  _allow_as_many_pixels()
  try:
    data = io.BytesIO(file) if isinstance(file, bytes) else paths.opened(file)
  except (OSError, ValueError) as e:  # ValueError: a NUL in the name
    reason = e.strerror if isinstance(e, OSError) else e
    raise errors.UserError(f"{source}: cannot be opened: {reason}.") from e
  with data:
    try:
      image = Image.open(data, formats=_formats())
    except Exception as e:  # as in `opened`
      raise _refusal(file, source, e) from e
    with image:
      yield image


@functools.cache
def _formats() -> list[str]:
  """Return the `_FORMATS` that this Pillow was built with."""
  from PIL import Image

  Image.init()
  return [name for name in _FORMATS if name in Image.OPEN]


def _allow_as_many_pixels() -> None:
  """Tell Pillow of a limit that the user has raised above Pillow's own."""
  if limits.VARIABLE not in os.environ:
    return
  from PIL import Image

  allowed = limits.allowed(limits.PICTURE_PIXELS)
  if Image.MAX_IMAGE_PIXELS and allowed > 2 * Image.MAX_IMAGE_PIXELS:
    Image.MAX_IMAGE_PIXELS = allowed


def _eight_bits(image: Any, source: str) -> Any:
  from PIL import Image

  values = np.asarray(image)
  # Older Pillows read 16 bits of PNG and PGM as mode I.
  sixteen = image.mode.startswith("I;16") or image.format in ("PNG", "PPM")
  if not sixteen or image.mode == "F":
    raise errors.UserError(
      f"{source}: the values are of"
      f" {'32-bit float' if image.mode == 'F' else '32-bit or signed'} numbers,"
      f" {values.min()} to {values.max()} here, and the file does not say which"
      " is white. Save it as 8-bit or 16-bit grey, or 8-bit RGB."
    )
  top = 65535
  inverted = False
  if image.format == "TIFF":
    top = (1 << image.tag_v2.get(_BITS, (16,))[0]) - 1
    inverted = image.tag_v2.get(_PHOTOMETRIC) == _WHITE_IS_ZERO
  scaled = (values.astype(np.uint32) * 255 + top // 2) // top
  levels = np.minimum(scaled, 255).astype(np.uint8)
  return Image.fromarray(255 - levels if inverted else levels)


def _refusal(file: Source, source: str, error: Exception) -> errors.UserError:
  from PIL import Image

  if isinstance(error, errors.UserError):
    return error
  if isinstance(error, Image.DecompressionBombError):
    return errors.UserError(
      f"{source}: {error} Set {limits.VARIABLE} (a factor for all limits) in the"
      " environment if the file is right."
    )
  if isinstance(error, MemoryError):
    return errors.UserError(
      f"{source}: there is not enough memory for this picture. Make it smaller."
    )
  size, start = _start(file)
  reason = str(error) or type(error).__name__
  if isinstance(error, Image.UnidentifiedImageError):
    reason = f"{size:,} bytes that begin with {start[:12]!r}"
    if start[4:12] in _HEIC:
      reason = "it is HEIC, which Pillow does not know; save it as JPEG or PNG"
    elif not size:
      reason = "it is empty"
  else:
    reason = f"{reason}; {size:,} bytes"
  return errors.UserError(
    f"{source} cannot be read as an image ({reason}). Replace the file, or"
    " remove it from the source."
  )


def _start(file: Source) -> tuple[int, bytes]:
  """Return a file's size in bytes, and its first bytes."""
  if isinstance(file, bytes):
    return len(file), file[:16]
  with paths.opened(file) as f:
    return paths.state(file).size, f.read(16)


def _named(file: Source) -> str:
  if isinstance(file, bytes):
    return f"A picture of {len(file):,} bytes"
  return os.fspath(file)
