"""Files of the web, kept in a cache on this machine.

The cache lies in the folder of `robust_tfds.storage.cache`. A file appears there
whole, under a lock: only one of two processes fetches it. It is compared with
its sha256 each time it is read, and may also be put there by hand. Redirects
must lead to https; `http` is for servers of tests on this machine
(`ROBUST_TFDS_LOCAL_HTTP=1`).
"""

import os
import pathlib
import re
import time
import urllib.parse
from typing import Any

from robust_tfds import errors
from robust_tfds.reading import limits
from robust_tfds.storage import cache, locks, paths

LOCAL_HTTP = "ROBUST_TFDS_LOCAL_HTTP"
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_TIMEOUT_S = 30.0  # without a byte
_TRIES = 4
_PAUSE_S = 1.0  # before the second try, then twice as long each time
_CHUNK = 1 << 20  # bytes
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=-]{0,200}")
# Temporary answers, worth another try.
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)
_ADVICE = {
  401: " It asks for a user: see how its publisher gives access.",
  403: " It asks for rights that you were not given.",
  404: " There is no such file: compare the address.",
}


def redacted(address: str) -> str:
  """Return an address without user, password, query and fragment.

  Nothing is shown of an address that cannot be parsed: it may hold a password.

  >>> redacted("https://me:secret@host.org/a/b.npz?token=1#sha256=2")
  'https://host.org/a/b.npz'
  """
  try:
    parts = urllib.parse.urlsplit(address)
    port = f":{parts.port}" if parts.port else ""
  except ValueError:
    return "an address that cannot be read"
  if "@" in parts.path:
    return f"{parts.scheme}://{parts.hostname}{port}/..."
  host = f"{parts.hostname or ''}{port}"
  return urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))


def check_address(address: str) -> None:
  """Refuse an address that must not be fetched.

  Raises:
    UserError: it has no https or no host.
  """
  parts = urllib.parse.urlsplit(address)
  if parts.scheme == "https" and parts.hostname:
    return
  local = parts.scheme == "http" and parts.hostname in _LOCAL_HOSTS
  if local and os.environ.get(LOCAL_HTTP) == "1":
    return
  raise errors.UserError(
    f"{redacted(address)}: expected an address that begins with https://: nothing"
    " is fetched over other ways."
  )


def file(address: str, sha256: str, *parts: str) -> pathlib.Path:
  """Return a file of the web from the cache, fetching it if necessary.

  Args:
    address: an https address, perhaps with user and password.
    sha256: its known digits: 64, or fewer.
    *parts: its path in the cache.

  Raises:
    UserError: the file cannot be fetched, or its sha256 differs. The message
      names the file, its sha256, and where to put it.
  """
  for part in parts:
    if not _NAME.fullmatch(part):
      raise errors.UserError(
        f"Got {part[:80]!r} as the name of a file to keep, expected letters,"
        " digits, dots, dashes and underscores."
      )
  path = folder().joinpath(*parts)
  try:
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f".{path.name}.lock")
    with locks.exclusive(lock, f"{path} is being fetched"):
      if not path.exists():
        _fetch(address, path, sha256)
  except OSError as e:
    raise errors.UserError(
      f"{path}: {e.strerror or e}. The cache's folder is {cache.VARIABLE} in the"
      " environment: choose one that can be written, with room for the file."
    ) from e
  check(path, sha256)
  return path


def folder() -> pathlib.Path:
  """Return the folder of fetched checkpoints on this machine."""
  return cache.folder() / "checkpoints"


def check(path: pathlib.Path, sha256: str) -> None:
  """Compare a file of the cache with its sha256.

  Raises:
    UserError: they differ; the message says what to do.
  """
  digest = paths.sha256(path)
  if not digest.startswith(sha256):
    raise errors.UserError(
      f"{path}: has sha256 {digest}, expected {_words(sha256)}: it was changed,"
      " or is another file. Remove it; the next start fetches it again."
    )


def _fetch(address: str, path: pathlib.Path, sha256: str) -> None:
  part = path.with_name(f"{path.name}.part")
  try:
    _download(address, part)
    digest = paths.sha256(part)
    if not digest.startswith(sha256):
      raise errors.UserError(
        f"{redacted(address)}: got a file of sha256 {digest}, expected"
        f" {_words(sha256)}. It was changed, or is another one: nothing was"
        " kept. Compare with who published it."
      )
    part.replace(path)
  except errors.UserError as e:
    raise errors.UserError(
      f"{e} Without a connection: fetch the file elsewhere (sha256"
      f" {_words(sha256)}) and put it at {path}."
    ) from e
  finally:
    part.unlink(missing_ok=True)


def _download(address: str, part: pathlib.Path) -> None:
  """Write the file of an address, trying again if the connection breaks."""
  import pooch
  import requests

  get = pooch.HTTPDownloader(
    progressbar=True,
    chunk_size=_CHUNK,
    timeout=_TIMEOUT_S,
    hooks={"response": _check_response},
  )
  check_address(address)
  for again in range(_TRIES):
    try:
      get(address, str(part), None)
      return
    except requests.RequestException as e:
      status = e.response.status_code if e.response is not None else None
      if status is not None and status not in _TEMPORARY:
        raise errors.UserError(
          f"{redacted(address)}: the server answers {status}."
          f"{_ADVICE.get(status, '')}"
        ) from None  # its text has the whole address
      if again == _TRIES - 1:
        reason = f"the server answers {status}" if status else type(e).__name__
        raise errors.UserError(
          f"{redacted(address)}: cannot be fetched after {_TRIES} tries:"
          f" {reason}."
        ) from None
    time.sleep(_PAUSE_S * 2**again)


def _check_response(response: Any, **options: Any) -> None:
  """Refuse a redirect that leaves https, and a file that is too large."""
  del options
  if response.is_redirect:
    following = urllib.parse.urljoin(response.url, response.headers["location"])
    check_address(following)
  size = response.headers.get("Content-Length", "")
  if size.isdigit():
    source = redacted(response.url)
    limits.check(int(size), limits.CHECKPOINT_BYTES, source, "bytes")


def _words(sha256: str) -> str:
  return sha256 if len(sha256) == 64 else f"{sha256}..."
