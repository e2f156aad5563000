"""Refusal of training examples whose files are in a test set.

Examples are the same if the sha256 of their stored bytes is. The sums are
cached between commands, as long as none of the files changes.
"""

import concurrent.futures
import dataclasses
import hashlib
import pathlib
from collections.abc import Callable, Sequence

from models.training.data import examples
from models.training.data.config import Config
from robust_tfds import errors, step_lines
from robust_tfds.storage import cache, paths

_READERS = 8  # files that are read at once
_AT_ONCE = 1024  # examples that wait for a reader
_SIZE = hashlib.sha256().digest_size
_NO_FILE = hashlib.sha256().digest()  # an example without a file equals none
_NAMED = 5  # ids in a refusal


@dataclasses.dataclass(frozen=True)
class Held:
  """The test examples that a network will be judged on.

  Attributes:
    names: names of the sets.
    digests: sha256 of every example's stored bytes.
  """

  names: Sequence[str]
  digests: frozenset[bytes]


def held(config: Config, say: Callable[[str], None]) -> Held:
  """Return the test sets of a config's `judged_on`, and its source's own.

  Raises:
    MissingError: a benchmark's sources are not in the manual dir.
    UserError: the benchmark is unknown.
  """
  benchmarks = [
    examples.benchmark_examples(name, config) for name in config.judged_on
  ]
  sets = [*examples.test_examples(config), *benchmarks]
  digests: set[bytes] = set()
  for each in sets:
    known = {*_digests(each, say)} - {_NO_FILE}
    if not known:
      say(f"{each.name}: its examples are in no files: none is compared")
    digests |= known
  names = [f"{each.name} ({each.words})" for each in sets]
  return Held(names, frozenset(digests))


def check(
  read: examples.Examples, against: Held, say: Callable[[str], None]
) -> tuple[str, Sequence[bytes], Sequence[str]]:
  """Refuse examples whose stored bytes are in a test set.

  Returns:
    sha256 over the ids of all examples, the sha256 of their stored bytes and
    their labels elsewhere; the sha256 of each one's bytes; and their groups,
    merged where they share an example of the same bytes.

  Raises:
    UserError: there are such examples; the message names some.
  """
  digests = _digests(read, say)
  pairs = [*zip(read.ids, digests, strict=True)]
  if ids := [name for name, digest in pairs if digest in against.digests]:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    raise errors.UserError(
      f"{', '.join(ids[:_NAMED])}{more}: what is trained on here is in the test"
      f" set: {'; '.join(against.names)}. Numbers of a network that has seen it"
      " say nothing. Remove it from the training data."
    )
  content = hashlib.sha256()
  for name, digest in pairs:
    content.update(name.encode() + b"\0" + digest)
  content.update("\n".join(read.labels).encode())
  return content.hexdigest(), digests, _joined(read.groups, digests)


def _joined(groups: Sequence[str], digests: Sequence[bytes]) -> Sequence[str]:
  """Return each example's group; groups that share a digest are merged."""
  first: dict[bytes, str] = {}
  above: dict[str, str] = {}

  def top(group: str) -> str:
    while group in above:
      group = above[group]
    return group

  for group, digest in zip(groups, digests, strict=True):
    low, high = sorted((top(first.setdefault(digest, group)), top(group)))
    if low != high:
      above[high] = low
  return [top(group) for group in groups]


def _digests(
  read: examples.Examples, say: Callable[[str], None]
) -> list[bytes]:
  """Return the digest of every example, from the cache if no file has changed."""
  count, place = len(read.ids), _place(read)
  if place and place.exists():
    data = paths.read_bytes(place)
    return [data[i : i + _SIZE] for i in range(0, len(data), _SIZE)]
  say(f"{read.name}: {count:,} examples are read once for their sums")
  digests: list[bytes] = []
  lines = step_lines.Progress(count, say=say)
  with concurrent.futures.ThreadPoolExecutor(_READERS) as pool:
    for start in range(0, count, _AT_ONCE):
      numbers = range(start, min(start + _AT_ONCE, count))
      for digest in pool.map(lambda i: _digest(read.stored(i)), numbers):
        digests.append(digest)
        if len(digests) < count:  # what is short has no line
          lines.step(f"sums of {read.name}")
  if place:
    paths.write_bytes(place, b"".join(digests))
  return digests


def _digest(data: bytes) -> bytes:
  return hashlib.sha256(data).digest()


def _place(read: examples.Examples) -> pathlib.Path | None:
  """Return the cache file of the digests: another for any other file or id.

  The result is None if changes of a file could not be detected.
  """
  files = {*read.files()}
  states = paths.states(files)
  if not files or files - {*states}:
    return None
  lines = [read.name, *read.ids, *map(str, sorted(states.items()))]
  digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
  return cache.folder() / "digests" / f"{digest}.bin"
