"""The corruption library: pure functions of (pixels, name, severity, key).

Images are uint8 arrays in 0..255, RGB, HWC (or HW); results are uint8 HWC.
Corruptions compute in float32 or integers and truncate toward zero, as the
authors' code does. Nothing here reads a global random state.

`sequence` is the function; the folder of that name is imported below before the
function takes it: `from robust_tfds.corruptions.sequence import ...` for the rest.

  >>> import numpy as np
  >>> from robust_tfds import corruptions
  >>> image = np.full((224, 224, 3), 128, np.uint8)
  >>> key = corruptions.example_key(0, "imagenet_c", "gaussian_noise", 3, "a.jpg")
  >>> corruptions.corrupt(image, "gaussian_noise", 3, key=key).shape
  (224, 224, 3)
"""

import os

import robust_tfds.corruptions.sequence  # noqa: F401 before its function
from robust_tfds import conditions, errors, own_corruptions
from robust_tfds.corruptions import plugins
from robust_tfds.corruptions.image import corrupt, corrupt_batch
from robust_tfds.corruptions.seeding import example_key
from robust_tfds.corruptions.sequence import (
  sequence,
  sequence_batch,
  sequence_names,
)
from robust_tfds.corruptions.video import (
  frame_indices,
  perturb_video,
  video_names,
)


@errors.without_traceback
def register(source: str | os.PathLike[str]) -> str:
  """Register a corruption of your own in this process, as set `own`.

  Args:
    source: path of its file, or a module's name; its contents are described in
      `robust_tfds/own_corruptions.py`.

  Returns:
    Its name, which is that of the file.

  Raises:
    UserError: the file is missing, fails or is no plugin, or the name is taken.
  """
  name = own_corruptions.register(source)
  plugins.picture(name)  # refuses unknown names
  return name


def names(benchmark: str = "common") -> tuple[str, ...]:
  """Return the names of a set of corruptions in the paper's order.

  Args:
    benchmark: `common`, `extra` or `all` (both), of ImageNet-C; `c_bar` of
      ImageNet-C-bar, `c_bar_cifar` of CIFAR-10-C-bar; `own`, a user's.

  Raises:
    UserError: the set is unknown; the message suggests the nearest.
  """
  return conditions.PICTURES.names(benchmark)


__all__ = (
  "corrupt",
  "corrupt_batch",
  "example_key",
  "frame_indices",
  "names",
  "perturb_video",
  "register",
  "sequence",
  "sequence_batch",
  "sequence_names",
  "video_names",
)
