"""Pictures and videos of odd sizes, and models that see them."""

import contextlib
import hashlib
import io
import json
import pathlib
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

import robust_tfds
from models import adapters
from models.detection import spec as spec_lib
from tests import tiny_files

CLASSES = ("Füchse", "cat", "dog")
SIZES = ((40, 61), (97, 33), (32, 32), (120, 45))
# Name, frames, (height, width), frames per second.
_VIDEOS = (
  ("run/s1_a.mp4", 20, (34, 50), 25),
  ("run/s1_b.AVI", 3, (33, 41), 30),
  ("run/deep/s2_turned.mov", 12, (48, 32), 60),
  ("walk/s2_d.mkv", 30, (64, 36), 29.97),
  ("walk/s3_e.webm", 1, (32, 32), 24),
)


def folder(
  root: pathlib.Path, *, seed: int = 0, classes: Sequence[str] = CLASSES
) -> pathlib.Path:
  """Four pictures of each class, the last of them one folder deeper."""
  for label, name in enumerate(classes):
    for i, (height, width) in enumerate(SIZES):
      pixels = tiny_files.noise(height, width, seed + 10 * label + i)
      form = ("PNG", "JPEG")[i % 2]
      below = f"{name}/{'deep/' * (i == 3)}{i}.{form.lower()}"
      tiny_files.put(root, {below: tiny_files.encoded(pixels, form)})
  return root


def greys(root: pathlib.Path, names: Sequence[str]) -> pathlib.Path:
  """Two pictures of each class, each class of a grey of its own."""
  for label, name in enumerate(names):
    for i in range(2):
      pixels = np.full((40, 40, 3), 5 + 20 * label, np.uint8)
      pixels[0, 0] = i
      tiny_files.put(
        root, {f"{name}/{i}.png": tiny_files.encoded(pixels, "PNG")}
      )
  return root


def nearest(names: Sequence[str], order: Sequence[str]) -> Any:
  """A function without errors on `greys` of `names`; its outputs in `order`."""
  greys = np.array([5 + 20 * names.index(name) for name in order], float)

  def predict(pictures: np.ndarray) -> np.ndarray:
    """uint8 `[B, H, W, 3]` -> `[B, classes]`."""
    seen = pictures[:, 8:-8, 8:-8].mean((1, 2, 3))
    return -np.abs(seen[:, None] - greys)

  return predict


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
    result = robust_tfds.evaluate(model, data, **{**few, **options})
  return result, out.getvalue()


def cells(workdir: Any) -> dict[str, bytes]:
  """Every cell's predictions, by place."""
  root = pathlib.Path(workdir)
  return {
    str(path.relative_to(root)): path.read_bytes()
    for path in sorted(root.rglob("cells/**/*.npz"))
  }


_RED, _BLUE = (220, 30, 30), (30, 30, 220)
# File -> (height, width); the last picture has no annotation.
SCENES = {"a.png": (61, 83), "sub/b.jpg": (97, 45), "c.webp": (50, 120)}


def content() -> dict[str, list[dict[str, Any]]]:
  """What a COCO file says of the scenes: the least that there must be."""
  return {
    "images": [
      {"id": i, "file_name": name, "height": size[0], "width": size[1]}
      for i, (name, size) in enumerate(SCENES.items())
    ],
    "annotations": [
      {"id": 0, "image_id": 0, "category_id": 9, "bbox": [8, 10, 20, 20]},
      {"id": 1, "image_id": 0, "category_id": 2, "bbox": [12, 30, 28, 14.5]},
      {"id": 5, "image_id": 1, "category_id": 9, "bbox": [8, 10, 20, 20]},
    ],
    "categories": [{"id": 9, "name": "red"}, {"id": 2, "name": "blue"}],
  }


def scenes(root: pathlib.Path, **change: Any) -> pathlib.Path:
  """A COCO file of three pictures below `images`, with what changes in it."""
  for i, (name, (height, width)) in enumerate(SCENES.items()):
    pixels = tiny_files.noise(height, width, i) // 4
    pixels[10:30, 8:28], pixels[30:44, 12:40] = _RED, _BLUE
    form = {"jpg": "JPEG"}.get(name[-3:], name[2:].upper())
    data = tiny_files.encoded(pixels, form)
    tiny_files.put(root, {f"images/{name}": data})
  text = json.dumps({**content(), **change})
  tiny_files.put(root, {"scenes.json": text.encode()})
  return root / "scenes.json"


# Sizes of pictures with masks of three classes: red, green, blue.
MASKED = {"a": (40, 61), "sub/b": (97, 33), "c": (40, 61)}


def masks(root: pathlib.Path) -> pathlib.Path:
  """Pictures of three colours in noise, and masks whose first row is ignored."""
  for i, (name, (height, width)) in enumerate(MASKED.items()):
    mask = _classes(height, width, i)
    pixels = 60 + tiny_files.noise(height, width, i) // 8
    pixels[np.arange(height)[:, None], np.arange(width), mask] += 120
    mask[0] = 255
    data = tiny_files.encoded(pixels, "PNG"), tiny_files.encoded(mask, "PNG")
    tiny_files.put(root / "images", {f"{name}.png": data[0]})
    tiny_files.put(root / "masks", {f"{name}.png": data[1]})
  return root


def _classes(height: int, width: int, seed: int) -> np.ndarray:
  """uint8 `[H, W]`, 0 to 2, in blocks of 8 px."""
  blocks = tiny_files.noise(-(-height // 8), -(-width // 8), seed)[..., 0] % 3
  return np.kron(blocks, np.ones((8, 8), np.uint8))[:height, :width]


def detect(picture: np.ndarray) -> dict[str, np.ndarray]:
  """A box and a mask of what is blue (class 0), and of what is red (class 1)."""
  levels = picture.astype(int)
  masks = [np.abs(levels - c).max(axis=-1) < 70 for c in (_BLUE, _RED)]
  classes = [i for i, mask in enumerate(masks) if mask.any()]
  ends = [np.nonzero(masks[i]) for i in classes]
  boxes = [(x.min(), y.min(), x.max() + 1, y.max() + 1) for y, x in ends]
  return {
    "boxes": np.array(boxes).reshape(-1, 4),
    "scores": np.array([masks[i].mean() for i in classes]),
    "classes": np.array(classes, int),
    "masks": np.array([masks[i] for i in classes]).reshape(
      -1, *levels.shape[:2]
    ),
  }


def detector() -> Any:
  """`detect`, as a command names it."""
  spec = spec_lib.DetectorSpec(num_classes=2, short_px=0)
  return adapters.get("on_host")(detect, spec, name="squares")
