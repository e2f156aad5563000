"""A download of a file over https with the standard library.

One request and its continuation is all that a checkpoint needs; urllib does it,
while `huggingface_hub` would bring a dozen packages for the same two addresses.
A broken connection is tried again, and continues where it broke if the server
says that the file is still the same (`If-Range`), else it starts anew.
Redirects must lead to https; a token or password is sent only to its own host.
`http` is for servers of tests on this machine (`ROBUST_TFDS_LOCAL_HTTP=1`).
"""

import base64
import http.client
import json
import os
import pathlib
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import IO, Any

from robust_tfds import durations, errors, reading
from robust_tfds.reading import limits

LOCAL_HTTP = "ROBUST_TFDS_LOCAL_HTTP"
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_TIMEOUT_S = 30.0  # without a byte
_TRIES = 4
_PAUSE_S = 1.0  # before the second try, then twice as long each time
_BLOCK = 1 << 20  # bytes
_QUIET_S = 3.0  # shorter downloads print nothing
_EVERY_S = 5.0
_STATE = ".state"  # the server's tag of an incomplete file
_AGENT = "robust_tfds"
# Temporary answers, worth another try.
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_STRIPPED = ("authorization", "cookie")


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
    return "an address that is none"
  if "@" in parts.path:
    return f"{parts.scheme}://{parts.hostname}{port}/..."
  host = f"{parts.hostname or ''}{port}"
  return urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))


def check(address: str) -> None:
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


def text(address: str, headers: Mapping[str, str], most_bytes: int) -> bytes:
  """Return the whole answer to a request, e.g. JSON of a hub.

  Args:
    address: an https address.
    headers: headers of the request, e.g. a token; never printed.
    most_bytes: limit of the answer's length.

  Raises:
    UserError: as for `file`.
  """

  def read(response: Any) -> bytes:
    data = response.read(most_bytes + 1)
    if len(data) > most_bytes:
      raise errors.UserError(
        f"{redacted(address)}: the answer has more than {most_bytes:,} bytes."
      )
    return data

  return _tried(address, lambda: _opened(address, headers), read)


def file(
  address: str, part: pathlib.Path, headers: Mapping[str, str] | None = None
) -> None:
  """Fetch a file, or what is missing of it.

  Args:
    address: an https address.
    part: path of the partial file; an earlier start is continued if the server
      still has that file.
    headers: headers of the request, e.g. a token; never printed.

  Raises:
    UserError: there is no connection, the server refuses, or the file is too
      large or shorter than the server announced; the message says what to do.
  """

  def opened() -> Any:
    return _opened(address, {**(headers or {}), **_continuation(part)})

  _tried(address, opened, lambda response: _write(response, address, part))
  part.with_name(part.name + _STATE).unlink(missing_ok=True)


def _tried(address: str, opened: Any, read: Any) -> Any:
  """Return the result of a request, tried again if the connection breaks."""
  for again in range(_TRIES):
    try:
      with opened() as response:
        return read(response)
    except urllib.error.HTTPError as e:
      if e.code not in _PASSING or again == _TRIES - 1:
        raise _refused_error(address, e) from e
    except (OSError, http.client.HTTPException) as e:
      if isinstance(e, _DiskError) or again == _TRIES - 1:
        raise _unreachable_error(address, e) from e
    time.sleep(_PAUSE_S * 2**again)
  raise AssertionError("the last try raises or returns")


class _DiskError(OSError):
  """The error of a disk, as opposed to the network."""


def _opened(address: str, headers: Mapping[str, str]) -> Any:
  check(address)
  parts = urllib.parse.urlsplit(address)
  user, _, host = parts.netloc.rpartition("@")
  bare = urllib.parse.urlunsplit(
    (parts.scheme, host, parts.path, parts.query, "")
  )
  request = urllib.request.Request(bare, headers={"User-Agent": _AGENT})
  for name, value in headers.items():
    request.add_header(name, value)
  if user:
    words = urllib.parse.unquote(user).encode()
    coded = base64.b64encode(words).decode()
    request.add_header("Authorization", f"Basic {coded}")
  opener = urllib.request.build_opener(_Redirects)
  return opener.open(request, timeout=_TIMEOUT_S)


class _Redirects(urllib.request.HTTPRedirectHandler):
  """A redirect handler that follows only https, and drops secrets for other
  hosts.
  """

  def redirect_request(
    self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
  ) -> Any:
    """Return the request that follows a redirect."""
    check(newurl)
    following = super().redirect_request(req, fp, code, msg, headers, newurl)
    if following is not None and following.host != req.host:
      for name in list(following.headers):
        if name.lower() in _STRIPPED:
          del following.headers[name]
    return following


def _continuation(part: pathlib.Path) -> dict[str, str]:
  """Return headers that ask for the rest of a file, if it is the same."""
  state = part.with_name(part.name + _STATE)
  if not part.exists() or not part.stat().st_size or not state.exists():
    part.unlink(missing_ok=True)
    return {}
  facts = reading.json_file(state)
  tag = facts.get("tag") if isinstance(facts, dict) else None
  if not isinstance(tag, str) or not tag:
    part.unlink()
    return {}
  return {"Range": f"bytes={part.stat().st_size}-", "If-Range": tag}


def _write(response: Any, address: str, part: pathlib.Path) -> None:
  before = part.stat().st_size if part.exists() else 0
  continues = response.status == 206 and _starts_at(response) == before
  if not continues:
    before = 0
  length = response.headers.get("Content-Length")
  total = before + int(length) if length and length.isdigit() else None
  _check_size(address, part, total, before)
  tag = response.headers.get("ETag", "")
  if tag.startswith("W/"):  # says that another version has the same meaning
    tag = ""
  state = part.with_name(part.name + _STATE)
  state.write_text(json.dumps({"tag": tag}), "utf-8")
  with part.open("ab" if continues else "wb") as out:
    _copy(response, out, address, before, total)
  got = part.stat().st_size
  if total is not None and got != total:
    raise http.client.IncompleteRead(b"", total - got)


def _starts_at(response: Any) -> int:
  """Return the first byte of a part of a file; -1 if the server does not state
  it.
  """
  words = response.headers.get("Content-Range", "").removeprefix("bytes ")
  start = words.partition("-")[0]
  return int(start) if start.isdigit() else -1


def _copy(
  response: Any, out: IO[bytes], address: str, before: int, total: int | None
) -> None:
  progress = _Progress(redacted(address), before, total)
  done = before
  while block := response.read(_BLOCK):
    done += len(block)
    limits.check(done, limits.CHECKPOINT_BYTES, redacted(address), "bytes")
    try:
      out.write(block)
    except OSError as e:
      raise _DiskError(e.errno, e.strerror) from e
    progress.update(done)


def _check_size(
  address: str, part: pathlib.Path, total: int | None, before: int
) -> None:
  if total is None:
    return
  limits.check(total, limits.CHECKPOINT_BYTES, redacted(address), "bytes")
  free = shutil.disk_usage(part.parent).free
  if total - before > free:
    raise errors.UserError(
      f"{redacted(address)}: has {total - before:,} bytes to fetch,"
      f" {part.parent} has room for {free:,}. Make room, or choose another"
      " folder: ROBUST_TFDS_CACHE in the environment."
    )


class _Progress:
  """A line every few seconds of a long download, with the time left."""

  def __init__(self, name: str, before: int, total: int | None):
    self._name, self._before, self._total = name, before, total
    self._start = time.monotonic()
    self._next = self._start + _QUIET_S

  def update(self, done: int) -> None:
    """Print the progress of the download, if a line is due."""
    now = time.monotonic()
    if now < self._next:
      return
    self._next = now + _EVERY_S
    rate = (done - self._before) / max(now - self._start, 1e-9)
    line = f"{self._name}: {done / limits.MIB:,.0f} MiB"
    if self._total:
      left = durations.text((self._total - done) / max(rate, 1.0))
      line += f" of {self._total / limits.MIB:,.0f}, {left} left"
    print(line, file=sys.stderr, flush=True)


def _refused_error(
  address: str, error: urllib.error.HTTPError
) -> errors.UserError:
  what = {
    401: " It asks for a user: see how its publisher gives access.",
    403: " It asks for rights that you were not given.",
    404: " There is no such file: compare the address.",
  }.get(error.code, "")
  return errors.UserError(
    f"{redacted(address)}: the server answers {error.code} ({error.reason}).{what}"
  )


def _unreachable_error(address: str, error: Exception) -> errors.UserError:
  if isinstance(error, _DiskError):
    return errors.UserError(
      f"{redacted(address)}: cannot be written: {error.strerror}. Make room, or"
      " choose another folder: ROBUST_TFDS_CACHE in the environment."
    )
  reason = getattr(error, "reason", None) or error
  return errors.UserError(
    f"{redacted(address)}: cannot be fetched after {_TRIES} tries: {reason}."
  )
