"""The table of docs/SUBMITTING.md.

python -m tests.eval.forgeries.page
"""

import pathlib
from collections.abc import Sequence

from tests.eval.forgeries import forged
from tests.eval.forgeries.rows import ROWS, Catch, Forgery

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "SUBMITTING.md"
# Lines that stand under "not verified" of honest submissions too.
ALWAYS_SAID = (
  "that truth.json is the data set's ground truth",
  "that training digits_cnn as config.json says gives them",
)
_HEAD = "| forged | of | caught by | |\n|---|---|---|---|\n"
# How many cells the honest submissions have.
CELLS = {
  forged.TWO: 10,
  forged.TRAINED: 5,
  "sequences": 3,
  "frames": 2,
  "detection": 5,
  "video": 4,
}
_OF = {forged.TWO: "classification", forged.TRAINED: "a disclosed training"}


def table(rows: Sequence[Forgery]) -> str:
  """The rows as Markdown."""
  return _HEAD + "".join(map(_line, rows))


def _line(row: Forgery) -> str:
  says = row.says.replace(".*", "…").replace("|", " or ")
  if row.catch in (Catch.CHECK, Catch.SAID, Catch.BOARD):
    says = f'"{says}"'
  catch = str(row.catch)
  if row.cells:
    catch += f": {row.cells} of {CELLS[row.of]} cells"
  cells = row.words, _OF.get(row.of, row.of), catch, says
  return f"| {' | '.join(cells)} |\n"


def main() -> None:
  """Puts the table in the place of the one that is there."""
  text = PAGE.read_text("utf-8")
  before, rest = text.split(_HEAD)
  after = rest[rest.index("\n\n") :] if "\n\n" in rest else "\n"
  PAGE.write_text(before + table(ROWS).rstrip("\n") + after, "utf-8")


if __name__ == "__main__":
  main()
