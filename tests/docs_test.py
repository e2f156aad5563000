"""What sources and documents cite is there: files, sections, links, paths."""

import fnmatch
import functools
import itertools
import pathlib
import re

from absl.testing import parameterized

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_SOURCES = ("robust_tfds", "eval", "models", "configs")
_FOLDERS = (*_SOURCES, "tests", "tools", "benchmarks", "docs")

# `docs/evidence/specs/NAME.md`, then perhaps `section 3.1`, `sections 1, 3 and 4` or
# `sections 1-4`, then perhaps a heading in quotes.
_NUMBER = r"\d+(?:\.\d+)*(?![\w.]*\d)"
_SECTIONS = rf"{_NUMBER}(?:(?:, | and |-){_NUMBER})*"
_CITATION = re.compile(
  rf"(docs/[\w/]+\.md)(?: sections? ({_SECTIONS}))?(?:, \"([^\"]+)\")?"
)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_PATH = re.compile(rf"`((?:{'|'.join(_FOLDERS)})/[\w./-]+)`")
# What is cited by the end of its path: `cells/parts.py`, `parts/spread`,
# `parts/{masks,spread}.py`, `image/<name>.py`, `parts/spread.cell_replicates`.
_TAIL = re.compile(r"`([\w.*{},<>-]+(?:/[\w.*{},<>-]+)+)(?::\w+)?`")
_MODULE = re.compile(r"[a-z][a-z0-9_*]*(?:\.[a-z_]+)?")
_DATA = (".csv", ".html", ".json", ".md", ".npz", ".tsv")
_OF_OTHERS = ("timm", "transformers")
_STORED = re.compile(r"tests/golden/[\w./*-]*\w")


@functools.cache
def _files(*endings: str) -> tuple[pathlib.Path, ...]:
  """The project's files with those endings, this one left out."""
  listed = [*_ROOT.iterdir()]
  for folder in _FOLDERS:
    listed += (_ROOT / folder).rglob("*")
  this = pathlib.Path(__file__).resolve()
  return tuple(sorted(p for p in listed if p.suffix in endings and p != this))


def _prose(path: pathlib.Path) -> str:
  """A file on one line: citations run over the ends of lines and comments."""
  return re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text("utf-8"))


def section_numbers(cited: str) -> list[str]:
  """`1, 3-5 and 7.2` as `["1", "3", "4", "5", "7.2"]`."""
  numbers = []
  for part in re.split(r", | and ", cited):
    first, _, last = part.partition("-")
    if last:
      numbers += map(str, range(int(first), int(last) + 1))
    else:
      numbers.append(first)
  return numbers


@functools.cache
def _listed() -> tuple[str, ...]:
  """Paths of all files and folders of the project's folders."""
  paths = [p for folder in _FOLDERS for p in (_ROOT / folder).rglob("*")]
  return tuple(p.relative_to(_ROOT).as_posix() for p in paths)


@functools.cache
def _folders_of_modules() -> frozenset[str]:
  return frozenset(p.parent.name for p in _files(".py"))


def _spelled(path: str) -> list[str]:
  """The paths that braces stand for."""
  braces = re.search(r"\{([^{}]*)\}", path)
  if braces is None:
    return [path]
  before, after = path[: braces.start()], path[braces.end() :]
  return [x for o in braces[1].split(",") for x in _spelled(before + o + after)]


def lost_tails(text: str) -> list[str]:
  """The ends of paths, cited in a text on one line, that no file has.

  They end in `.py`, or name a module of a folder that has modules.
  """
  out = []
  for cited in _TAIL.findall(text):
    for tail in _spelled(re.sub(r"<\w+>", "*", cited)):
      folder, name = tail.split("/")[-2:]
      if tail.split("/")[0] in _OF_OTHERS:
        continue
      if not tail.endswith(".py"):
        module = _MODULE.fullmatch(name) and not name.endswith(_DATA)
        if folder not in _folders_of_modules() or not module:
          continue
        tail = tail.removesuffix(name) + name.split(".")[0]
      globs = [f"*/{tail}", f"*/{tail}.py"]
      if not any(fnmatch.fnmatch(f"/{p}", g) for g in globs for p in _listed()):
        out.append(cited)
  return out


@functools.cache
def _headings(path: pathlib.Path) -> tuple[str, ...]:
  text = path.read_text("utf-8")
  return tuple(re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE))


def _anchor(heading: str) -> str:
  """A heading as GitHub names it in links."""
  words = re.sub(r"[^\w\s-]", "", heading.lower())
  return words.strip().replace(" ", "-")


def lost(text: str, root: pathlib.Path = _ROOT) -> list[str]:
  """The citations of a text on one line that lead nowhere."""
  lost_ones = []
  for file, sections, title in _CITATION.findall(text):
    if not (root / file).is_file():
      lost_ones.append(file)
      continue
    headings = _headings(root / file)
    for number in section_numbers(sections) if sections else ():
      pattern = re.compile(rf"{re.escape(number)}[. ](?!\d)")
      if not any(pattern.match(h + " ") for h in headings):
        lost_ones.append(f"{file} section {number}")
    if title and not any(h.startswith(title) for h in headings):
      lost_ones.append(f'{file}, "{title}"')
  return lost_ones


class CitationsTest(parameterized.TestCase):
  def test_cited_documents_and_sections_are_there(self):
    cited = 0
    for path in _files(".py", ".md", ".toml"):
      text = _prose(path)
      cited += len(_CITATION.findall(text))
      self.assertEmpty(lost(text), path.relative_to(_ROOT))
    self.assertGreater(cited, 90)

  def test_specs_are_cited_in_one_form(self):
    for path in _files(".py", ".md"):
      other = re.findall(
        r"(?<!docs/evidence/)\bspecs/\w+\.md", path.read_text("utf-8")
      )
      self.assertEmpty(
        other,
        f"{path.relative_to(_ROOT)}: write docs/evidence/specs/NAME.md section N.",
      )

  def test_sources_name_nothing_outside_the_clone(self):
    for path in _files(".py"):
      if path.relative_to(_ROOT).parts[0] in _SOURCES:
        self.assertNotIn("../shared", path.read_text("utf-8"), str(path))

  def test_specs_name_nothing_outside_the_clone(self):
    for path in sorted((_ROOT / "docs" / "evidence" / "specs").glob("*.md")):
      self.assertNotIn("../", path.read_text("utf-8"), str(path))

  def test_stored_values_are_there(self):
    for path in _files(".py", ".md"):
      for name in _STORED.findall(path.read_text("utf-8")):
        self.assertNotEmpty(
          list(_ROOT.glob(name)), f"{path.relative_to(_ROOT)} names {name}"
        )

  def test_paths_in_backticks_are_there(self):
    for path in _files(".py", ".md"):
      for name in _PATH.findall(path.read_text("utf-8")):
        module = _ROOT / f"{name}.py"  # `eval/metrics/action` is a module too
        self.assertTrue(
          (_ROOT / name).exists() or module.exists(),
          f"{path.relative_to(_ROOT)} names {name}",
        )

  def test_ends_of_paths_in_backticks_are_there(self):
    for path in _files(".py", ".md"):
      if path.parent.name != "specs":  # which cite the papers' own code
        self.assertEmpty(lost_tails(_prose(path)), path.relative_to(_ROOT))

  def test_links_of_documents_lead_somewhere(self):
    links = 0
    for path in _files(".md"):
      for target in _LINK.findall(path.read_text("utf-8")):
        file, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
          continue
        links += 1
        place = path.parent / file if file else path
        where = f"{path.relative_to(_ROOT)} links to {target}"
        self.assertTrue(place.exists(), where)
        if anchor:
          self.assertIn(anchor, map(_anchor, _headings(place)), where)
    self.assertGreater(links, 5)


class RulesTest(parameterized.TestCase):
  """The rules above, on citations that are broken on purpose."""

  @parameterized.parameters(
    "docs/evidence/specs/video.md",
    "docs/evidence/specs/video.md section 4, and more",
    'docs/evidence/specs/video.md section 4, "Secondary analyses"; figures',
    "docs/evidence/specs/corruptions.md sections 1-4 hold",
    "docs/evidence/specs/corruptions.md sections 1, 3 and 4.",
    "docs/evidence/specs/detection.md section 3.2).",
    "docs/evidence/specs/imagenet_p.md sections 2 and 4. Frame 0 is clean.",
  )
  def test_good(self, text):
    self.assertEmpty(lost(text))

  @parameterized.parameters(
    ("docs/evidence/specs/vidoe.md", "docs/evidence/specs/vidoe.md"),
    (
      "docs/evidence/specs/video.md section 9.",
      "docs/evidence/specs/video.md section 9",
    ),
    (
      "docs/evidence/specs/detection.md section 3.7)",
      "docs/evidence/specs/detection.md section",
    ),
    ("docs/evidence/specs/corruptions.md sections 1 and 12", "section 12"),
    ("docs/evidence/specs/corruptions.md sections 5-7 hold", "section 7"),
    (
      'docs/evidence/specs/video.md section 4, "Third analyses"',
      "Third analyses",
    ),
  )
  def test_broken(self, text, expected):
    self.assertLen(lost(text), 1)
    self.assertIn(expected, lost(text)[0])

  def test_ends_of_paths(self):
    good = (
      "`files/parts.py`, `headlines/spread.cell_replicates`,"
      " `detections/{masks,anchor_sets}.py`"
    )
    self.assertEmpty(
      lost_tails(f"{good}, `image/<name>.py`, `headlines/spread`")
    )
    self.assertEmpty(lost_tails("`timm/data/config.py`, `bbox/AP`, `i/n`"))
    for text in (
      "`results/parts.py`",
      "`parts/spreads`",
      "`detections/{a,masks}`",
    ):
      self.assertNotEmpty(lost_tails(text), text)

  def test_section_numbers(self):
    self.assertEqual(
      section_numbers("1, 3-5 and 7.2"), ["1", "3", "4", "5", "7.2"]
    )

  def test_headings_are_numbered_once(self):
    for path in sorted((_ROOT / "docs" / "evidence" / "specs").glob("*.md")):
      numbers = [
        m.group() for h in _headings(path) if (m := re.match(_NUMBER, h))
      ]
      for first, second in itertools.pairwise(sorted(numbers)):
        self.assertNotEqual(first, second, path.name)
