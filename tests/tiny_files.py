"""Tiny inputs of tests: pictures, arrays and archives as bytes; folders of them."""

import io
import pathlib
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from PIL import Image

_CODECS = {"avi": ("ffv1", "bgr0"), "webm": ("libvpx-vp9", "yuv420p")}


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
  """Levels without structure: uint8 `[H, W, 3]`."""
  rng = np.random.default_rng(seed)
  return rng.integers(0, 256, (height, width, 3), np.uint8)


def smooth(width: int, height: int, seed: int = 0) -> Image.Image:
  """A picture of a few coarse spots, which JPEG keeps nearly as it is."""
  spots = Image.fromarray(noise(9, 12, seed))
  return spots.resize((width, height), Image.Resampling.BICUBIC)


def encoded(
  picture: np.ndarray | Image.Image, form: str = "PNG", **options: Any
) -> bytes:
  """A picture's file."""
  if isinstance(picture, np.ndarray):
    picture = Image.fromarray(picture)
  out = io.BytesIO()
  picture.save(out, form, **options)
  return out.getvalue()


def movie(frames: np.ndarray, container: str = "mp4", fps: float = 25) -> bytes:
  """Frames `[T, H, W, 3]` as a video's file; in AVI as they are."""
  from robust_tfds import movies

  codec, pixel_format = _CODECS.get(container, ("libx264", "yuv420p"))
  return movies.encode(
    frames,
    codec=codec,
    options={"g": "4"} if codec == "libx264" else {},
    pixel_format=pixel_format,
    container={"mkv": "matroska"}.get(container, container),
    fps=fps,
  )


def npy(array: np.ndarray, **options: Any) -> bytes:
  """An array's file."""
  out = io.BytesIO()
  np.save(out, array, **options)
  return out.getvalue()


def npz(arrays: Mapping[str, np.ndarray]) -> bytes:
  """A file of several arrays."""
  out = io.BytesIO()
  np.savez(out, **arrays)
  return out.getvalue()


def entry(
  name: str, kind: bytes = tarfile.SYMTYPE, link: str = ""
) -> tarfile.TarInfo:
  """An entry of a tar that has no data: a link, a device, a folder."""
  made = tarfile.TarInfo(name)
  made.type, made.linkname = kind, link
  return made


def tar(
  files: Mapping[str, bytes] | Iterable[tuple[str, bytes]],
  *entries: tarfile.TarInfo,
  mode: str = "w",
  **options: Any,
) -> bytes:
  """A tar of files, and of entries without data after them."""
  out = io.BytesIO()
  listed = files.items() if isinstance(files, Mapping) else files
  with tarfile.open(fileobj=out, mode=mode, **options) as archive:
    for name, data in listed:
      member = tarfile.TarInfo(name)
      member.size = len(data)
      archive.addfile(member, io.BytesIO(data))
    for member in entries:
      archive.addfile(member)
  return out.getvalue()


def zipped(
  files: Mapping[str, bytes] | Iterable[tuple[str, bytes]], **options: Any
) -> bytes:
  """A zip of files."""
  out = io.BytesIO()
  listed = files.items() if isinstance(files, Mapping) else files
  with zipfile.ZipFile(out, "w", **options) as archive:
    for name, data in listed:
      archive.writestr(name, data)
  return out.getvalue()


def put(root: pathlib.Path, files: Mapping[str, bytes | str]) -> None:
  """Writes files below a folder."""
  for name, data in files.items():
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
