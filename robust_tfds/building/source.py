"""The parts of which sources of examples are made: files, pictures, facts.

A source is a dataclass that describes where an example comes from: values, and
parts that are read when the example is made. All are picklable. `facts` and
`files` return what an example depends on, for the note of a set
(`source_notes.py`).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from robust_tfds import errors
from robust_tfds.building import geometry
from robust_tfds.reading import archives
from robust_tfds.storage import paths


class Part:
  """A dataclass whose fields are values, parts, or lists and mappings of them."""

  def facts(self) -> Iterator[Any]:
    """Yield its content in order: values, arrays, and files for their sizes."""
    for value in _fields(self):
      yield from _facts(value)

  def files(self) -> Iterator[File]:
    """Yield the files that it reads."""
    for value in _fields(self):
      if isinstance(value, Part):
        yield from value.files()


def _fields(part: Any) -> list[Any]:
  return [getattr(part, field.name) for field in dataclasses.fields(part)]


def _facts(value: Any) -> Iterator[Any]:
  if isinstance(value, Part):
    yield from value.facts()
  elif isinstance(value, Mapping):
    for key in sorted(value, key=str):
      yield from (key, *_facts(value[key]))
  elif isinstance(value, list | tuple):
    for item in value:
      yield from _facts(item)
  elif value is not None:
    yield value


def gone_error(where: str, error: OSError) -> errors.UserError:
  """Return the refusal of a file that changed after the sources were listed."""
  return errors.UserError(
    f"{where}: cannot be read: {error.strerror or error}. It was there when the"
    " sources were listed; bring it back and run the same command again."
  )


def changed_error(where: str) -> errors.UserError:
  """Return the refusal of a file whose bytes are not those that were listed."""
  return errors.UserError(
    f"{where}: it was changed after it was listed, so what is recorded of it is not"
    " what was read. Leave the files alone and run the same command again."
  )


@dataclasses.dataclass(frozen=True)
class File(Part):
  """One file, on its own or inside an archive.

  Attributes:
    name: its path below the official folder, with slashes, which is the
      example's id; empty if a list names it.
    path: the file, or the archive that holds it.
    member: the member of the archive; None for a file of its own.
    label: its class id, if the layout defines it.
  """

  name: str
  path: str
  member: archives.Member | None = None
  label: int | None = None

  @property
  def where(self) -> str:
    """The beginning of messages about the file."""
    return self.member.where if self.member else self.path

  def data(self) -> bytes:
    """Return the file's bytes.

    Raises:
      UserError: the archive is broken or truncated.
    """
    if self.member is not None:
      return archives.data(self.member)
    return paths.read_bytes(self.path)

  def facts(self) -> Iterator[Any]:
    """Yield its name, label and size, independent of its place."""
    yield from _facts([self.name or None, self.label])
    yield self

  def files(self) -> Iterator[File]:
    """Yield this file."""
    yield self

  def ends(self, size: int) -> bytes:
    """Return its first and last `size` bytes; nothing for a zip's member.

    A missing file has none either.
    """
    if self.member is not None:
      if self.member.offset is None:
        return b""
      data = self.data()
      return data[:size] + data[-size:]
    state = paths.states([self.path]).get(self.path)
    is_file = not paths.is_local(self.path) or os.path.isfile(self.path)
    if state is None or not is_file:
      return b""
    with paths.opened(self.path) as file:
      start = file.read(size)
      file.seek(max(state.size - size, 0))
      return start + file.read(size)


@dataclasses.dataclass(frozen=True)
class Picture(Part):
  """A picture in a file.

  Attributes:
    file: the picture's file.
    rule: how it is resized and cropped, see `geometry.py`; empty for not at
      all.
    convert_last: whether it is cropped before the conversion to RGB.
    border_px: width that is first cut off its sides.
    upright: whether it is turned according to its EXIF data.
  """

  file: File
  rule: str = ""
  convert_last: bool = False
  border_px: int = 0
  upright: bool = False

  def read(self) -> np.ndarray:
    """Read the picture: uint8 `[H, W, 3]`.

    Raises:
      UserError: broken, or too small for the rule; the message begins with the
        file.
    """
    return geometry.decode(
      self.file.data(),
      self.rule or "whole",
      self.file.where,
      convert_last=self.convert_last,
      border_px=self.border_px,
      upright=self.upright,
    )

  def facts(self) -> Iterator[Any]:
    """Yield the facts of the file, and the non-default options."""
    yield from self.file.facts()
    yield from _facts(self.rule or None)
    for name in ("convert_last", "border_px", "upright"):
      if value := getattr(self, name):
        yield from (name, value)


@dataclasses.dataclass(frozen=True)
class Pixels(Part):
  """A picture in memory: uint8 `[H, W, 3]`."""

  array: np.ndarray

  def read(self) -> np.ndarray:
    """Return the array."""
    return self.array
