"""Overrides of configs, `eval.main --config=... --plan`: nothing is computed."""

import functools
import pathlib
from collections.abc import Iterator, Sequence

from tests import shared_data
from tests.faults import commands
from tests.faults.case import Case

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_TABLE = pathlib.Path(__file__).with_suffix(".tsv")


def cases() -> Iterator[Case]:
  """Rows of `config_cases.tsv`, and files that are no config.

  A row is a config, overrides, and words: of the refusal, and of the plan of
  legitimate settings. `; ` separates words that all must be there.
  """
  for row in shared_data.lines(_TABLE):
    names, words = (tuple(row[k].split("; ")) for k in ("refusal", "plan"))
    odd = "" if row["refusal"] else "odd: "
    yield Case(
      f"{odd}{row['config']} {row['overrides']}",
      functools.partial(_plan, row["config"], row["overrides"].split()),
      names if row["refusal"] else (),
      functools.partial(_says, words) if row["plan"] else None,
      slow=row["plan"].startswith("tiny"),  # takes a minute to measure
    )
  yield from _own_files()


def _says(words: Sequence[str], plan: str) -> bool:
  """Whether a plan holds one of the alternatives of each word."""
  text = plan.lower()
  return all(any(w in text for w in word.split("|")) for word in words)


def _plan(config: str, overrides: Sequence[str], folder: pathlib.Path) -> str:
  return commands.run(
    "eval.main",
    f"--config={_ROOT / 'configs' / config}",
    "--plan",
    f"--workdir={folder / 'run'}",
    *(f"--config.{o}" for o in overrides),
  )


def _own_files() -> Iterator[Case]:
  for kind, text, name in (
    ("a config without get_config", "x = 1\n", "mine.py|get_config"),
    ("a config that fails", "def get_config():\n  raise RuntimeError('no disk')\n",
     "mine.py|no disk"),
    ("a config of a syntax error", "def get_config(:\n", "mine.py"),
    ("a config that is no config", "def get_config():\n  return 5\n", "mine.py|config"),
    ("an empty config", "import ml_collections\ndef get_config():\n"
     "  return ml_collections.ConfigDict()\n", "task|data|batch_size"),
  ):  # fmt: skip
    yield Case(kind, functools.partial(_own, text), (name,))


def _own(text: str, folder: pathlib.Path) -> str:
  (folder / "mine.py").write_text(text)
  return commands.run("eval.main", f"--config={folder / 'mine.py'}", "--plan")
