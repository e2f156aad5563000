"""Pictures of odd sizes in class folders, and a model that sees them."""

import contextlib
import hashlib
import io
import pathlib
from typing import Any

import numpy as np

from robust_tfds import eval as eval_lib
from tests import tiny_files

CLASSES = ("Füchse", "cat", "dog")
_SIZES = ((40, 61), (97, 33), (32, 32), (120, 45))


def folder(root: pathlib.Path, *, seed: int = 0) -> pathlib.Path:
  """Four pictures of each class, the last of them one folder deeper."""
  for label, name in enumerate(CLASSES):
    for i, (height, width) in enumerate(_SIZES):
      pixels = tiny_files.noise(height, width, seed + 10 * label + i)
      form = ("PNG", "JPEG")[i % 2]
      below = f"{name}/{'deep/' * (i == 3)}{i}.{form.lower()}"
      tiny_files.put(root, {below: tiny_files.encoded(pixels, form)})
  return root


def picture(seed: int) -> np.ndarray:
  """uint8 `[40, 61, 3]`."""
  return tiny_files.noise(40, 61, seed)


class Seen:
  """A model on the host whose answers tell one pixel from another."""

  __name__ = "seen"

  def __init__(self, classes: int = len(CLASSES)):
    """Has seen nothing."""
    self.pictures: set[str] = set()
    self._classes = classes

  def __call__(self, images: np.ndarray) -> np.ndarray:
    """uint8 `[B, H, W, 3]` -> `[B, classes]`."""
    self.pictures |= {sha256(image) for image in images}
    flat = images.reshape(len(images), -1).astype(np.float64)
    weights = np.random.default_rng(0).normal(
      size=(flat.shape[1], self._classes)
    )
    return flat @ weights / 1e3


def sha256(image: np.ndarray) -> str:
  """Of a picture's pixels."""
  return hashlib.sha256(np.ascontiguousarray(image).tobytes()).hexdigest()


def evaluate(model: Any, data: Any, **options: Any) -> tuple[Any, str]:
  """What `eval.evaluate` gives of one condition, and what it prints."""
  few = {"conditions": "gaussian_noise", "severities": 3, "size": 32}
  out = io.StringIO()
  with contextlib.redirect_stdout(out):
    result = eval_lib.evaluate(model, data, **{**few, **options})
  return result, out.getvalue()


def cells(workdir: Any) -> dict[str, bytes]:
  """Every cell's predictions, by place."""
  root = pathlib.Path(workdir)
  return {
    str(path.relative_to(root)): path.read_bytes()
    for path in sorted(root.rglob("cells/**/*.npz"))
  }
