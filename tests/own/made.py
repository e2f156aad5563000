"""Pictures and videos of odd sizes in class folders, and a model that sees them."""

import contextlib
import hashlib
import io
import pathlib
import struct
from typing import Any

import numpy as np

from robust_tfds import eval as eval_lib
from tests import tiny_files

CLASSES = ("Füchse", "cat", "dog")
_SIZES = ((40, 61), (97, 33), (32, 32), (120, 45))
# Name, frames, (height, width), frames per second.
_VIDEOS = (
  ("run/s1_a.mp4", 20, (34, 50), 25),
  ("run/s1_b.AVI", 3, (33, 41), 30),
  ("run/deep/s2_turned.mov", 12, (48, 32), 60),
  ("walk/s2_d.mkv", 30, (64, 36), 29.97),
  ("walk/s3_e.webm", 1, (32, 32), 24),
)


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


def videos(root: pathlib.Path) -> pathlib.Path:
  """Of two classes: every container, shorter than a clip, turned, no two alike."""
  for i, (name, count, (height, width), fps) in enumerate(_VIDEOS):
    still = np.asarray(tiny_files.smooth(width, height, i))
    frames = np.stack([np.roll(still, 2 * t, 1) for t in range(count)])
    container = name.rpartition(".")[2].lower()
    data = tiny_files.movie(frames, container, fps)
    tiny_files.put(root, {name: _turned(data) if "turned" in name else data})
  return root


def _turned(data: bytes) -> bytes:
  """An MP4 whose track header asks players for a quarter's turn."""
  start = data.index(b"tkhd") + 4 + 40  # ISO/IEC 14496-12 8.3.2
  one = 1 << 16
  matrix = struct.pack(">9i", 0, one, 0, -one, 0, 0, 0, 0, 1 << 30)
  return data[:start] + matrix + data[start + len(matrix) :]


class Seen:
  """A model on the host whose answers tell one pixel from another."""

  __name__ = "seen"

  def __init__(self, classes: int = len(CLASSES)):
    """Has seen nothing."""
    self.pictures: set[str] = set()
    self.shapes: set[tuple[int, ...]] = set()
    self._classes = classes

  def __call__(self, images: np.ndarray) -> np.ndarray:
    """uint8 `[B, ..., H, W, 3]` -> `[B, classes]`."""
    self.shapes.add(images.shape[1:])
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
