"""Results of the cases as a file, and as the tables of docs/evidence/INTERVALS.md."""

import dataclasses
import importlib
import pathlib
from collections.abc import Iterable, Mapping

from tests.eval.coverage import cases
from tests.eval.coverage.case import Tally

FILE = pathlib.Path(__file__).with_name("results.tsv")
PAGE = (
  pathlib.Path(__file__).resolve().parents[3]
  / "docs"
  / "evidence"
  / "INTERVALS.md"
)
_COUNTS = ("sets", "absent", "below", "above")
_HEAD = ("topic", "data", "number", *_COUNTS, "truth", "mean")

Key = tuple[str, str, str]  # topic, data, number
Results = Mapping[Key, Tally]


def read() -> dict[Key, Tally]:
  """The results that are kept."""
  out = {}
  for line in FILE.read_text("utf-8").splitlines()[1:]:
    topic, data, number, *counts, truth, mean = line.split("\t")
    whole = dict(zip(_COUNTS, map(int, counts)))
    out[topic, data, number] = Tally(float(truth), **whole, mean=float(mean))
  return out


def keep(results: Results, known: Iterable[tuple[str, str]]) -> None:
  """Writes results to the file, with those kept of other cases, and the page.

  Args:
    results: new ones; they replace what is kept of their cases.
    known: topic and data of every case, in order; what is of none is dropped.
  """
  new = {key[:2] for key in results}
  every = {k: v for k, v in read().items() if k[:2] not in new} | {**results}
  lines = ["\t".join(_HEAD)]
  for of in known:
    listed = [(key, tally) for key, tally in every.items() if key[:2] == of]
    lines += [_line(key, tally) for key, tally in listed]
  FILE.write_text("\n".join(lines) + "\n", "utf-8")
  PAGE.write_text(written(PAGE.read_text("utf-8"), read()), "utf-8")


def written(page: str, results: Results) -> str:
  """The page with the results between their marks."""
  topics = dict.fromkeys(topic for topic, _, _ in results)
  tables = "\n".join(_table(topic, results) for topic in topics)
  begin, end = "<!-- coverage: begin -->\n", "<!-- coverage: end -->\n"
  before, _, rest = page.partition(begin)
  return f"{before}{begin}\n{tables}\n{end}{rest.partition(end)[2]}"


def _line(key: Key, tally: Tally) -> str:
  of = dataclasses.asdict(tally)
  counts = (str(of[name]) for name in _COUNTS)
  return "\t".join([*key, *counts, f"{tally.truth:.6g}", f"{tally.mean:.6g}"])


def _table(topic: str, results: Results) -> str:
  """A topic's: a line a population, a column a number."""
  here = {key[1:]: tally for key, tally in results.items() if key[0] == topic}
  numbers = list(dict.fromkeys(number for _, number in here))
  module = importlib.import_module(f"{cases.__name__}.{topic}")
  lines = [
    f"### {topic.replace('_', ' ').capitalize()}\n\n{module.WORDS}\n",
    "| data | sets | " + " | ".join(numbers) + " |",
    "|---" * (len(numbers) + 2) + "|",
  ]
  for data in dict.fromkeys(data for data, _ in here):
    cells = [here.get((data, number)) for number in numbers]
    sets = next(tally.sets for tally in cells if tally)
    texts = [cell_text(tally) if tally else "" for tally in cells]
    lines.append(f"| {data} | {sets:,} | " + " | ".join(texts) + " |")
  return "\n".join(lines) + "\n"


def cell_text(tally: Tally) -> str:
  """Coverage in percent, and what lies below and above the truth."""
  there = tally.sets - tally.absent
  if not there:
    return f"none: {tally.mean:.3g} on average, {tally.truth:.3g} is true"
  below, above = (100 * x / there for x in (tally.below, tally.above))
  absent = 100 * tally.absent / tally.sets
  none = f", none in {absent:.1f}" if absent else ""
  return f"{100 * tally.coverage:.1f} ({below:.1f}, {above:.1f}){none}"
