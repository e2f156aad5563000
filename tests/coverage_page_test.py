"""docs/evidence/COVERAGE.md: nothing printed is left out, and every command is one.

Commands are those of the page's own rows: runs are asked for their plan, figures drawn
without runs, raw results scored, pictures corrupted.
"""

import shlex

import numpy as np
from absl.testing import parameterized
from PIL import Image

from eval import papers
from eval.papers import printed_rows
from eval.report import figures
from tests import in_folder, in_process, pages, quick
from tools import claims, coverage_page

_LINES = coverage_page.lines()
_COMMANDS = tuple(dict.fromkeys(c for line in _LINES for c in line.commands))
# What is drawn from runs or folders alone, and none was given.
_REFUSED = r"is drawn from runs|--(clean|features)=/data/\w+: no such folder"


def _of(kind: str) -> list[str]:
  """The commands of a kind, of those that differ by their runs alone one."""
  listed = [c for c in _COMMANDS if c.startswith(f"robust-tfds {kind} ")]
  return list({tuple(_arguments(c)): c for c in reversed(listed)}.values())[
    ::-1
  ]


def _few(kind: str, count: int = 1) -> list[str]:
  return _of(kind)[:count]


def _others(kind: str, count: int = 1) -> list[str]:
  return _of(kind)[count:]


def _arguments(command: str) -> list[str]:
  """What follows `robust-tfds NAME`, without the folders of runs."""
  words = shlex.split(command)[2:]
  return [w for w in words if not w.startswith(("/runs/", "--workdir="))]


class PageTest(parameterized.TestCase):
  def test_the_page_is_of_these_lines(self):
    self.assertEqual(
      coverage_page.FILE.read_text("utf-8"),
      coverage_page.text(_LINES),
      "run python -m tools.coverage_page",
    )

  @parameterized.parameters([[paper] for paper in papers.names()])
  def test_every_row_of_a_paper_is_in_a_line(self, paper):
    listed = {held for x in _LINES if x.paper == paper for held in x.held()}
    files = {path.stem for path in (printed_rows.FOLDER / paper).glob("*.tsv")}
    self.assertGreater(len(files), 1)
    there = {
      (file, number)
      for file in files - {printed_rows.DOUBTS}
      for number, _ in enumerate(printed_rows.lines(paper, file), 1)
    }
    self.assertEqual(listed, there)

  def test_every_figure_of_the_papers_is_in_a_line(self):
    drawn = {shlex.split(c)[2] for c in _of("figures")}
    self.assertEqual(drawn, {figure.name for figure in figures.figures()})

  def test_every_claim_is_in_a_line(self):
    tools = [c.split()[2:] for c in _COMMANDS if c.startswith("python -m ")]
    named = {name for tool, name, *_ in tools if tool == "tools.claims"}
    self.assertEqual(named, set(claims.CLAIMS))
    others = {tool for tool, *_ in tools} - {"tools.claims"}
    self.assertEqual(others, {"tools.grey_pictures"})

  def test_a_line_has_a_known_status_and_what_it_takes(self):
    for line in _LINES:
      self.assertIn(line.status, coverage_page.STATUSES, line)
      self.assertTrue(line.place and line.what, line)
      if line.status in ("computed", "needs data"):
        self.assertTrue(line.command and line.data, line)
      else:
        self.assertTrue(line.why, line)
    places = [(x.paper, x.place, x.what) for x in _LINES]
    self.assertLen(set(places), len(places))

  def test_commands_are_of_known_kinds(self):
    kinds = ("run", "suite", "figures", "score", "card", "corrupt")
    starts = (*(f"robust-tfds {kind} " for kind in kinds), "python -m tools.")
    for command in _COMMANDS:
      self.assertStartsWith(command, starts)


class CommandsTest(in_folder.TestCase):
  @quick.cases(_few("run", 2), _others("run", 2))
  def test_a_run_has_a_plan(self, command):
    done = in_process.run(pages.command("run"), *_arguments(command), "--plan")
    self.assertIn(" conditions (clean + ", done.stdout, done.stderr)
    self.assertIn("\nwork: ", done.stdout)
    if "/data/manual" in command:
      self.assertEqual(done.returncode, 1)
      self.assertRegex(done.stdout + done.stderr, "/data/manual: there is no")

  @quick.cases(_few("figures", 2), _others("figures", 2))
  def test_a_figure_is_drawn(self, command):
    name, out, *rest = _arguments(command)
    self.assertStartsWith(out, "--out=")
    done = in_process.run(
      pages.command("figures"), name, f"--out={self.root}", *rest
    )
    if done.returncode:
      self.assertRegex(done.stderr, _REFUSED)
      self.assertRegex(command, "/runs/|=/data/")
    else:
      self.assertNotEmpty(list(self.root.glob(f"{name}.*")))

  @quick.cases(_few("score"), _others("score"))
  def test_raw_results_are_scored(self, command):
    predictions, _ = _arguments(command)
    out = self.root / "out"
    done = in_process.run(pages.command("score"), predictions, f"--out={out}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertTrue((out / "tables.md").exists())

  @parameterized.parameters(_of("card"))
  def test_a_card_is_shown(self, command):
    done = in_process.run(pages.command("card"), *_arguments(command))
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("parameters", done.stdout)

  @quick.cases(_of("corrupt")[1:2], [*_few("corrupt"), *_others("corrupt", 2)])
  def test_a_picture_is_corrupted(self, command):
    picture = self.root / "photo.png"
    pixels = np.random.default_rng(0).integers(0, 256, (64, 80, 3), np.uint8)
    Image.fromarray(pixels).save(picture)
    _, _, *flags = _arguments(command)
    out = self.root / "out"
    done = in_process.run(
      pages.command("corrupt"), str(picture), str(out), *flags
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertTrue((out / "overview.png").exists())
