"""A file inside an archive: its place, and the names that are allowed."""

import dataclasses
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from robust_tfds import errors
from robust_tfds.reading import limits

# Most names: none of the faults below, told at once.
_PLAIN = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*", re.ASCII).fullmatch
_DRIVE = re.compile(r"[A-Za-z]:")
# What an archive may hold though it is small, and above that how often its own
# size: pictures and videos have a ratio of 1, annotations of about 10.
_SMALL_BYTES = 64 * limits.MIB
_GROWTH = 100
# What reading a broken zip file raises.
BROKEN_ZIP = (
  zipfile.BadZipFile,
  zlib.error,
  EOFError,
  OSError,
  NotImplementedError,
  RuntimeError,
  ValueError,
)


@dataclasses.dataclass(frozen=True)
class Member:
  """One plain file of an archive.

  Attributes:
    archive: path of the archive.
    name: in the archive, parts joined by slashes, without a leading `./`.
    size: in bytes, unpacked.
    offset: position of its first byte in a plain tar; None in other archives.
    entry: its name as a zip spells it.
    changed: when the archive was, as `paths.State` says.
  """

  archive: str
  name: str
  size: int
  offset: int | None = None
  entry: str = ""
  changed: tuple[int, ...] = ()

  @property
  def where(self) -> str:
    """The beginning of a message about it."""
    return f"{self.archive}: {self.name}"


class Entry(NamedTuple):
  """An entry of an archive, except a folder.

  Attributes:
    name: plain, see `plain_name`.
    size: in bytes.
    offset: offset of its first byte in a tar; None in a zip.
    fault: why it is no plain file, in words; empty if it is one.
    raw_name: the name as the archive spells it; empty if it is not known.
  """

  name: str
  size: int
  offset: int | None = None
  fault: str = ""
  raw_name: str = ""


def chosen(
  path: str, entries: Iterable[Entry], belongs: Callable[[str], bool]
) -> Iterator[Entry]:
  """Yield the entries that are to be read.

  Args:
    path: path of the archive.
    belongs: name -> whether the entry is to be read.

  Raises:
    UserError: one of them is there twice; or there are some, and an entry is no
      plain file or has an odd name. An archive of others may hold any.
  """
  names: set[str] = set()
  fault: errors.UserError | None = None
  for entry in entries:
    ours, raw_name = belongs(entry.name), entry.raw_name or entry.name
    if entry.fault and not fault:
      fault = _refusal(path, raw_name, entry.fault)
    if fault and (ours or names):
      raise fault
    if ours:
      if entry.name in names:
        raise _refusal(path, raw_name, "it is there twice")
      names.add(entry.name)
      yield entry


def plain_name(name: str) -> str:
  """Return a member's name without empty parts and dots: `./a//b` is `a/b`."""
  if _PLAIN(name):
    return name
  return "/".join(part for part in name.split("/") if part not in ("", "."))


def name_fault(name: str) -> str:
  """Say what is wrong with a member's name; empty if nothing is."""
  if _PLAIN(name):
    return ""
  if not name.isascii() and any("\ud800" <= c <= "\udfff" for c in name):
    return "its name is not UTF-8"
  if name.startswith("/") or _DRIVE.match(name):
    return "its name is an absolute path"
  if ".." in name and ".." in name.split("/"):
    return "its name leaves the archive's folder ('..')"
  if "\0" in name or not plain_name(name):
    return "it has no proper name"
  return ""


def _refusal(archive: str, name: str, fault: str) -> errors.UserError:
  shown = name.encode("utf-8", "backslashreplace").decode("utf-8")
  return errors.UserError(
    f"{archive}: {shown}: {fault}. The authors' archives hold plain files with"
    " plain names alone. Download the archive again, or unpack it and use the"
    " folder that it holds."
  )


def check_growth(unpacked: int, packed: int, source: str) -> None:
  """Refuse what grows beyond measure when it is unpacked.

  Args:
    unpacked: bytes that it becomes.
    packed: bytes that it takes in the archive.
    source: what the message begins with.

  Raises:
    UserError: it is a bomb, or a limit has to be raised.
  """
  limit = max(_SMALL_BYTES, _GROWTH * packed)
  limits.check(unpacked, limit, source, f"bytes unpacked of {packed:,} packed")
