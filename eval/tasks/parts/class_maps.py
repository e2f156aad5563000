"""Class maps of pictures: as labels of batches, as texts of cells, as colours."""

import base64
import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from eval.metrics import segmentation
from eval.pipeline import blocks, inputs
from robust_tfds import errors
from robust_tfds.building import masks
from robust_tfds.reading import mask_files

SHOWN = 2  # first pictures of a set, of which reports show the answers
_MASK = "mask"


class Reader(blocks.PictureReader):
  """A reader whose batches have masks, uint8 `[B, H, W]`, in place of labels.

  Examples say their `place` among those of this host.
  """

  def rows(self, start: int, stop: int) -> Iterator[blocks.Picture]:
    """Yield rows, see `blocks.Reader`."""
    for place, row in enumerate(super().rows(start, stop), start):
      nbytes = row.nbytes + row.example[_MASK].nbytes
      yield blocks.Picture({**row.example, "place": place}, nbytes)

  def batch(self, rows: Sequence[blocks.Picture]) -> inputs.Batch:
    """Return rows as a batch; pixels outside the pictures do not count."""
    plain = [
      blocks.Picture(
        {k: v for k, v in row.example.items() if k != _MASK}, row.nbytes
      )
      for row in rows
    ]
    batch = super().batch(plain)
    shape = (len(batch.mask), *batch.image.shape[1:3])
    labels = np.full(shape, segmentation.IGNORE, np.uint8)
    for label, row in zip(labels, rows):
      mask = row.example[_MASK][..., 0]
      label[: mask.shape[0], : mask.shape[1]] = mask
    return dataclasses.replace(batch, label=labels)


def check(batch: inputs.Batch, wrong_ids: np.ndarray, classes: int) -> None:
  """Refuse answers whose ids are no classes.

  Args:
    wrong_ids: int `[B]`, an id of each row that is no class, or -1.

  Raises:
    UserError: names the picture.
  """
  wrong = np.flatnonzero(batch.mask & (wrong_ids != -1))
  if len(wrong):
    row = int(wrong[0])
    raise errors.UserError(
      f"{batch.example_id[row]!r} was answered with the class id {wrong_ids[row]},"
      f" expected 0 to {classes - 1}. Map your ids to the set's classes first, in"
      " their order."
    )


def text(ids: np.ndarray) -> str:
  """Return a class map, uint8 `[H, W]`, as the text of a PNG."""
  return base64.b64encode(masks.encode(ids)).decode("ascii")


def from_text(content: str) -> np.ndarray:
  """Return the class map of a text of `text`, uint8 `[H, W]`."""
  return mask_files.ids(base64.b64decode(content), "a kept mask")
