"""What a case of the campaign is, and what can become of it.

A case makes one bad or odd input below an empty folder, gives it to a public
door (a command, a function) and says what must come of it:

  names        it must be refused, and the refusal must hold each of these words:
               the file, the field or the example at fault
  right        it must be taken, and the result must pass this check
  both         either will do
"""

import dataclasses
import enum
import functools
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# A refusal that quotes one of these says what Python saw, not what is wrong.
QUOTES_PYTHON = re.compile(
  r"\b(KeyError|TypeError|ValueError|IndexError|AttributeError|EOFError|"
  r"RecursionError|AssertionError|UnicodeDecodeError|BadZipFile|OverflowError|"
  r"ZeroDivisionError)\b|'NoneType'"
)


class Class(enum.Enum):
  """What became of a case; the first two are as they should be."""

  REFUSED = "refused in words"
  RIGHT = "handled right"
  SILENT = "silent"
  TRACEBACK = "traceback"
  CRASH = "crash"
  UNNAMED = "unnamed, or not in words"
  OVERREFUSED = "refused, though legitimate"


GOOD = (Class.REFUSED, Class.RIGHT)


@dataclasses.dataclass(frozen=True)
class Case:
  """One input at one door.

  Attributes:
    kind: what is wrong or odd with the input; unique at its door.
    act: makes the input below an empty folder and gives it to the door.
    names: words of the refusal, whatever their case; `|` between words of which
      one will do.
    right: whether what `act` returns is right; an exception means that it is not.
    seconds: until it counts as hung.
    gib: address space beyond what the warm process has.
    slow: whether it runs a model, which the fast tests leave out.
  """

  kind: str
  act: Callable[[pathlib.Path], Any]
  names: tuple[str, ...] = ()
  right: Callable[[Any], bool] | None = None
  seconds: float = 300
  gib: float = 6
  slow: bool = False


def rows(
  act: Callable[[Any, pathlib.Path], Any],
  *table: Sequence[Any],
  kinds: str = "{}",
  names: Sequence[str] = (),
  right: Callable[[Any], bool] | None = None,
) -> Iterator[Case]:
  """A case for each row of a table.

  Args:
    act: gives a row's input to the door; the folder comes after it.
    *table: rows of what is wrong or odd with the input, the input, and then
      words of its refusal and a check of its result, as a case has them.
    kinds: how the cases are called, `{}` for the row's own text.
    names: words of every refusal, before the row's.
    right: the check of rows that have none of their own.
  """
  for kind, value, *rest in table:
    words = [item for item in rest if isinstance(item, str)]
    checks = [item for item in rest if not isinstance(item, str)]
    yield Case(
      kinds.format(kind),
      functools.partial(act, value),
      (*names, *words),
      checks[0] if checks else right,
    )


@dataclasses.dataclass(frozen=True)
class Outcome:
  """What became of a case; `text` is the refusal or the fault's last words."""

  door: str
  kind: str
  result: Class
  text: str

  @property
  def good(self) -> bool:
    """Whether it was refused in words or handled right."""
    return self.result in GOOD


class Refused(Exception):
  """A command ended with a text and without a traceback."""


class Uncaught(Exception):
  """A command ended with a traceback."""


class Crashed(Exception):
  """A command was ended by a signal."""


def judge(case: Case, folder: pathlib.Path) -> tuple[Class, str]:
  """Runs a case in this process."""
  from robust_tfds import errors

  try:
    result = case.act(folder)
  except (Refused, errors.UserError, OSError) as e:
    return _refusal(case, str(e))
  except Crashed as e:
    return Class.CRASH, str(e)
  except Uncaught as e:
    return Class.TRACEBACK, str(e)
  except Exception as e:  # what a traceback would show to a user
    return Class.TRACEBACK, f"{type(e).__name__}: {e}"
  if case.right is None:
    return Class.SILENT, f"accepted: {_short(result)}"
  try:
    right = case.right(result)
  except Exception as e:  # a result that cannot even be looked at
    return Class.SILENT, f"not the right result: {type(e).__name__}: {e}"
  return (Class.RIGHT, "") if right else (Class.SILENT, _short(result))


def _refusal(case: Case, text: str) -> tuple[Class, str]:
  if not case.names:
    return Class.OVERREFUSED, text
  lower = text.lower()
  for words in case.names:
    if not any(word.lower() in lower for word in words.split("|")):
      return Class.UNNAMED, f"lacks {words!r}: {text}"
  quoted = QUOTES_PYTHON.search(text)
  if quoted:
    return Class.UNNAMED, f"quotes {quoted[0]}: {text}"
  return Class.REFUSED, text


def _short(result: object) -> str:
  shown = list(result) if isinstance(result, dict) else result
  text = " ".join(str(shown).split())
  return text if len(text) < 160 else f"{text[:160]}..."
