"""What the sources of examples are made of: files, pictures, facts.

A source is a dataclass that says where an example comes from: values, and parts
that are read when the example is made. All are picklable. `facts` and `files` say
what an example depends on, for the note beside a set (`source_notes.py`).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from robust_tfds.building import geometry
from robust_tfds.reading import archives
from robust_tfds.storage import paths


class Part:
  """A dataclass whose fields are values, parts, or lists and mappings of them."""

  def facts(self) -> Iterator[Any]:
    """What it says, in order: values, arrays, and files for their sizes."""
    for value in _fields(self):
      yield from _facts(value)

  def files(self) -> Iterator[File]:
    """The files that it reads."""
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


@dataclasses.dataclass(frozen=True)
class File(Part):
  """One file, on its own or inside an archive.

  Attributes:
    name: its path below the official folder, with slashes; what it is called
      where names are ids; empty where a list names it.
    path: the file, or the archive that holds it.
    member: of the archive; None for a file of its own.
    label: class id of what it shows, where the layout says it.
  """

  name: str
  path: str
  member: archives.Member | None = None
  label: int | None = None

  @property
  def where(self) -> str:
    """What a message about the file begins with."""
    return self.member.where if self.member else self.path

  def data(self) -> bytes:
    """The file's bytes.

    Raises:
      UserError: the archive is broken or cut off.
    """
    if self.member is not None:
      return archives.data(self.member)
    return paths.read_bytes(self.path)

  def facts(self) -> Iterator[Any]:
    """Its name, label and size, wherever it lies."""
    yield from _facts([self.name or None, self.label])
    yield self

  def files(self) -> Iterator[File]:
    """Itself."""
    yield self

  def ends(self, size: int) -> bytes:
    """Its first and last bytes, so many of each; empty of a zip's member.

    A file that is gone has none either.
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
    file: of the picture.
    rule: how it is resized and cropped, see `geometry.py`; empty for not at all.
    convert_last: crop before the conversion to RGB.
    border_px: cut off its sides first.
    upright: turned as its EXIF data ask.
  """

  file: File
  rule: str = ""
  convert_last: bool = False
  border_px: int = 0
  upright: bool = False

  def read(self) -> np.ndarray:
    """uint8 `[H, W, 3]`.

    Raises:
      UserError: broken, or too small for the rule; begins with the file.
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
    """Those of the file, and what else was asked for."""
    yield from self.file.facts()
    yield from _facts(self.rule or None)
    for name in ("convert_last", "border_px", "upright"):
      if value := getattr(self, name):
        yield from (name, value)


@dataclasses.dataclass(frozen=True)
class Pixels(Part):
  """A picture that is at hand: uint8 `[H, W, 3]`."""

  array: np.ndarray

  def read(self) -> np.ndarray:
    """The array."""
    return self.array
