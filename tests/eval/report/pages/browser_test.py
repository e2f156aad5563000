"""The site in Chromium, from files: sorting, filters, downloads, keyboard, axe.

One browser and one site for all tests; skipped with the reason where Chromium,
Playwright or axe-core are not installed, see `browser.py`.
"""

import csv
import pathlib
import re
import tempfile
from typing import Any

from absl.testing import absltest, parameterized
from etils import epath

from eval.report import reports
from eval.report.pages import site
from models.training.monitoring import report
from tests import quick
from tests.eval.report.pages import boards, browser
from tests.eval.report.reports import contexts
from tests.models.training import tiny_trainings

_WIDE, _NARROW = 1280, 390
_BOARD = "boards/imagenet-c-jpeg85.html"
_KINDS = (
  "index.html",
  "definitions.html",
  _BOARD,
  "boards/imagenet-p.html",
  "boards/imagenet-vid-robust.html",
  "models/imagenet-c-jpeg85-0.html",
  "models/imagenet-c-jpeg85-printed-0.html",
  "models/imagenet-vid-robust-0.html",
)
# Reports of runs beside the site.
_REPORTS = tuple(
  f"{kind}/report.html" for kind in (*contexts.FACTS, "training")
)
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
_AXE = """async (tags) => (await axe.run(document, {runOnly: tags})).violations.map(
  (v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html).join(" | "))"""


class Shared:
  """What all tests use."""

  folder: Any = None
  site: pathlib.Path
  playwright: Any = None
  chromium: Any = None


def setUpModule():
  if browser.missing():
    raise absltest.SkipTest(browser.missing())
  from playwright import sync_api

  Shared.folder = tempfile.TemporaryDirectory()
  Shared.site = pathlib.Path(Shared.folder.name) / "a site"
  site.write(boards.several(), Shared.site)
  for task in contexts.FACTS:
    reports.write_all(contexts.of_task(task), Shared.site / task)
  lines = [
    {"step": 1, "loss": 2.0, "seconds": 1},
    {"step": 9, "loss": 1.0, "seconds": 2},
  ]
  workdir = epath.Path(Shared.site / "training")
  workdir.mkdir()
  report.Report(tiny_trainings.prepared(), workdir, 12, print).write(lines)
  Shared.playwright = sync_api.sync_playwright().start()
  Shared.chromium = Shared.playwright.chromium.launch(
    executable_path=browser.chromium(), args=["--no-sandbox"]
  )


def tearDownModule():
  if Shared.chromium is not None:
    Shared.chromium.close()
    Shared.playwright.stop()
    Shared.folder.cleanup()


class BrowserTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.said: list[str] = []
    self.requests: list[str] = []

  def _open(self, path, *, width=_WIDE, hash_="", **context):
    opened = Shared.chromium.new_context(
      viewport={"width": width, "height": 800}, **context
    )
    self.addCleanup(opened.close)
    page = opened.new_page()
    page.set_default_timeout(20_000)
    page.on("console", lambda message: self.said.append(message.text))
    page.on("pageerror", lambda error: self.said.append(str(error)))
    page.on("request", lambda request: self.requests.append(request.url))
    page.goto((Shared.site / path).as_uri() + hash_)
    return page

  def _column(self, page, key, table="board") -> list[str]:
    """The first text of a column's cells that are seen."""
    return page.evaluate(
      """([id, key]) => {
        const table = document.getElementById(id);
        const head = [...table.querySelectorAll("thead tr:last-child > th")]
          .findIndex((h) => h.dataset.k === key);
        return [...table.tBodies[0].rows].filter((r) => !r.hidden)
          .map((r) => r.cells[head])
          .map((c) => (c.querySelector("a") ?? c.firstChild).textContent);
      }""",
      [table, key],
    )

  def _sort(self, page, key, table="board"):
    page.locator(f'#{table} th[data-k="{key}"] button').click()

  def test_rank_and_main_number_are_seen_on_a_phone(self):
    for path, table in (("index.html", "all"), (_BOARD, "board")):
      page = self._open(path, width=_NARROW)
      right = page.evaluate(
        """(table) => Math.max(...[...document.getElementById(table).rows]
          .flatMap((r) => [...r.cells].slice(0, 3))
          .map((c) => c.getBoundingClientRect().right))""",
        table,
      )
      self.assertLessEqual(right, _NARROW, path)

  @quick.cases(
    [(path, "light", _WIDE) for path in (*_KINDS, *_REPORTS)]
    + [(path, "dark", _NARROW) for path in (*_KINDS[:2], *_REPORTS)],
    [(path, "dark", _NARROW) for path in _KINDS[2:]],
  )
  def test_page(self, path, scheme, width):
    page = self._open(path, width=width, color_scheme=scheme)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    self.assertLessEqual(wide, 0, "the page scrolls sideways")
    self.assertEmpty(self.said)
    loaded = [url for url in self.requests if not url.startswith("data:")]
    self.assertEqual(loaded, [page.url])
    source = browser.axe()
    if not source:
      self.skipTest("axe-core is not installed: npm install axe-core")
    page.evaluate(source)
    self.assertEmpty(page.evaluate(_AXE, _RULES))

  def test_no_white_picture_on_a_dark_page(self):
    for path in _REPORTS:
      page = self._open(path, color_scheme="dark")
      looks = page.locator(".chart").evaluate_all(
        "images => images.map((e) => getComputedStyle(e).filter)"
      )
      self.assertLessEqual(set(looks), {"invert(1) hue-rotate(180deg)"}, path)
      broken = page.locator("img").evaluate_all(
        "images => images.filter((e) => !e.naturalWidth).length"
      )
      self.assertEqual(broken, 0, path)

  def test_sorting_is_by_number_and_missing_ones_are_last(self):
    page = self._open(_BOARD)
    first = self._column(page, "model")
    self._sort(page, "mean_corruption_error")
    values = self._column(page, "mean_corruption_error")
    numbers = [float(v) for v in values if v != "–"]
    self.assertEqual(numbers, sorted(numbers))
    self.assertEqual(values[-2:], ["–", "–"])
    head = page.locator('#board th[data-k="mean_corruption_error"]')
    self.assertEqual(head.get_attribute("aria-sort"), "ascending")
    self._sort(page, "mean_corruption_error")
    values = self._column(page, "mean_corruption_error")
    numbers = [float(v) for v in values if v != "–"]
    self.assertEqual(numbers, sorted(numbers, reverse=True))
    self.assertEqual(values[-2:], ["–", "–"])
    self.assertEqual(page.locator("[aria-sort]").count(), 1)
    self._sort(page, "rank")
    self.assertEqual(self._column(page, "model"), first)

  def test_where_more_is_better_the_best_come_first(self):
    page = self._open("boards/coco-c.html")
    self._sort(page, "p")
    numbers = [float(v) for v in self._column(page, "p")]
    self.assertEqual(numbers, sorted(numbers, reverse=True))

  def test_the_heat_map_sorts_by_every_condition(self):
    page = self._open(_BOARD)
    self._sort(page, "fog_3", "cells")
    numbers = [float(v) for v in self._column(page, "fog_3", "cells")]
    self.assertEqual(numbers, sorted(numbers))

  def test_filters_and_their_address(self):
    page = self._open(_BOARD)
    page.get_by_label("Model", exact=True).fill("model-00")
    self.assertLen(self._column(page, "model"), 10)
    self.assertIn("10 of 14", page.locator("output").inner_text())
    page.locator("select[name=c]").select_option("fog")
    page.locator("select[name=l]").select_option("3")
    seen = page.locator("#cells thead tr:last-child th[data-l]:visible")
    self.assertEqual(seen.count(), 1)
    self.assertEqual(seen.get_attribute("data-k"), "fog_3")
    self._sort(page, "mce")
    again = self._open(_BOARD, hash_="#" + page.url.partition("#")[2])
    self.assertEqual(self._column(again, "model"), self._column(page, "model"))
    label = again.locator("select[name=c]")
    self.assertEqual(label.input_value(), "fog")
    again.get_by_role("button", name="Show all").click()
    again.wait_for_function(
      "document.querySelectorAll('#board tbody tr[hidden]').length === 0"
    )
    self.assertLen(self._column(again, "model"), 14)

  def test_states_and_groups_filter(self):
    page = self._open(_BOARD)
    page.get_by_label("Entries").select_option("printed")
    self.assertEqual(self._column(page, "model"), ["Printed 0", "Printed 1"])
    page.get_by_label("Entries").select_option("ranked")
    self.assertLen(self._column(page, "model"), 12)
    page.locator("select[name=c]").select_option("group:weather")
    seen = page.locator("#cells thead tr:last-child th[data-l]:visible")
    self.assertEqual(seen.count(), 25)

  def test_the_index_filters_boards_and_models(self):
    page = self._open("index.html")
    page.get_by_label("Task").select_option("detection")
    self.assertEqual(page.locator(".dataset:visible").count(), 1)
    self.assertLen(self._column(page, "model", "all"), 2)
    page.get_by_label("Task").select_option("")
    page.get_by_label("Corruption or perturbation").select_option("tilt")
    self.assertEqual(page.locator(".dataset:visible").count(), 1)
    page.get_by_label("Corruption or perturbation").select_option("")
    page.get_by_label("Model or data set").fill("video-1")
    self.assertEqual(self._column(page, "model", "all"), ["video-1"])

  def test_files_of_the_site_are_downloaded(self):
    page = self._open(_BOARD)
    with page.expect_download() as download:
      page.locator("a[download]").first.click()
    text = pathlib.Path(download.value.path()).read_text("utf-8")
    file = Shared.site / "boards" / "imagenet-c-jpeg85.csv"
    self.assertEqual(text, file.read_text("utf-8"))

  def test_rows_that_are_seen_are_downloaded_safely(self):
    (path,) = Shared.site.glob("boards/Odd.html")
    page = self._open(path.relative_to(Shared.site))
    self._sort(page, "mce")
    page.get_by_label("Entries").select_option("ours")
    with page.expect_download() as download:
      page.get_by_role("button", name="Download these rows").click()
    text = pathlib.Path(download.value.path()).read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    self.assertLen(rows, len(boards.ODD_NAMES))
    labels = {row["model"] for row in rows}
    self.assertIn('\'=HYPERLINK("http://example.org")', labels)
    self.assertIn("'+1-2@x", labels)
    values = [float(row["mce"]) for row in rows if row["mce"]]
    self.assertEqual(values, sorted(values))
    self.assertLess(float(rows[0]["mce_lo"]), values[0])
    self.assertEmpty(self.said)

  def test_keyboard(self):
    page = self._open(_BOARD)
    page.keyboard.press("Tab")
    focused = "document.activeElement"
    self.assertEqual(page.evaluate(f"{focused}.className"), "skip")
    self.assertTrue(page.locator(".skip").is_visible())
    page.keyboard.press("Enter")
    self.assertEqual(page.evaluate(f"{focused}.id"), "main")
    steps = []
    for _ in range(14):
      page.keyboard.press("Tab")
      steps.append(
        page.evaluate(
          f"[{focused}.tagName, {focused}.textContent.slice(0, 12),"
          f" getComputedStyle({focused}).outlineStyle]"
        )
      )
    for name, text, outline in steps:
      self.assertEqual(outline, "solid", f"{name} {text}")
    self.assertIn("INPUT", [s[0] for s in steps])
    self.assertIn("DIV", [s[0] for s in steps])  # the box that scrolls
    buttons = [s[1] for s in steps if s[0] == "BUTTON"]
    self.assertIn("mCE, %", buttons)
    page.locator('#board th[data-k="mce"] button').focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    head = page.locator('#board th[data-k="mce"]')
    self.assertEqual(head.get_attribute("aria-sort"), "descending")

  def test_a_link_into_the_page_leaves_what_was_chosen(self):
    page = self._open(_BOARD)
    page.get_by_label("Entries").select_option("printed")
    page.locator("a[href='#reference-1']").first.click()
    page.wait_for_function("location.hash === '#reference-1'")
    self.assertLen(self._column(page, "model"), 2)
    self._sort(page, "mce")
    self.assertIn("s=printed", page.url)
    page.evaluate("location.hash = 's=ranked'")
    page.wait_for_function(
      "document.querySelector('select[name=s]').value === 'ranked'"
    )
    self.assertLen(self._column(page, "model"), 12)

  def test_without_a_script(self):
    page = self._open(_BOARD, java_script_enabled=False)
    self.assertFalse(page.locator("form").is_visible())
    self.assertEqual(page.locator("button:visible").count(), 0)
    ranks = page.locator("#board tbody tr td:first-child").all_inner_texts()
    self.assertEqual([r.split()[0] for r in ranks[:3]], ["1", "2", "3"])
    page.locator("#board tbody a").first.click()
    self.assertRegex(page.locator("h1").inner_text(), "^model-")
    self.assertEqual(page.locator("figure:visible").count(), 1)

  def test_names_are_texts(self):
    (path,) = Shared.site.glob("boards/Odd.html")
    page = self._open(path.relative_to(Shared.site), width=_NARROW)
    shown = set(page.locator("#board tbody th a bdi").all_text_contents())
    self.assertContainsSubset(set(boards.ODD_NAMES), shown)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    self.assertLessEqual(wide, 0)
    for link in page.locator("#board tbody th a").all():
      self.assertRegex(
        link.get_attribute("href"),
        r"^(\.\./models/[A-Za-z0-9-]+\.html|#reference-1)$",
      )
    self.assertEmpty(self.said)

  def test_a_link_into_the_page_and_a_broken_address(self):
    for hash_ in ("#cells", "#sort-board=oddness!desc&c=%", "#q=%E0%A4%A"):
      page = self._open(_BOARD, hash_=hash_)
      self.assertNotEmpty(
        re.findall("model", page.locator("h2").first.inner_text().lower())
      )
    self.assertEmpty(self.said)

  def test_print_shows_all_rows(self):
    page = self._open(_BOARD)
    page.emulate_media(media="print")
    box = page.locator(".scroll").first
    self.assertEqual(box.evaluate("e => getComputedStyle(e).maxHeight"), "none")
    self.assertFalse(page.locator("form").is_visible())
