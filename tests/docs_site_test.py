"""The docs site: every set and model has a place, links lead somewhere.

The build itself takes a minute and is slow; what it is made of is held at once.
"""

import contextlib
import doctest
import html.parser
import io
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import pytest
from absl.testing import absltest, parameterized

from eval import main as main_lib
from models.training import main as training_main
from robust_tfds import __main__, datasets, models
from tests import api_test, in_folder, in_process, pages, quick
from tests.eval.report.pages import browser
from tools import docs_site
from tools.docs_site import pictures, sets

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_START = pages.sections("QUICKSTART.md")
# Their clips and pictures are natural, and not to be passed on.
_NOT_SHOWN = {"imagenet22k_subtypes", "ucf101_ds"}


def _generated(page: str) -> str:
  source = (_ROOT / f"{page}.md").read_text("utf-8")
  return docs_site.text(page, source, {})


class GeneratedTest(parameterized.TestCase):
  @parameterized.parameters(*datasets.names())
  def test_a_page_of_every_set(self, name):
    folder = f"robust_tfds/datasets/{name}"
    text = _generated(f"{folder}/README")
    cls = datasets.builder_class(name)
    self.assertStartsWith(text, f"# {name}\n")
    self.assertIn(f'tfds.load("{sets.load_name(cls)}"', text)
    self.assertIn(sets.run_line(cls), text)
    self.assertRegex(text, r"\nLicence: .+\.\n")
    checksums = _ROOT / folder / "checksums.tsv"  # of what TFDS downloads
    listed = checksums.read_text("utf-8") if checksums.exists() else ""
    for line in listed.splitlines():
      self.assertIn(line.split("\t")[2], text)
    config = sets.load_name(cls).partition("/")[2]
    self.assertIn(config, [*cls.builder_configs, ""])
    self.assertIn((_ROOT / folder / "CITATIONS.bib").read_text().strip(), text)

  def test_the_catalogues_have_all_names(self):
    listed = _generated("docs/evidence/DATASETS")
    for name in datasets.names():
      self.assertIn(
        f"| [{name}](../../robust_tfds/datasets/{name}/README.md)", listed
      )
    cards = _generated("docs/evidence/MODELS")
    for name in models.names():
      self.assertEqual(cards.count(f'<details class="model" id="{name}">'), 1)
    self.assertIn("torchvision:ResNet50_Weights.IMAGENET1K_V2\n", cards)

  def test_the_public_surface(self):
    text = _generated("docs/evidence/API")
    self.assertEqual(text.count(".. autofunction::"), len(api_test.SURFACE))
    for name in ("corruptions.corrupt", "evaluate", "models.adapters.get"):
      self.assertIn(f".. autofunction:: robust_tfds.{name}\n", text)

  def test_what_sets_show(self):
    shown = {
      n
      for n in datasets.names()
      if pictures.set_picture(datasets.builder_class(n))
    }
    self.assertEqual(set(datasets.names()) - shown, _NOT_SHOWN)

  def test_other_pages_are_as_they_are(self):
    self.assertEqual(docs_site.text("docs/SCALE", "text", {}), "text")


_MODELS = {"pictures": "alexnet", "sequences": "alexnet", "frames": "alexnet"}
_MODELS |= {
  "objects": "retinanet_r50",
  "masks": "tiny_fcn",
  "videos": "x3d_m",
  "subtypes": "alexnet",
}
_RUN = [n for n in datasets.names() if datasets.builder_class(n).CODECS]


class CommandsTest(parameterized.TestCase):
  @quick.cases(_RUN[:1], _RUN[1:])
  def test_the_line_that_runs_a_set(self, name):
    """It is understood: what lacks is data, or a model of the set's classes."""
    cls = datasets.builder_class(name)
    line = sets.run_line(cls).replace("MODEL", _MODELS[cls.KIND])
    flags = line.replace("FOLDER", "/nowhere").split()[2:]
    done = in_process.run(main_lib, *flags, "--plan")
    said = done.stdout + done.stderr
    self.assertIn(name, said)
    if done.returncode:
      self.assertRegex(said, "not here|Wrong label space")

  @parameterized.parameters(*__main__.COMMANDS)
  def test_flags_and_configs_of_the_pages(self, name):
    """They are there; what a page writes as `python -m` is no command."""
    known = in_process.run(pages.command(name), "--help").stdout
    configs = {path.stem for path in (_ROOT / "configs").glob("*.py")}
    for path in (_ROOT / "docs").rglob("*.md"):
      text = path.read_text("utf-8").replace("\\\n", " ")
      module = (
        __main__.COMMANDS[name].removesuffix(".py").removesuffix("/__main__")
      )
      if path.name != "BENCHMARKS.md":  # which says so
        self.assertNotIn(
          f"python -m {module.replace('/', '.')} ", text, path.name
        )
      for line in re.findall(rf"robust-tfds {name} ([^`#\n]*)", text):
        for flag in re.findall(r"--([a-z]\w*)(?![\w.])", line):
          self.assertRegex(
            known, rf"--(\[no\])?{flag}\b", f"{path.name}: {line}"
          )
        for config in re.findall(
          r"--config=([a-z]\w*)", line if name == "run" else ""
        ):
          self.assertIn(config, configs, path.name)


class QuickstartTest(in_folder.TestCase):
  """The blocks of docs/QUICKSTART.md run as they stand."""

  @quick.cases(["A function"], ["A detector", "A video network"])
  def test_a_function(self, name):
    (block,) = self._blocks(name, "python")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
      exec(block, {})
    self.assertIn("not measured: ", printed.getvalue())

  def test_only_a_csv(self):
    from eval import score

    (self.root / "mine.csv").write_text(
      self._blocks("Predictions in a CSV", "text")[0]
    )
    with contextlib.chdir(self.root):
      words = self._blocks("Predictions in a CSV", "bash")[0].split()[2:]
      done = in_process.run(score, *words)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertTrue((self.root / "scored/reports/report.html").exists())

  def test_training_is_planned(self):
    (name, *arguments), _ = self._training()
    done = in_process.run(training_main, *arguments, "--plan")
    self.assertEqual((name, done.returncode), ("train", 0), done.stderr)
    self.assertIn("digits", done.stdout)

  @pytest.mark.slow
  def test_training_and_its_evaluation(self):
    (_, *train), (_, *run) = self._training()
    few = ("--config.data.corruptions=fog", "--config.data.severities=(3,)")
    done = in_process.run(training_main, *train, "--config.epochs=1")
    self.assertEqual(done.returncode, 0, done.stderr)
    done = in_process.run(main_lib, *run, *few)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("digits train: augmix", done.stdout)

  def _training(self) -> list[list[str]]:
    """The arguments of the two commands, /tmp being the test's folder."""
    (block,) = self._blocks("Train for robustness", "bash")
    lines = block.replace("/tmp", str(self.root)).splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines]

  def _blocks(self, section, language):
    return [block for known, block in _START[section] if known == language]


class QuestionsTest(absltest.TestCase):
  def test_answers(self):
    file = _ROOT / "docs" / "FAQ.md"
    text = file.read_text("utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, "FAQ", str(file), 0)
    report = io.StringIO()
    result = doctest.DocTestRunner().run(test, out=report.write)
    self.assertEqual(result.failed, 0, report.getvalue())
    self.assertGreater(result.attempted, 10)


_SEEN = (
  "docs/index.html",
  "docs/evidence/DATASETS.html",
  "docs/evidence/MODELS.html",
  "docs/evidence/API.html",
  "docs/QUICKSTART.html",
  "robust_tfds/datasets/imagenet_c/README.html",
)
_AXE = "axe.run(document).then(found => found.violations.map(v => v.id))"


class _Page(html.parser.HTMLParser):
  """Where a page leads, and what of it can be led to."""

  def __init__(self, text: str):
    super().__init__()
    self.links: list[str] = []
    self.names: set[str] = set()
    self.feed(text)

  def handle_starttag(self, tag, attrs):
    for key, value in attrs:
      if key == "id":
        self.names.add(value)
      elif key in ("href", "src") and tag != "link":
        self.links.append(value or "")


@pytest.mark.slow
class SiteTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.site = pathlib.Path(tempfile.mkdtemp(), "site")
    command = ["-m", "sphinx", "-EWq", "-c", "docs", ".", str(cls.site)]
    cls.done = subprocess.run(
      [sys.executable, *command], cwd=_ROOT, capture_output=True, text=True
    )

  def test_is_built_without_a_warning_and_its_links_lead_somewhere(self):
    self.assertEqual(self.done.returncode, 0, self.done.stderr)
    site = self.site
    built = {p: _Page(p.read_text("utf-8")) for p in site.rglob("*.html")}
    for path, page in built.items():
      for link in page.links:
        self._check(site, path, link, built)
    for name in datasets.names():
      text = (site / f"robust_tfds/datasets/{name}/README.html").read_text()
      self.assertEqual("<img" in text, name not in _NOT_SHOWN, name)
    self.assertContainsSubset(
      models.names(), built[site / "docs/evidence/MODELS.html"].names
    )

  def test_in_a_browser(self):
    """Nothing sticks out, axe finds nothing; cards are filtered and opened."""
    if browser.missing() or not browser.axe():
      self.skipTest(browser.missing() or "axe-core is not installed")
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
      chromium = playwright.chromium.launch(
        executable_path=browser.chromium(), args=["--no-sandbox"]
      )
      for width, scheme in ((1280, "light"), (390, "light"), (1280, "dark")):
        page = chromium.new_page(
          viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        for path in _SEEN:
          page.goto((self.site / path).as_uri())
          page.add_script_tag(content=browser.axe())
          wide = "document.documentElement.scrollWidth"
          self.assertLessEqual(page.evaluate(wide), width, path)
          self.assertEmpty(page.evaluate(_AXE), f"{path} {width} {scheme}")
      page.goto(
        (self.site / "docs/evidence/MODELS.html").as_uri() + "#resnet50"
      )
      self.assertTrue(page.locator("#resnet50").evaluate("e => e.open"))
      page.fill("input[data-filter]", "VGG19_bn torchvision")
      self.assertEqual(page.locator("details.model:visible").count(), 1)

  def _check(self, site, path, link, built):
    place, _, anchor = link.partition("#")
    if "://" in place or place.startswith(("mailto:", "data:")):
      return
    target = (
      (path.parent / place.partition("?")[0]).resolve() if place else path
    )
    where = f"{path.relative_to(site)} leads to {link}"
    self.assertTrue(target.exists(), where)
    if anchor and target in built:
      self.assertIn(anchor, built[target].names, where)
