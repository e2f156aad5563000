"""The cache of fetched checkpoints on this machine.

It lies in the folder of `robust_tfds.storage.cache`. A file is written under a
lock and appears whole: only one of two processes fetches it. Beside it is
`NAME.sha256`; each time the file is read it is compared with that, and with the
digits of its name or source. A file may also be put there by hand.
"""

import pathlib
import re
from collections.abc import Callable

from absl import logging

from robust_tfds import errors, reading
from robust_tfds.storage import cache, locks, paths

_DIGEST = ".sha256"
_PART = ".part"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=-]{0,200}")

Fetch = Callable[[pathlib.Path], None]


def place(*parts: str) -> pathlib.Path:
  """Return the path of a file or folder in the cache.

  Raises:
    UserError: a part is no plain name, and could leave the folder.
  """
  for part in parts:
    if not _NAME.fullmatch(part):
      raise errors.UserError(
        f"Got {part[:80]!r} as the name of a file to keep, expected letters,"
        " digits, dots, dashes and underscores."
      )
  return cache.folder().joinpath("checkpoints", *parts)


def get(
  path: pathlib.Path, source: str, sha256: str, fetch: Fetch
) -> pathlib.Path:
  """Return a file of the cache, fetching it if necessary.

  Args:
    path: result of `place`.
    source: its origin, for errors.
    sha256: its known digits: 64, fewer, or none.
    fetch: writes the file to the path that it is given, and may continue a
      partial file; called with the lock held.

  Raises:
    UserError: the file cannot be fetched, or its sha256 differs. The message
      names the file, its sha256, and where to put it.
  """
  try:
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f".{path.name}.lock")
    with locks.exclusive(lock, f"{path} is being fetched"):
      if not path.exists():
        _fetch(path, source, sha256, fetch)
      _check(path, source, sha256)
  except OSError as e:
    raise errors.UserError(
      f"{path}: {e.strerror or e}. The cache's folder is {cache.VARIABLE} in the"
      " environment: choose one that can be written, with room for the file."
    ) from e
  return path


def _fetch(path: pathlib.Path, source: str, sha256: str, fetch: Fetch) -> None:
  part = path.with_name(path.name + _PART)
  resumed = part.exists()
  try:
    fetch(part)
    digest = paths.sha256(part)
    if resumed and not digest.startswith(sha256):
      logging.warning(
        "%s: what an earlier start left does not fit; begins anew.", source
      )
      part.unlink()
      fetch(part)
      digest = paths.sha256(part)
  except errors.UserError as e:
    raise errors.UserError(f"{e} {_manual_advice(path, sha256)}") from e
  if not digest.startswith(sha256):
    part.unlink()
    raise errors.UserError(
      f"{source}: got a file of sha256 {digest}, expected {_words(sha256)}. It"
      " was changed, or is another one: nothing was kept. Compare with who"
      " published it."
    )
  paths.write_bytes(_note(path), f"{digest}  {path.name}\n".encode())
  part.replace(path)


def _check(path: pathlib.Path, source: str, sha256: str) -> None:
  """Compare a cached file with its digits; a file put there by hand gets its
  note.
  """
  digest, note = paths.sha256(path), _note(path)
  if not note.exists():  # put there by hand
    paths.write_bytes(note, f"{digest}  {path.name}\n".encode())
  noted = reading.text_file(note).split()[:1]
  if digest.startswith(sha256) and [digest] == noted:
    return
  raise errors.UserError(
    f"{path}: has sha256 {digest}, expected"
    f" {_words(sha256 or ''.join(noted))}: it was changed, or is not the file of"
    f" {source}. Remove {path.name} and {note.name} there; the next start"
    " fetches it again."
  )


def _manual_advice(path: pathlib.Path, sha256: str) -> str:
  return (
    f"Without a connection: fetch the file elsewhere (sha256 {_words(sha256)})"
    f" and put it at {path}."
  )


def _words(sha256: str) -> str:
  if not sha256:
    return "not known here"
  return sha256 if len(sha256) == 64 else f"{sha256}..."


def _note(path: pathlib.Path) -> pathlib.Path:
  return path.with_name(path.name + _DIGEST)
