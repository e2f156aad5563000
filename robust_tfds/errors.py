"""Messages to a user: errors that commands print without a traceback.

Every deliberate refusal of the package is a `UserError`: the input, the config or
the machine is at fault and the text says what was got, what was expected and what
to do. Any other exception is a bug of ours and shows its traceback. Imports the
standard library and `layout` alone; everybody may import it.
"""

import contextlib
import difflib
import functools
import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import ParamSpec, TypeVar

from robust_tfds import layout

# What answers of other tasks need, as the end of a refusal.
NOT_HERE = (
  "Pose, depth, regression, several labels a picture and other tasks need a metric"
  " of your own: metric= of evaluate, docs/OWN_METRIC.md"
)
_LISTED = 40  # names that a message lists at the most


class UserError(ValueError):
  """A refusal: says what was got, what was expected and what to do."""


class MissingPackageError(UserError, ImportError):
  """A package of an extra is not installed; the text has the pip command."""


P = ParamSpec("P")
T = TypeVar("T")


def without_traceback(function: Callable[P, T]) -> Callable[P, T]:
  """Wrap a public function: its refusals come as one message, without our frames."""

  @functools.wraps(function)
  def called(*args: P.args, **kwargs: P.kwargs) -> T:
    try:
      return function(*args, **kwargs)
    except UserError as e:
      refusal = e.with_traceback(None)
    raise refusal from None

  return called


@contextlib.contextmanager
def prefixed(what: object) -> Iterator[None]:
  """Begin refusals inside with what they are about: `cat/1.png: ...`."""
  try:
    yield
  except UserError as e:
    raise UserError(f"{what}: {e}") from e


def missing_package_error(
  package: str, extra: str, purpose: str
) -> MissingPackageError:
  """Return the error for a package that is not installed.

  Args:
    package: its name on the index.
    extra: the extra of robust_tfds that brings it.
    purpose: what needs it, the subject of the sentence.
  """
  return MissingPackageError(
    f"{purpose} needs {package}, which is not installed:"
    f" pip install 'robust_tfds[{extra}]'."
  )


def unknown_error(kind: str, got: object, names: Iterable[str]) -> UserError:
  """Return the error for an unknown name, with the nearest known one.

  Args:
    kind: what the name is of, e.g. `corruption`.
    got: the name.
    names: the known names, in their order.
  """
  known = list(names)
  near = difflib.get_close_matches(str(got), known, n=1)
  hint = f" Did you mean {near[0]!r}?" if near else ""
  listed = known if len(known) <= _LISTED else [*known[:_LISTED], "..."]
  return UserError(f"Unknown {kind} {got!r}.{hint} Known: {', '.join(listed)}.")


def user_fault(error: BaseException) -> str:
  """Say for a message what the user's own code raised, and on which line."""
  lines = str(error).strip().splitlines() or [""]
  # JAX repeats the whole traceback of a function that it called on the host.
  if any("Traceback (most recent call last)" in line for line in lines):
    return lines[-1].removeprefix(f"{UserError.__module__}.UserError: ")[:300]
  reason = lines[0][:300]
  frames = traceback.extract_tb(error.__traceback__)
  theirs = [f for f in frames if not _installed(f.filename)]
  where = (
    f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""
  )
  return f"{type(error).__name__}: {reason}{where}"


def _installed(filename: str) -> bool:
  """Return whether a line is Python's, a package's or ours: not the user's."""
  folders = (*layout.folders(), os.path.dirname(os.__file__))
  return "site-packages" in filename or filename.startswith(folders)
