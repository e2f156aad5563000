"""Refusal of training examples that are in a test set.

Two examples are the same if their stored bytes or their decoded pixels are: so
is a picture that was saved anew without loss. Stored bytes are compared when a
source is opened, so that all such examples are named; pixels when an example is
decoded. Videos are compared by their bytes alone. Digests are cached between
commands, as long as none of their files changes.
"""

import concurrent.futures
import dataclasses
import hashlib
import itertools
import pathlib
from collections.abc import Callable, Sequence

import numpy as np

from models.training.data import examples
from models.training.data.config import Config
from robust_tfds import errors, step_lines
from robust_tfds.storage import cache, paths

_READERS = 8  # files that are read at once
_AT_ONCE = 1024  # examples that wait for a reader
_SIZE = hashlib.sha256().digest_size
_NAMED = 5  # ids in a refusal


@dataclasses.dataclass(frozen=True)
class Held:
  """The test examples that a network will be judged on.

  Attributes:
    names: names of the sets.
    digests: sha256 of every example's stored bytes, and of its pixels.
  """

  names: Sequence[str] = ()
  digests: frozenset[bytes] = frozenset()

  def check(self, image: np.ndarray, name: str) -> None:
    """Refuse a picture, uint8 `[H, W, 3]`, that is in a test set."""
    if self.digests and _pixel_digest(image) in self.digests:
      raise _leak_error([name], self.names)


NOTHING = Held()


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
  digests = (_digests(each, _of_test, say) for each in sets)
  return Held(
    [f"{each.name} ({each.words})" for each in sets],
    frozenset(itertools.chain.from_iterable(itertools.chain(*digests))),
  )


def check(
  read: examples.Examples, against: Held, say: Callable[[str], None]
) -> tuple[str, Sequence[str]]:
  """Refuse examples whose stored bytes are in a test set.

  Returns:
    sha256 over the ids of all examples and the sha256 of their stored bytes;
    and their groups, merged where they share an example of the same bytes.
  """
  digests = _digests(read, _of_training, say)
  _refuse(read, digests, against)
  content = hashlib.sha256()
  for name, (digest,) in zip(read.ids, digests, strict=True):
    content.update(name.encode() + b"\0" + digest)
  return content.hexdigest(), _joined(read.groups, digests)


def _joined(
  groups: Sequence[str], digests: Sequence[tuple[bytes, ...]]
) -> Sequence[str]:
  """Return each example's group, merged with all groups that share a digest
  with it.
  """
  first: dict[tuple[bytes, ...], str] = {}
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


def check_pictures(
  read: examples.Examples, against: Held, say: Callable[[str], None]
) -> None:
  """Refuse pictures to mix in that are in a test set, by bytes or pixels."""
  if against.digests:
    _refuse(read, _digests(read, _of_test, say), against)


def _refuse(
  read: examples.Examples, digests: Sequence[tuple[bytes, ...]], against: Held
) -> None:
  pairs = zip(read.ids, digests, strict=True)
  ids = [name for name, each in pairs if against.digests & {*each}]
  if ids:
    raise _leak_error(ids, against.names)


def _leak_error(ids: Sequence[str], names: Sequence[str]) -> errors.UserError:
  more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
  return errors.UserError(
    f"{', '.join(ids[:_NAMED])}{more}: what is trained on here is in the test set:"
    f" {'; '.join(names)}. Numbers of a network that has seen it say nothing."
    " Remove it from the training data."
  )


def _digests(
  read: examples.Examples,
  digest: Callable[[examples.Examples, int], tuple[bytes, ...]],
  say: Callable[[str], None],
) -> list[tuple[bytes, ...]]:
  """Return the digests of every example, from the cache if no file has changed."""
  count, place = len(read.ids), _place(read, digest.__name__)
  if place and place.exists():
    data = paths.read_bytes(place)
    parts = [data[i : i + _SIZE] for i in range(0, len(data), _SIZE)]
    width = len(parts) // count
    return [tuple(parts[i * width : (i + 1) * width]) for i in range(count)]
  say(f"{read.name}: {count:,} examples are read once for their sums")
  made: list[tuple[bytes, ...]] = []
  lines = step_lines.Progress(count, say=say)
  with concurrent.futures.ThreadPoolExecutor(_READERS) as pool:
    for start in range(0, count, _AT_ONCE):
      numbers = range(start, min(start + _AT_ONCE, count))
      for each in pool.map(lambda i: digest(read, i), numbers):
        made.append(each)
        if len(made) < count:  # what is short has no line
          lines.step(f"sums of {read.name}")
  if place:
    paths.write_bytes(place, b"".join(itertools.chain(*made)))
  return made


def _place(read: examples.Examples, kind: str) -> pathlib.Path | None:
  """Return the cache file of the digests: another for any other file, id or
  kind of digest.

  The result is None if changes of a file could not be detected.
  """
  files = {*read.files()}
  states = paths.states(files)
  if not files or files - {*states}:
    return None
  lines = [kind, read.name, *read.ids, *map(str, sorted(states.items()))]
  digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
  return cache.folder() / "digests" / f"{digest}.bin"


def _of_training(read: examples.Examples, number: int) -> tuple[bytes, ...]:
  return (hashlib.sha256(read.stored(number)).digest(),)


def _of_test(read: examples.Examples, number: int) -> tuple[bytes, ...]:
  data = read.stored(number)
  stored = hashlib.sha256(data).digest() if data else b"\0" * _SIZE
  if read.kind == examples.VIDEOS:
    return (stored,)
  try:
    return stored, _pixel_digest(read.read(number)["image"])
  except errors.UserError:  # it is broken: nor could it be trained on
    return stored, stored


def _pixel_digest(image: np.ndarray) -> bytes:
  shape = str(image.shape).encode()
  return hashlib.sha256(shape + np.ascontiguousarray(image).data).digest()
