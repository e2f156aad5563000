"""Write which printed numbers contradict other printed numbers.

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
  "mean_miou": "miou",
}
_SMALLEST = {"gam": "miou"}
# A difference, and what it is the difference of.
_DROPS = (
  ("drop", "acc_orig", "acc_pmk"),
  ("drop", "map_orig", "map_pmk"),
  ("localization/drop", "localization/map_orig", "localization/map_pmk"),
)
_VID, _YTBB = "table5", "table6"
_PARTS = ("p", "mpc", "rpc")


def main() -> None:
  """Write a file for each paper."""
  for paper in printed_rows.names():
    doubt_lib.path(paper).write_text(text(paper), "utf-8")


def text(paper: str) -> str:
  """Return a paper's doubts as the text of their file."""
  lines = [doubt_lib.COLUMNS]
  for number, doubt in enumerate(paper_doubts(paper), 1):
    words = doubt.subject, doubt.words, doubt.kind
    used = doubt.used or [(None,) * 3] * len(doubt.rows)
    for row, better in zip(doubt.rows, used, strict=True):
      place = row.table, str(row.line), row.metric, row.name
      ends = ("" if v is None else f"{v:.6g}" for v in better)
      lines.append((str(number), *place, *words, *ends))
      words = "", "", ""
  return "".join("\t".join(cells).rstrip("\t") + "\n" for cells in lines)


def paper_doubts(paper: str) -> list[Doubt]:
  """Return all doubts about a paper's numbers, in the order of its tables."""
  rows = printed_rows.paper_rows(paper)
  out = [
    *_means(rows),
    *_smallest(rows),
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
  """Yield metric -> rows of every line of every table."""
  lines: dict[tuple[str, int], dict[str, list[PrintedRow]]] = {}
  for row in rows:
    line = lines.setdefault((row.table, row.line), {})
    line.setdefault(row.metric, []).append(row)
  yield from lines.values()


def _means(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Compare mCE, mFR and mT5D with the means of their parts."""
  for line in _lines(rows):
    for mean, part in _MEANS.items():
      if mean in line and part in line:
        yield from _mean(line[mean][0], line[part], f"{part.upper()}s")


def _smallest(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Compare GAM with the smallest of its parts."""
  for line in _lines(rows):
    for whole, part in _SMALLEST.items():
      if whole not in line or part not in line:
        continue
      printed, least = line[whole][0], min(r.value for r in line[part])
      if abs(least - printed.value) > printed.digit / 2 + _EPSILON:
        words = f"the smallest of its {len(line[part])} mIoUs is {_text(printed, least)}"
        words += f", printed {printed.text}"
        yield _recomputed("smallest", (printed,), words, [least])


def _mean(
  mean: PrintedRow,
  parts: Sequence[PrintedRow],
  noun: str,
  better: Mapping[PrintedRow, float] | None = None,
  also: Sequence[PrintedRow] = (),
) -> Iterator[Doubt]:
  """Yield the doubt about a mean that differs from the mean of its parts.

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
    words = f"the mean of its {len(parts)} {noun} is {_text(mean, ours)}"
    used = statistics.fmean((better or {}).get(p, p.value) for p in parts)
    if abs(used - ours) > _EPSILON:
      words += f" ({_text(mean, used)} of those that are used)"
    same = mean, *also
    yield _recomputed(
      "mean", same, f"{words}, printed {mean.text}", [used] * len(same)
    )


def _recomputed(
  kind: str, rows: Sequence[PrintedRow], words: str, used: Sequence[float]
) -> Doubt:
  """Return the doubt about numbers that are replaced by recomputed ones."""
  of_rows = tuple((value, None, None) for value in used)
  return Doubt(tuple(rows), words, kind, used=of_rows)


def _groups(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Compare groups' rows with their perturbations', and the mean with the groups'.

  The groups come first: a mean is recomputed from those that are used.
  """
  groups = list(_perturbation_means(rows))
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


def _perturbation_means(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Yield doubts about groups' means, also if another table prints the same number."""
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
  """Compare printed drops with the differences of their terms."""
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
          words = f"{first.text} - {second.text} = {_text(row, ours)}"
          words += f", printed {row.text}"
          yield _recomputed("difference", [row], words, [ours])


def _twice(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Yield doubts about numbers printed differently in two places."""
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
      yield _print_doubt(same, words, subject, rows)


def _print_doubt(
  same: Sequence[PrintedRow],
  words: str,
  subject: str,
  rows: Sequence[PrintedRow],
) -> Doubt:
  """Return the doubt about two prints; the mean of perturbations is used if printed."""
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
  """Return whether two prints cannot be roundings of one number."""
  allowed = (first.digit + second.digit) / 2
  differ = abs(first.value - second.value) > allowed - _EPSILON
  return differ and first.text != second.text


def _testbed(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Compare Tables 5 and 6 with the authors' testbed, for networks of both."""
  for table, beside in ((_VID, "testbed_vid"), (_YTBB, "testbed_ytbb")):
    counted = {(r.network, r.metric): r for r in rows if r.table == beside}
    for row in rows:
      other = counted.get((row.model, row.metric))
      if row.table == table and row.model and other:
        if abs(row.value - other.value) > row.digit / 2 + _EPSILON:
          words = f"the testbed has {other.text} of {other.whole:,} anchors,"
          words += f" {_text(row, other.value)}, printed {row.text}"
          yield _recomputed("count", [row], words, [other.value])


def _medians(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Compare the abstract's median drops with those of Tables 5 and 6."""
  for row in rows:
    if row.metric == "median_drop":
      drops = [
        r
        for r in rows
        if r.listed and r.metric == "drop" and r.datasets == row.datasets
      ]
      ours = statistics.median(d.value for d in drops)
      if abs(ours - row.value) > row.digit / 2 + _EPSILON:
        words = f"the median of {drops[0].where} is {_text(row, ours)}, printed"
        yield _recomputed("median", [row], f"{words} {row.text}", [ours])


def _accuracies() -> Iterator[Doubt]:
  """Yield doubts about networks whose rows imply no single clean accuracy."""
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
  """Compare P, mPC and rPC with the authors' raw results."""
  for line in _lines(rows):
    for prefix in ("", "segm/"):
      parts = {p: line[prefix + p][0] for p in _PARTS if prefix + p in line}
      first = parts.get("p")
      cells = first and raw_results.cells(
        first.datasets[0], first.model, f"{prefix}p"
      )
      if cells:
        yield from _file_doubts(parts, raw_results.summary(cells))


def _file_doubts(
  parts: Mapping[str, PrintedRow], ours: Mapping[str, float]
) -> Iterator[Doubt]:
  """Yield the doubt about a line's numbers that do not follow from its file."""
  off = [
    (row, ours[part])
    for part, row in parts.items()
    if abs(ours[part] - row.value) > row.digit / 2 + _EPSILON
  ]
  if off:
    given = ", ".join(f"{r.metric} {_text(r, v)}" for r, v in off)
    texts = ", ".join(r.text for r, _ in off)
    words = f"the file {off[0][0].model} gives {given}, printed {texts}"
    note = f"; {off[0][0].note}" if off[0][0].note else ""
    yield Doubt(tuple(r for r, _ in off), words + note, "file")


def _named(paper: str, rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Yield the doubts that `paper.json` lists."""
  for doubt in printed_rows.facts(paper).get("doubts", ()):
    concerned = tuple(r for r in rows if _matches(r, doubt))
    fields = (doubt.get(f) for f in ("network", "training", "metric", "name"))
    subject = ", ".join(filter(None, fields))
    yield Doubt(concerned, doubt["words"], doubt["kind"], subject)


def _matches(row: PrintedRow, doubt: Mapping[str, str]) -> bool:
  metric = doubt.get("metric", row.metric)
  return (
    row.table == doubt["table"]
    and row.network == doubt.get("network", row.network)
    and row.training == doubt.get("training", row.training)
    and ("dataset" not in doubt or doubt["dataset"] in row.datasets)
    and (row.metric == metric or row.metric.endswith(f"/{metric}"))
    and row.name == doubt.get("name", row.name)
    and row.text == doubt.get("text", row.text)
  )


def _text(row: PrintedRow, value: float) -> str:
  """Return a value in the row's unit, with one digit more."""
  places = max(2, len(row.text.partition(".")[2]) + 1)
  percent = round(float(row.text) / row.value) == 100 if row.value else False
  return f"{100 * value if percent else value:.{places}f}"


if __name__ == "__main__":
  main()
