"""Which printed numbers of Schiappa et al. 2023 follow from which others.

  python tools/video_tables.py FOLDER > docs/VIDEO_TABLES.md

FOLDER holds the paper's tables as CSV (`table4_kinetics400_p.csv`, ...). A group's
row of Tables 4-7 should be the mean of its perturbations' rows, Table 2's Mean
that of its five groups, both to the last printed digit.
"""

from __future__ import annotations

import csv
import pathlib
import sys

from robust_tfds import conditions

_TABLES = {
  4: "table4_kinetics400_p",
  5: "table5_ssv2_p",
  6: "table6_ucf101_p",
  7: "table7_hmdb51_p",
}
# Half a digit of the mean and of its parts.
_TOLERANCE = 0.01 + 1e-9


def main() -> None:
  """Prints the report as Markdown."""
  folder = pathlib.Path(sys.argv[1])
  print("# Schiappa et al. 2023: printed means against their printed parts\n")
  print("Made by `tools/video_tables.py`. Agree: within 0.01, half a printed")
  print("digit of the mean and of its parts.\n")
  print("| table | means | agree |\n|---|---|---|")
  differences = []
  groups = {f"{n}": _groups(folder, name) for n, name in _TABLES.items()}
  groups["2 (Mean)"] = _means(folder)
  for table, cells in groups.items():
    wrong = [c for c in cells if abs(c[-1] - c[-2]) > _TOLERANCE]
    differences += [(table, *c) for c in wrong]
    print(f"| {table} | {len(cells)} | {len(cells) - len(wrong)} |")
  print("\nThose that do not agree, ours being the mean of the printed rows:\n")
  print("| table | of | model | measure | printed | ours | difference |")
  print("|---|---|---|---|---|---|---|")
  for table, of, model, measure, printed, ours in differences:
    print(
      f"| {table} | {of} | {model} | {measure} | {printed:.2f} | {ours:.3f} |"
      f" {ours - printed:+.3f} |"
    )


def _rows(folder: pathlib.Path, name: str) -> list[dict[str, str]]:
  with open(folder / f"{name}.csv", newline="", encoding="utf-8") as f:
    return list(csv.DictReader(f))


def _groups(folder, name):
  """(group, model, measure, printed, mean of its rows)."""
  rows, out = _rows(folder, name), []
  columns = [k for k in rows[0] if k.endswith(("gamma_a", "gamma_r"))]
  for mean in (r for r in rows if r["is_category_mean"] == "1"):
    parts = [
      r
      for r in rows
      if r["category"] == mean["category"] and r["is_category_mean"] == "0"
    ]
    for column in columns:
      if mean[column] and all(r[column] for r in parts):
        model, measure = column.rsplit("_gamma_", 1)
        ours = sum(float(r[column]) for r in parts) / len(parts)
        out.append(
          (
            mean["category"],
            model,
            f"gamma_{measure}",
            float(mean[column]),
            ours,
          )
        )
  return out


def _means(folder):
  """(Mean, model, measure, printed, mean of the five groups)."""
  out = []
  for row in _rows(folder, "table2_kinetics400_p_summary"):
    for measure in ("gamma_a", "gamma_r"):
      groups = [
        float(row[f"{g.capitalize()}_{measure}"])
        for g in conditions.VIDEOS.groups
      ]
      model = next(iter(row.values()))
      printed = float(row[f"Mean_{measure}"])
      out.append(("Mean", model, measure, printed, sum(groups) / len(groups)))
  return out


if __name__ == "__main__":
  main()
