"""Limits on what a file may ask for before it is refused, and how to raise them.

Every limit is a constant here, far above what the benchmarks hold. All of them
are multiplied by the environment variable ROBUST_TFDS_LIMITS (1 where it is not
set): `ROBUST_TFDS_LIMITS=4` reads files of four times the size.
"""

import math
import os

from robust_tfds import errors

VARIABLE = "ROBUST_TFDS_LIMITS"

MIB = 1 << 20
GIB = 1 << 30

TEXT_BYTES = 256 * MIB  # lists of files, class names, metadata
JSON_BYTES = 4 * GIB  # a results file of COCO with masks is below 1 GiB
XML_BYTES = 16 * MIB  # an annotation of VOC has about 1 KiB
XML_DEPTH = 64  # elements within each other; VOC has 4
ARRAY_BYTES = 64 * GIB  # of one file's arrays, and never more than the memory
CHECKPOINT_BYTES = 64 * GIB  # of a file of weights that is fetched
UNPACKED_RATIO = (
  1100  # what deflate can shrink at the most, 1032, and some room
)
PICTURE_PIXELS = 178_956_970  # Pillow's own; the largest of ImageNet has 27 M
VIDEO_BYTES = 16 * GIB  # of all frames of a video, where they are held at once
FRAME_PIXELS = 1 << 26  # of one frame of a video: 8192 x 8192


def allowed(limit: int) -> int:
  """Multiply the limit by the user's factor.

  Raises:
    UserError: the variable is not a positive number.
  """
  text = os.environ.get(VARIABLE, "1")
  try:
    factor = float(text)
  except ValueError:
    factor = math.nan
  if not 0 < factor < math.inf:
    raise errors.UserError(
      f"{VARIABLE}={text!r} in the environment: expected a positive number,"
      " which multiplies every limit of what is read, e.g. 4."
    )
  return int(limit * factor)


def check(size: int, limit: int, source: str, noun: str) -> None:
  """Refuse what is larger than its limit.

  Args:
    size: what the file asks for.
    limit: one of the constants above.
    source: what the message begins with, a path or `archive: member`.
    noun: what `size` counts, e.g. `bytes of text`.

  Raises:
    UserError: it is larger than the limit times the user's factor.
  """
  if size > allowed(limit):
    raise errors.UserError(
      f"{source}: {size:,} {noun}, the limit is {allowed(limit):,}. If the file"
      f" is right, set {VARIABLE} (a factor for all limits) in the environment."
    )


def check_arrays(size: int, source: str) -> None:
  """Refuse arrays that are too large, or that this machine cannot hold.

  Args:
    size: size of the arrays once they are unpacked, in bytes.
    source: what the message begins with.

  Raises:
    UserError: they are larger than `ARRAY_BYTES` times the user's factor, or
      than the machine's memory, which no factor raises.
  """
  check(size, ARRAY_BYTES, source, "bytes of arrays")
  memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
  if size > memory:
    raise errors.UserError(
      f"{source}: {size:,} bytes of arrays, this machine has {memory:,} bytes of"
      " memory. If the file is right, read it on a larger one."
    )
