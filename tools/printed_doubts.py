"""Writes which printed numbers do not fit other printed numbers.

  python -m tools.printed_doubts

The doubts of a paper lie in `eval/papers/<paper>/doubts.tsv`. Every check goes over
its rows and yields a `Doubt` where a mean is not the mean of its parts, a drop not
the difference, an interval not of its share, or one number stands in two places in
two ways; what arithmetic cannot see, a number printed without its point, lies in
`paper.json`. No printed number is changed.
"""

import dataclasses
import itertools
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

from eval.papers import derived, printed_rows, raw_results
from eval.papers import doubt as doubt_lib
from eval.papers.doubt import Doubt
from eval.papers.printed_rows import PrintedRow
from robust_tfds import conditions
from tools import interval_doubts, same_names

_EPSILON = 1e-9
# A mean over conditions -> the numbers that it is the mean of.
_MEANS = {
  "mce": "ce",
  "relative_mce": "relative_ce",
  "mfr": "fr",
  "mt5d": "t5d",
}
# A difference, and what it is the difference of.
_DROPS = (
  ("drop", "acc_orig", "acc_pmk"),
  ("drop", "map_orig", "map_pmk"),
  ("localization/drop", "localization/map_orig", "localization/map_pmk"),
)
_VID, _YTBB = "table5", "table6"
_PARTS = ("p", "mpc", "rpc")


def main() -> None:
  """Writes a file for each paper."""
  for paper in printed_rows.names():
    doubt_lib.path(paper).write_text(text(paper), "utf-8")


def text(paper: str) -> str:
  """A paper's doubts as their file says them."""
  lines = [doubt_lib.COLUMNS]
  for number, doubt in enumerate(of_paper(paper), 1):
    words = doubt.subject, doubt.words, doubt.kind
    used = doubt.used or [(None,) * 3] * len(doubt.rows)
    for row, better in zip(doubt.rows, used, strict=True):
      place = row.table, str(row.line), row.metric, row.name
      ends = ("" if v is None else f"{v:.6g}" for v in better)
      lines.append((str(number), *place, *words, *ends))
      words = "", "", ""
  return "".join("\t".join(cells).rstrip("\t") + "\n" for cells in lines)


def of_paper(paper: str) -> list[Doubt]:
  """What every check says of a paper's numbers, in the order of its tables."""
  rows = printed_rows.paper_rows(paper)
  out = [
    *_means(rows),
    *_drops(rows),
    *_twice(rows),
    *_named(paper, rows),
  ]
  if paper == interval_doubts.PAPER:
    out += interval_doubts.check(rows)
    out += [*_testbed(rows), *_medians(rows)]
  if paper == derived.PAPER:
    out += [*_groups(rows), *_accuracies()]
  if paper == raw_results.PAPER:
    out += _raw(rows)
  tables = list(printed_rows.facts(paper)["tables"])
  return sorted(out, key=lambda d: tables.index(d.rows[0].table))


def _lines(rows: Iterable[PrintedRow]) -> Iterator[dict[str, list[PrintedRow]]]:
  """Metric -> rows, of every line of every table."""
  lines: dict[tuple[str, int], dict[str, list[PrintedRow]]] = {}
  for row in rows:
    line = lines.setdefault((row.table, row.line), {})
    line.setdefault(row.metric, []).append(row)
  yield from lines.values()


def _means(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """mCE, mFR, mT5D against the mean of what stands beside them."""
  for line in _lines(rows):
    for mean, part in _MEANS.items():
      if mean in line and part in line:
        yield from _mean(line[mean][0], line[part], f"{part.upper()}s")


def _mean(
  mean: PrintedRow,
  parts: Sequence[PrintedRow],
  noun: str,
  better: Mapping[PrintedRow, float] | None = None,
  also: Sequence[PrintedRow] = (),
) -> Iterator[Doubt]:
  """Of a mean that is not that of its parts.

  Args:
    mean: the printed mean.
    parts: of it.
    noun: what they are.
    better: parts that are doubtful themselves, and what is used instead.
    also: other prints of the same mean.
  """
  ours = statistics.fmean(p.value for p in parts)
  allowed = (mean.digit + max(p.digit for p in parts)) / 2
  if abs(ours - mean.value) > allowed + _EPSILON:
    words = f"the mean of its {len(parts)} {noun} is {_as(mean, ours)}"
    used = statistics.fmean((better or {}).get(p, p.value) for p in parts)
    if abs(used - ours) > _EPSILON:
      words += f" ({_as(mean, used)} of those that are used)"
    same = mean, *also
    yield _recomputed(
      "mean", same, f"{words}, printed {mean.text}", [used] * len(same)
    )


def _recomputed(
  kind: str, rows: Sequence[PrintedRow], words: str, used: Sequence[float]
) -> Doubt:
  """Of numbers whose place others take."""
  of_rows = tuple((value, None, None) for value in used)
  return Doubt(tuple(rows), words, kind, used=of_rows)


def _groups(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """A group's row against its perturbations', the mean against the groups'.

  The groups come first: a mean is recomputed from those that are used.
  """
  groups = list(_of_perturbations(rows))
  used = ((r, v) for d in groups for r, (v, *_) in zip(d.rows, d.used))
  better = {row: value for row, value in used if value is not None}
  yield from groups
  for line in _lines(rows):
    for measure in derived.MEASURES:
      names = conditions.VIDEOS.groups
      of_groups = [line.get(f"{measure}/{g}", []) for g in names]
      whole = [r for r in line.get(measure, []) if not r.name]
      if whole and all(of_groups):
        parts = [g[0] for g in of_groups]
        yield from _mean(whole[0], parts, "groups", better)


def _of_perturbations(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Groups' means, also where another table prints the same number."""
  family = conditions.VIDEOS
  prints: dict[tuple, list[PrintedRow]] = {}
  for row in rows:
    same = row.datasets, row.label, row.metric, row.name, row.text
    prints.setdefault(same, []).append(row)
  for line in _lines(rows):
    for measure in derived.MEASURES:
      of_groups = [line.get(f"{measure}/{g}", []) for g in family.groups]
      for group, printed in zip(family.groups, of_groups, strict=True):
        members = family.members(group)
        parts = [r for r in line.get(measure, []) if r.name in members]
        if printed and parts:
          mean = printed[0]
          same = mean.datasets, mean.label, mean.metric, mean.name, mean.text
          also = [r for r in prints[same] if r.table != mean.table]
          yield from _mean(mean, parts, "perturbations", None, also)


def _drops(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """A printed drop against the difference of what it is the drop of."""
  for line in _lines(rows):
    for drop, before, after in _DROPS:
      if before not in line:
        continue
      by_name = [
        {r.name: r for r in line.get(m, [])} for m in (drop, before, after)
      ]
      for name, row in by_name[0].items():
        first, second = by_name[1][name], by_name[2][name]
        ours = first.value - second.value
        if abs(ours - row.value) > row.digit / 2 + _EPSILON:
          words = f"{first.text} - {second.text} = {_as(row, ours)}"
          words += f", printed {row.text}"
          yield _recomputed("difference", [row], words, [ours])


def _twice(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """A number that stands in two places in two ways."""
  places: dict[tuple, list[PrintedRow]] = {}
  for row in rows:
    if row.whole or row.metric in {m for m, *_ in _DROPS}:
      continue  # the testbed's counts and differences are checked on their own
    for dataset in row.datasets:
      network = same_names.network(row, dataset)
      key = dataset, network, row.metric, same_names.condition(row)
      places.setdefault(key, []).append(row)
  for key, same in places.items():
    conflicts = (_conflict(*pair) for pair in itertools.combinations(same, 2))
    if any(conflicts):
      by_text: dict[str, dict[str, None]] = {}
      for row in same:
        by_text.setdefault(row.text, {})[row.where] = None
      words = "; ".join(f"{t} in {', '.join(w)}" for t, w in by_text.items())
      subject = ", ".join(filter(None, key[1:]))
      yield _of_prints(same, words, subject, rows)


def _of_prints(
  same: Sequence[PrintedRow],
  words: str,
  subject: str,
  rows: Sequence[PrintedRow],
) -> Doubt:
  """Two prints of a number: where one is of perturbations, their mean is used."""
  measure, _, group = same[0].metric.partition("/")
  lines = {(r.table, r.line) for r in same}
  parts = [
    r.value
    for r in rows
    if (r.table, r.line) in lines
    and r.metric == measure
    and group in conditions.VIDEOS.groups
    and r.name in conditions.VIDEOS.members(group)
  ]
  if not parts:
    return Doubt(tuple(same), words, "twice", subject)
  used = [statistics.fmean(parts)] * len(same)
  doubt = _recomputed("mean", same, words, used)
  return dataclasses.replace(doubt, subject=subject)


def _conflict(first: PrintedRow, second: PrintedRow) -> bool:
  """Whether two prints of a number are no roundings of one number."""
  allowed = (first.digit + second.digit) / 2
  differ = abs(first.value - second.value) > allowed - _EPSILON
  return differ and first.text != second.text


def _testbed(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Tables 5 and 6 against the authors' testbed, where both have a network."""
  for table, beside in ((_VID, "testbed_vid"), (_YTBB, "testbed_ytbb")):
    counted = {(r.network, r.metric): r for r in rows if r.table == beside}
    for row in rows:
      other = counted.get((row.model, row.metric))
      if row.table == table and row.model and other:
        if abs(row.value - other.value) > row.digit / 2 + _EPSILON:
          words = f"the testbed has {other.text} of {other.whole:,} anchors,"
          words += f" {_as(row, other.value)}, printed {row.text}"
          yield _recomputed("count", [row], words, [other.value])


def _medians(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """The abstract's median drops against those of Tables 5 and 6."""
  for row in rows:
    if row.metric == "median_drop":
      drops = [
        r
        for r in rows
        if r.listed and r.metric == "drop" and r.datasets == row.datasets
      ]
      ours = statistics.median(d.value for d in drops)
      if abs(ours - row.value) > row.digit / 2 + _EPSILON:
        words = f"the median of {drops[0].where} is {_as(row, ours)}, printed"
        yield _recomputed("median", [row], f"{words} {row.text}", [ours])


def _accuracies() -> Iterator[Doubt]:
  """Networks whose rows imply no one accuracy on clean videos."""
  gammas = {}
  for dataset, table in derived.TABLES.items():
    for label, measures in derived.gammas(table).items():
      rows = tuple(itertools.chain(*(m.values() for m in measures.values())))
      gammas[dataset, label] = rows
  for implied in derived.clean_accuracies():
    if not implied.consistent:
      words = (
        "no accuracy A on clean videos fits all rows by A = (1 - gamma_a) /"
        f" (1 - gamma_r): the median is {100 * implied.value:.1f} %, one row asks"
        f" for at least {100 * implied.lo:.1f}, another for at most"
        f" {100 * implied.hi:.1f}"
      )
      yield Doubt(gammas[implied.dataset, implied.label], words, "accuracy")


def _raw(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """P, mPC and rPC against the authors' raw results."""
  for line in _lines(rows):
    for prefix in ("", "segm/"):
      parts = {p: line[prefix + p][0] for p in _PARTS if prefix + p in line}
      first = parts.get("p")
      cells = first and raw_results.cells(
        first.datasets[0], first.model, f"{prefix}p"
      )
      if cells:
        yield from _of_file(parts, raw_results.summary(cells))


def _of_file(
  parts: Mapping[str, PrintedRow], ours: Mapping[str, float]
) -> Iterator[Doubt]:
  """The numbers of a line that do not round to what its file gives."""
  off = [
    (row, ours[part])
    for part, row in parts.items()
    if abs(ours[part] - row.value) > row.digit / 2 + _EPSILON
  ]
  if off:
    given = ", ".join(f"{r.metric} {_as(r, v)}" for r, v in off)
    texts = ", ".join(r.text for r, _ in off)
    words = f"the file {off[0][0].model} gives {given}, printed {texts}"
    note = f"; {off[0][0].note}" if off[0][0].note else ""
    yield Doubt(tuple(r for r, _ in off), words + note, "file")


def _named(paper: str, rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Those that `paper.json` lists."""
  for doubt in printed_rows.facts(paper).get("doubts", ()):
    concerned = tuple(r for r in rows if _matches(r, doubt))
    fields = (doubt.get(f) for f in ("network", "metric", "name"))
    subject = ", ".join(filter(None, fields))
    yield Doubt(concerned, doubt["words"], doubt["kind"], subject)


def _matches(row: PrintedRow, doubt: Mapping[str, str]) -> bool:
  metric = doubt.get("metric", row.metric)
  return (
    row.table == doubt["table"]
    and row.network == doubt.get("network", row.network)
    and row.training == doubt.get("training", row.training)
    and (row.metric == metric or row.metric.endswith(f"/{metric}"))
    and row.name == doubt.get("name", row.name)
    and row.text == doubt.get("text", row.text)
  )


def _as(row: PrintedRow, value: float) -> str:
  """A value in the unit and with one digit more than a row is printed."""
  places = max(2, len(row.text.partition(".")[2]) + 1)
  percent = round(float(row.text) / row.value) == 100 if row.value else False
  return f"{100 * value if percent else value:.{places}f}"


if __name__ == "__main__":
  main()
