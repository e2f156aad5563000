"""The test images of CIFAR-10 and CIFAR-100.

They are searched in this order: the official archive in the manual dir, packed
or extracted; TFDS's `cifar10` or `cifar100` if prepared; the archive
downloaded, with TFDS's checksum. All three contain the same images in the same
order.
"""

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from absl import logging
from etils import epath

from robust_tfds import errors
from robust_tfds.building import file_formats, pictures, source
from robust_tfds.building.sources import folders
from robust_tfds.reading import archives
from robust_tfds.storage import paths

SIDE_PX = 32
_PIXELS = 3 * SIDE_PX * SIDE_PX  # of a record: planes of red, green, blue


@dataclasses.dataclass(frozen=True)
class Cifar:
  """One of the two sets.

  Attributes:
    name: the set's name; the published arrays are in `<name>-C` and `<name>-P`.
    tfds: its name in TFDS.
    archive: archive of the binary version. The Python version contains pickles,
      which are never loaded here.
    batch: the file of test images in it.
    label_bytes: bytes before the pixels of a record; the last one is the class.
    classes: class names in label order.
  """

  name: str
  tfds: str
  archive: str
  batch: str
  label_bytes: int
  classes: tuple[str, ...]

  @property
  def url(self) -> str:
    """The address of the archive; its sha256 is in the datasets'
    `checksums.tsv`.
    """
    return f"https://www.cs.toronto.edu/~kriz/{self.archive}"

  @property
  def instructions(self) -> str:
    """The description of what to put into the manual dir, for errors."""
    return f"""\
{self.name}'s binary version in the manual dir: {self.archive}
({self.url}) as it is, or extracted to {self.batch}.
Without it TFDS's prepared {self.tfds} is read, else the archive is downloaded.
The published sets (config suffix `_published`), in the manual dir:
  {self.name}-C/<corruption>.npy and labels.npy, from
    {_RECORDS[self.tfds]}, unpacked;
  {self.name}-P/<perturbation>.npy, from the authors' page,
    https://github.com/hendrycks/robustness."""


_RECORDS_SUFFIX = ".bin"
_RECORDS = {
  "cifar10": "https://zenodo.org/record/2535967",
  "cifar100": "https://zenodo.org/record/3555552",
}
CIFAR10 = Cifar(
  "CIFAR-10",
  "cifar10",
  "cifar-10-binary.tar.gz",
  "cifar-10-batches-bin/test_batch.bin",
  1,
  # batches.meta.txt of the archive.
  tuple("airplane automobile bird cat deer dog frog horse ship truck".split()),
)
CIFAR100 = Cifar(
  "CIFAR-100",
  "cifar100",
  "cifar-100-binary.tar.gz",
  "cifar-100-binary/test.bin",
  2,  # the coarse label, then the fine one
  # fine_label_names.txt of the archive.
  tuple(
    """
    apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy
    bridge bus butterfly camel can castle caterpillar cattle chair chimpanzee
    clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant
    flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower
    leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom
    oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate
    poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark
    shrew skunk skyscraper snail snake spider squirrel streetcar sunflower
    sweet_pepper table tank telephone television tiger tractor train trout tulip
    turtle wardrobe whale willow_tree wolf woman worm
    """.split()
  ),
)


def example_id(row: int) -> str:
  """Return the stable id of a test image, equal to TFDS's: `test_00042`."""
  return f"test_{row:05d}"


def sources(
  cifar: Cifar, dl_manager: Any, data_dir: os.PathLike | str
) -> list[pictures.Source]:
  """Return the test images in their order; see `test_images`."""
  labels, images = test_images(cifar, dl_manager, data_dir)
  return [
    pictures.Source(example_id(i), int(label), source.Pixels(image))
    for i, (label, image) in enumerate(zip(labels, images, strict=True))
  ]


def test_images(
  cifar: Cifar, dl_manager: Any, data_dir: os.PathLike | str
) -> tuple[np.ndarray, np.ndarray]:
  """Return labels uint8 `[N]` and images uint8 `[N, 32, 32, 3]`, in test order.

  Args:
    dl_manager: TFDS's download manager, which has the manual dir.
    data_dir: a folder where TFDS's set may be prepared, besides TFDS's default.

  Raises:
    FileNotFoundError: in none of the places; the message lists them.
    UserError: a file that is truncated or not of this format.
  """
  manual = folders.manual_dir(dl_manager)
  place = _find(cifar, manual) if manual else None
  if place is None:
    prepared = _prepared(cifar, data_dir)
    if prepared:
      return prepared
    place = _downloaded(cifar, dl_manager, manual)
  if place.suffix == _RECORDS_SUFFIX:
    return _records(cifar, paths.read_bytes(place), str(place))
  return _records(
    cifar, _archived_batch(cifar, place), f"{place}: {cifar.batch}"
  )


def _records(
  cifar: Cifar, data: bytes, where: str
) -> tuple[np.ndarray, np.ndarray]:
  """Return the labels and images of a file of records."""
  size = cifar.label_bytes + _PIXELS
  if not data or len(data) % size:
    raise errors.UserError(
      f"{where}: {len(data):,} bytes, expected a multiple of {size}; it is"
      f" truncated, or not {cifar.name}'s binary version."
    )
  rows = np.frombuffer(data, np.uint8).reshape(-1, size)
  labels = rows[:, cifar.label_bytes - 1]
  wrong = np.flatnonzero(labels >= len(cifar.classes))
  if len(wrong):
    raise errors.UserError(
      f"{where}: label {labels[wrong[0]]} of image {wrong[0]} is not in"
      f" 0..{len(cifar.classes) - 1}."
    )
  planes = rows[:, cifar.label_bytes :].reshape(-1, 3, SIDE_PX, SIDE_PX)
  return labels, planes.transpose(0, 2, 3, 1)


def _find(cifar: Cifar, root: epath.Path) -> epath.Path | None:
  """Return the test batch, or the archive that holds it; None if neither
  exists.
  """
  places = (root / cifar.batch, root / cifar.archive)
  return next((place for place in places if place.exists()), None)


def _archived_batch(cifar: Cifar, archive: epath.Path) -> bytes:
  batches = archives.contents(archive, lambda name: name == cifar.batch)
  data = [content for _, content in batches]
  if not data:
    raise errors.UserError(
      f"{archive}: holds no {cifar.batch}; it is not {cifar.name}'s binary"
      " version."
    )
  return data[0]


def _prepared(
  cifar: Cifar, data_dir: os.PathLike | str
) -> tuple[np.ndarray, np.ndarray] | None:
  """Return the labels and images of TFDS's set; None if it is not prepared."""
  import tensorflow_datasets as tfds

  for root in (os.fspath(data_dir), None):  # None: TFDS's default
    builder = tfds.builder(cifar.tfds, data_dir=root)
    if builder.is_prepared():
      rows = sorted(_rows(builder), key=lambda row: row[0])
      labels = np.array([label for _, label, _ in rows], np.uint8)
      return labels, np.stack([image for _, _, image in rows])
  return None


def _rows(builder: Any) -> Iterator[tuple[bytes, int, np.ndarray]]:
  for example in file_formats.rows(builder, "test"):
    yield example["id"], int(example["label"]), example["image"]


def _downloaded(
  cifar: Cifar, dl_manager: Any, manual: epath.Path | None
) -> epath.Path:
  absent = (
    f"No {cifar.name}: {manual or 'the manual dir'} holds neither {cifar.batch}"
    f" nor {cifar.archive}, and TFDS's {cifar.tfds} is not prepared"
  )
  if not isinstance(dl_manager, folders.Look):
    # Without a network TFDS tries again for minutes before it says so.
    logging.warning("%s; downloading %s.", absent, cifar.url)
  try:
    return paths.parse(dl_manager.download(cifar.url))
  except folders.NotFetchedError:
    raise
  except Exception as e:  # TFDS raises many kinds for a missing network
    raise FileNotFoundError(
      f"{absent}; the archive could not be downloaded ({e})."
    ) from e
