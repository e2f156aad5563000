"""The forgeries: in words that docs/SUBMITTING.md shows, and what catches each.

`forgeries.tsv` has a line for each; what is done is in `changes.py` by its name.
"""

import enum
import pathlib
from typing import NamedTuple

from tests import shared_data


class Catch(enum.StrEnum):
  """What catches a forgery."""

  CHECK = "`--check` refuses"
  SAID = "`--check` says"
  RERUN = "`--rerun`"
  BOARD = "a board marks"
  NOTHING = "nothing"


class Forgery(NamedTuple):
  """One of them.

  Attributes:
    name: in `changes`.
    of: name of the honest submission, see `forged.honest`.
    catch: what catches it.
    cells: of `--rerun`: how many cells come out otherwise.
    says: of `--check` and boards: a part of what they say; of the others why.
    words: what is done.
  """

  name: str
  of: str
  catch: Catch
  cells: int
  says: str
  words: str


def _row(name: str, of: str, catch: str, cells: str, *words: str) -> Forgery:
  return Forgery(name, of, Catch[catch.upper()], int(cells), *words)


_FILE = pathlib.Path(__file__).with_name("forgeries.tsv")
ROWS = tuple(_row(*line.values()) for line in shared_data.lines(_FILE))
