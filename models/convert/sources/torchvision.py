"""`torchvision:ResNet50_Weights.IMAGENET1K_V2`: torchvision's own file.

Its address and the first 8 digits of its sha256 stand in the table of known
checkpoints; torchvision itself is not asked and need not be installed.
"""

from robust_tfds import errors
from robust_tfds.models.convert import known
from robust_tfds.models.convert.sources import cache, download

_START = "torchvision:"


def parse(text: str) -> known.Known:
  """The table's row.

  Raises:
    UserError: no such weights, with the nearest ones.
  """
  row = known.named(text)
  if row is None:
    names = [k.name for k in known.every() if k.name.startswith(_START)]
    ending = text.rpartition(".")[2]
    listed = [name for name in names if name.endswith(ending)]
    raise errors.unknown("torchvision weights", text, listed or names)
  return row


def fetch(text: str) -> str:
  """The file, on this machine.

  Raises:
    UserError: as `parse`; or it cannot be had, or is another one.
  """
  row = parse(text)
  return str(
    cache.get(
      cache.place("torchvision", row.file),
      row.where,
      row.sha256,
      lambda part: download.file(row.where, part),
    )
  )
