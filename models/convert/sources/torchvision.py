"""`torchvision:ResNet50_Weights.IMAGENET1K_V2`: torchvision's own file.

Its address and the first 8 digits of its sha256 are in the table of known
checkpoints; torchvision itself need not be installed.
"""

from models.convert import known
from models.convert.sources import download
from robust_tfds import errors

_START = "torchvision:"


def parse(text: str) -> known.Known:
  """Return the row of the table for a name.

  Raises:
    UserError: the weights are unknown; the message suggests the nearest ones.
  """
  row = known.named(text)
  if row is None:
    names = [k.name for k in known.every() if k.name.startswith(_START)]
    ending = text.rpartition(".")[2]
    listed = [name for name in names if name.endswith(ending)]
    raise errors.unknown_error("torchvision weights", text, listed or names)
  return row


def fetch(text: str) -> str:
  """Fetch the file to this machine.

  Raises:
    UserError: as for `parse`; or it cannot be fetched, or its sha256 differs.
  """
  row = parse(text)
  return str(download.file(row.where, row.sha256, "torchvision", row.file))
