"""Reports on made-up tables: complete, escaped, the same bytes twice."""

import pathlib
import re

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from eval import reports
from eval.metrics import corruption_error
from eval.reports import leaderboard_latex
from eval.reports import screen
from eval.results import table

_EVIL = 'a_b&c|<script>alert("x")</script>'


def _context(models=("ours", "base"), names=corruption_error.ALL, **changes):
  rows = []
  for m, model in enumerate(models):

    def row(corruption, severity, metric, value, n=None, model=model):
      config = f"{corruption}_{severity}" if corruption and severity else ""
      rows.append(
        table.Row(
          model=model,
          dataset="digits_c",
          config="clean" if severity == 0 else config,
          corruption=corruption,
          severity=severity,
          metric=metric,
          value=value,
          lo=max(value - 0.05, 0),
          hi=min(value + 0.05, 1),
          n=n,
        )
      )

    row("", 0, "error", 0.1, 100)
    for name in names:
      for s in range(1, 6):
        row(name, s, "error", 0.1 + 0.1 * s + 0.05 * m, 100)
      row(name, None, "mean_error", 0.4)
      row(name, None, "ce", 0.9 + 0.1 * m)
    row("", None, "clean_error", 0.1)
    if set(corruption_error.COMMON) <= set(names):
      row("", None, "mean_corruption_error", 0.4)
      row("", None, "mce", 0.9 + 0.1 * m)
  fields = dict(
    task="classification",
    dataset="digits_c",
    rows=rows,
    corruptions=tuple(names),
    groups=corruption_error.GROUPS,
    common=corruption_error.COMMON,
    baseline="AlexNet (its source)",
    samples={
      (n, s): np.zeros((8, 8, 3), np.uint8) for n in names for s in range(1, 6)
    }
    | {("", 0): np.zeros((8, 8, 3), np.uint8)},
    provenance=("made up",),
  )
  return reports.Context(**{**fields, **changes})


class ReportsTest(parameterized.TestCase):
  def _write(self, context, name="a") -> dict[str, bytes]:
    folder = pathlib.Path(self.create_tempdir(name).full_path)
    return {p.name: p.read_bytes() for p in reports.write_all(context, folder)}

  def test_everything_twice_the_same_bytes(self):
    one, two = self._write(_context(), "one"), self._write(_context(), "two")
    self.assertContainsSubset(
      {
        "summary.txt",
        "leaderboard.md",
        "leaderboard.tex",
        "cells.md",
        "severity_curves.png",
        "heat_map.png",
        "gallery.png",
        "report.html",
      },
      one,
    )
    self.assertEqual(one, two)

  def test_html_is_self_contained_and_escaped(self):
    page = self._write(_context(models=(_EVIL, "b")))["report.html"].decode()
    self.assertNotIn("<script", page)
    self.assertIn("&lt;script&gt;", page)
    for link in re.findall(r'(?:src|href)="([^"]*)"', page):
      self.assertStartsWith(link, "data:image/png;base64,")
    self.assertNotIn("http://", page)

  def test_markdown_and_latex_are_escaped(self):
    files = self._write(_context(models=(_EVIL, "b")))
    self.assertIn("a\\_b&amp;c\\|&lt;script", files["leaderboard.md"].decode())
    self.assertIn("a\\_b\\&c\\textbar{}", files["leaderboard.tex"].decode())
    self.assertEqual(
      leaderboard_latex.escape("50%_\\"), "50\\%\\_\\textbackslash{}"
    )

  def test_best_is_bold_and_percent_is_printed(self):
    text = self._write(_context())["leaderboard.md"].decode()
    self.assertIn("| ours | 10.0 |", text.replace("**", ""))
    self.assertIn("**90.0**", text)

  def test_missing_common_corruptions_are_named(self):
    text = screen.render(_context(names=("fog", "snow", "spatter")))
    self.assertIn("No mCE: the run lacks gaussian_noise", text)
    self.assertNotIn("lacks fog", text)

  @parameterized.parameters(1, 12)
  def test_any_number_of_models(self, n):
    files = self._write(_context(models=[f"model_{i}" for i in range(n)]))
    self.assertIn(f"model_{n - 1}", files["report.html"].decode())

  def test_clean_only(self):
    files = self._write(_context(names=(), samples={}))
    self.assertNotIn("severity_curves.png", files)
    self.assertIn("report.html", files)

  def test_published_numbers_beside_ours(self):
    published = {"ours": {"mce": 0.95, "source": "a paper"}}
    text = self._write(_context(published=published))["published.md"].decode()
    self.assertIn("| ours | mce | 95.0 | 90.0 | -5.0 | a paper |", text)


if __name__ == "__main__":
  absltest.main()
