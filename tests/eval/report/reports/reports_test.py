"""Every report of every task, on made-up tables: complete, escaped, stable."""

import functools
import html
import pathlib
import re
import tempfile
import zlib

import pytest
from absl.testing import absltest, parameterized

from eval.report import reports
from eval.report.reports import base
from robust_tfds import reading
from robust_tfds.charts import style
from tests.eval.report.pages import html_check
from tests.eval.report.reports import contexts

_TASKS = tuple(contexts.FACTS)
_EVERY_TASK = (
  "summary.txt",
  "leaderboard.md",
  "leaderboard.tex",
  "report.html",
)
_FILES = {
  "classification": (
    *("adaptation.md", "cells.md", "published.md"),
    *("gallery.png", "reliability.svg"),
    "severity_curves.svg",
  ),
  "sequences": (
    *("cells.md", "published.md", "strips.png", "stability_scatter.svg"),
  ),
  "frames": (
    *("natural_perturbations.md", "natural_classes.png"),
    *("natural_distances.png", "natural_gallery.png", "natural_k_curve.svg"),
    *("natural_offsets.png", "natural_scatter.png"),
  ),
  "frame_detection": ("worst_frames.md", "worst_frames.png"),
  "subtypes": ("subtype_types.png", "subtype_types.svg"),
  "detection": ("cells.md", "detection_gallery.png"),
  "segmentation": (
    *("cells.md", "segmentation_classes.md", "segmentation_classes.png"),
    *("segmentation_gallery.png", "severity_curves.png"),
  ),
  "video": (
    *("action_confusion.png", "action_confusion.md", "action_curves.png"),
    *("action_scatter.svg", "action_shifts.md"),
    *("action_shifts.png", "action_strips.png", "reliability.png"),
  ),
}


def _write(task: str, **changes) -> dict[str, bytes]:
  with tempfile.TemporaryDirectory() as folder:
    context = contexts.of_task(task, **changes)
    paths = reports.write_all(context, pathlib.Path(folder))
    return {p.name: p.read_bytes() for p in paths}


def _charts(task: str) -> list[base.Chart]:
  return [r for r in reports.task_reports(task) if isinstance(r, base.Chart)]


@functools.cache
def _files(task: str) -> dict[str, bytes]:
  """All files of a task, with a model and classes of evil names."""
  return _write(
    task,
    models=(contexts.EVIL, "b"),
    class_names=(contexts.EVIL, f"{contexts.EVIL}\n", "newt"),
  )


class ReportsTest(parameterized.TestCase):
  @parameterized.parameters(*_TASKS)
  def test_every_report_is_written(self, task):
    self.assertContainsSubset({*_EVERY_TASK, *_FILES[task]}, _files(task))
    for chart in _charts(task):
      self.assertIn(f"{chart.stem}.png", _files(task))

  def test_no_report_is_without_a_picture_or_a_file_above(self):
    """A new report without a line in `_FILES` is never written in a test."""
    for task in _TASKS:
      context = contexts.of_task(task)
      for report in reports.task_reports(task):
        if not isinstance(report, base.Chart):
          folder = pathlib.Path(self.create_tempdir().full_path)
          names = {p.name for p in report.write(context, folder)}
          if type(report).__module__.startswith(
            "eval.report.reports.every_task"
          ):
            known = {*_EVERY_TASK, "published.md"}
            known |= {"citations.bib"}
          else:
            known = set(_FILES[task])
          self.assertLessEqual(names, known, type(report))

  @parameterized.parameters(*_TASKS)
  def test_html_is_self_contained_and_escaped(self, task):
    text = _files(task)["report.html"].decode()
    self.assertNotIn("<script", text)
    self.assertIn("&lt;script&gt;", text)
    page = html_check.Page(text, images=True)
    self.assertEmpty(page.faults)
    inside = ("#", "data:image/")
    files = {x for x in page.links if not x.startswith(inside)}
    self.assertContainsSubset(files, _files(task))

  @parameterized.parameters(*_TASKS)
  def test_every_figure_says_how_to_read_it_and_what_it_shows(self, task):
    page = html_check.Page(_files(task)["report.html"].decode(), images=True)
    for chart in _charts(task):
      self.assertEqual(bool(chart.caption), bool(chart.reading), chart.stem)
      shown = chart.page_chart(contexts.of_task(task))
      if shown:
        self.assertIn(shown.stem, page.ids)
        self.assertTrue(shown.lines or chart.shows, chart.stem)
    for name, known in page.elements:
      if name == "img" or known.get("role") == "img":
        alt = known.get("alt") or known["aria-label"]
        self.assertNotIn(alt, ["", *(c.caption for c in _charts(task))])

  @parameterized.parameters(*_TASKS)
  def test_markdown_is_escaped(self, task):
    for name, content in _files(task).items():
      if name.endswith(".md"):
        text = content.decode()
        self.assertNotIn("<script", text, name)
        self.assertIn("a\\_b&amp;c\\|&lt;script", text, name)
        self.assertNotRegex(text, r"(?<!\\)\]\(javascript", name)

  @parameterized.parameters(*_TASKS)
  def test_figures_are_escaped(self, task):
    for name, content in _files(task).items():
      if name.endswith(".svg"):
        self.assertNotIn(b"<script", content, name)
        declared = rb"<!DOCTYPE[^>]*>"  # matplotlib's, which we never read
        reading.xml_text(re.sub(declared, b"", content), name)

  def test_latex_is_escaped(self):
    text = _files("classification")["leaderboard.tex"].decode()
    self.assertIn(r"{[}y](javascript:z) \$\textbackslash{}frac\{", text)

  @pytest.mark.slow
  def test_equal_contexts_are_equal_bytes(self):
    one, two = _files("sequences"), _files.__wrapped__("sequences")
    self.assertEqual(
      {n: zlib.crc32(b) for n, b in one.items()},
      {n: zlib.crc32(b) for n, b in two.items()},
    )

  @pytest.mark.slow
  def test_any_number_of_models(self):
    """More than there are colours; a reliability diagram of each."""
    models = [f"model_{i}" for i in range(len(style.COLOURS) + 1)]
    reliability = contexts.of_task("classification", models=models).reliability
    files = _write(
      "classification",
      models=models,
      names=("fog",),
      reliability={k: v for k, v in reliability.items() if not k[1]},
    )
    self.assertIn(models[-1], files["report.html"].decode())

  @parameterized.parameters(*_TASKS)
  def test_clean_only(self, task):
    nothing = {"samples": {}, "gallery": {}, "overlays": {}, "confusions": {}}
    files = _write(task, names=(), models=("alone",), **nothing)
    self.assertContainsSubset(_EVERY_TASK, files)
    for name in (
      *("severity_curves.png", "gallery.png", "strips.png"),
      *("detection_gallery.png", "worst_frames.png"),
      *("natural_gallery.png", "action_confusion.png", "action_curves.png"),
      "action_strips.png",
    ):
      self.assertNotIn(name, files)

  def test_a_task_without_a_folder_has_what_every_task_has(self):
    modules = {type(r).__module__ for r in reports.task_reports("depth")}
    self.assertIn("eval.report.reports.every_task.summary", modules)
    for module in modules:
      self.assertStartsWith(module, "eval.report.reports.every_task.")

  def test_the_page_comes_last(self):
    self.assertEqual(list(_files("frames"))[-1], "report.html")


class PageTest(absltest.TestCase):
  def test_what_the_page_shows_in_its_order(self):
    page = _files("classification")["report.html"].decode()
    titles = re.findall("<h2>(.*?)</h2>", page)
    evil = html.escape(contexts.EVIL).replace("&quot;", "&#34;")
    evil = evil.replace("_", "_<wbr>")  # where a long name may break
    self.assertEqual(
      titles,
      [
        "One example under every corruption",
        "What a real ImageNet network says",
        "Error over the stream",
        "Reliability",
        "Severity curves",
        "Every corruption",
        f"<bdi>{evil}</bdi>",
        "<bdi>b</bdi>",
        "What the numbers are",
        "This run",
      ],
    )
    first = [
      page.index(part)
      for part in (
        'class="verdict"',
        "data:image",
        "<table",
        'class="contents"',
      )
    ]
    self.assertEqual(first, sorted(first))
