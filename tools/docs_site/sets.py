"""Pages of the data sets, from their builders, files and tables."""

from __future__ import annotations

import collections
import importlib
import itertools
import pathlib
from collections.abc import Iterable, Iterator, Sequence

from robust_tfds import conditions, datasets, natural_sets
from robust_tfds.building import base
from robust_tfds.building.sources import known_files
from tools.docs_site import pictures

FOLDER = pathlib.Path(datasets.__file__).parent
_KINDS = {
  "pictures": "Pictures",
  "sequences": "Sequences of frames",
  "objects": "Detection",
  "masks": "Segmentation",
  "frames": "Frames of natural videos",
  "subtypes": "Subtypes of broad types",
  "videos": "Videos of actions",
}
_SHOWN = ("fog_3", "tilt", "motion_blur_3")  # configs, in `tfds.load` lines
_SETS = {"common": "common", "extra": "extra, apart from the means"}


def index(drawn: pictures.Drawn) -> str:
  """Return the generated part of docs/evidence/DATASETS.md: every set by kind."""
  listed = sorted(map(datasets.builder_class, datasets.names()), key=_place)
  parts = ["\n## All sets\n"]
  for kind, sets in itertools.groupby(listed, key=lambda cls: cls.KIND):
    rows = [_row(cls, drawn) for cls in sets]
    head = ("set", "examples", "configs", "picture")
    parts.append(f"\n### {_KINDS[kind]}\n\n{table(head, rows)}")
  natural = table(
    ("set", "pictures", "what they are", "terms"),
    [
      (f"`{r.name}`", _count(r.pictures), r.words, r.terms)
      for r in natural_sets.rows().values()
    ],
  )
  pages = "\n".join(
    f"{n} <../../robust_tfds/datasets/{n}/README>" for n in datasets.names()
  )
  return (
    "".join(parts)
    + "\n### Natural sets, read as TFDS has them\n\n[How](../OWN_DATA.md#natural-sets)."
    + f"\n\n{natural}\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
  )


def page(name: str, readme: str, drawn: pictures.Drawn) -> str:
  """Return the page of a set: its README, then its facts.

  Args:
    name: of the set.
    readme: its text.
    drawn: the pictures of all sets.
  """
  cls = datasets.builder_class(name)
  picture = ""
  if name in drawn:
    place, words = drawn[name]
    picture = f"\n![{words}]({place})\n\n*{words[0].upper()}{words[1:]}.*\n"
  parts = (
    f"# {name}\n\n{readme}{picture}",
    f"\n## Load and run\n\n{_lines(cls)}",
    f"\n## Facts\n\n{table(('fact', 'of this set'), _facts(cls))}",
    _configs(cls),
    _files(cls),
    f"\n## Cite\n\n```bibtex\n{_read(name, 'CITATIONS.bib')}\n```\n",
  )
  return "".join(parts)


def run_line(cls: type[base.Builder]) -> str:
  """Return the command that runs a set; '' if there is none."""
  if not cls.CODECS:
    return ""
  run_by = cls.RUN_BY or "own_data:model"
  file, _, argument = run_by.partition(":")
  module = importlib.import_module(f"configs.{file}")
  config = module.get_config(*[argument] if argument else [])
  flags = []
  if config.data.name != cls.name:
    flags.append(f"--config.data.name={cls.name}")
    if cls.RUN_BY and config.data.split != cls.SPLIT:
      flags.append(f"--config.data.split={cls.SPLIT}")
    if config.get("baseline"):  # of the other set's pictures
      flags.append("--config.baseline=")
  by = run_by.replace("model", "MODEL")
  manual = ["--config.data.manual_dir=FOLDER"] * bool(_rows(cls))
  words = ["robust-tfds run", f"--config={by}", "--workdir=RUN"]
  return " ".join([*words, *flags, *manual])


def load_name(cls: type[base.Builder]) -> str:
  """Return the name of a set and of a typical config, for `tfds.load`."""
  names = cls.condition_names()
  name = next((n for n in _SHOWN if n in names), names[0])
  return "/".join(filter(None, (cls.name, name)))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
  """Return a table in Markdown."""
  lines = [head, ["---"] * len(head), *rows]
  return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _place(cls: type[base.Builder]) -> tuple[int, str]:
  return list(_KINDS).index(cls.KIND), cls.name


def _row(cls: type[base.Builder], drawn: pictures.Drawn) -> Sequence[str]:
  place, words = drawn.get(cls.name, ("", ""))
  return (
    f"[{cls.name}](../../robust_tfds/datasets/{cls.name}/README.md)",
    _examples(cls),
    f"{len(cls.BUILDER_CONFIGS) or 1}",
    f"![{words}]({place}){{width=240px}}" if place else "",
  )


def _examples(cls: type[base.Builder], split: str = "") -> str:
  """Return the number of examples in words, if known; by default of the usual split."""
  known = cls.published_in(split)
  if not known and split in ("", cls.SPLIT):
    known = len(cls.known_ids())
  return f"{known:,}" if known else ""


def _lines(cls: type[base.Builder]) -> str:
  """Return the commands that build, load and run a set."""
  name = load_name(cls)
  config = name.partition("/")[2]
  build = f"robust-tfds build {cls.name}"
  build += f" --config={config}" * bool(config)
  build += " --manual_dir=FOLDER" * bool(_rows(cls))
  run = "".join(f"{line}\n" for line in (build, run_line(cls)) if line)
  return (
    f"```bash\n{run}```\n\n```python\nimport robust_tfds  # registers it\n"
    "import tensorflow_datasets as tfds\n\n"
    f'examples = tfds.load("{name}", split="{cls.SPLIT}")\n```\n'
  )


def _facts(cls: type[base.Builder]) -> Iterator[tuple[str, str]]:
  yield "an example is", _KINDS[cls.KIND].lower()
  splits = (f"`{s}` {_examples(cls, s)}".strip() for s in cls.splits())
  yield "splits, examples in each config", ", ".join(splits)
  classes = cls.CLASSES if isinstance(cls.CLASSES, int) else len(cls.CLASSES)
  if classes:
    yield "classes", f"{classes:,}"
  if cls.EDITION:
    others = "".join(f", `{e}`" for e in cls.EDITIONS.values())
    yield "edition", f"`{cls.EDITION}`{others}"
  if cls.CODECS:
    yield "codecs, the default first", ", ".join(f"`{c}`" for c in cls.CODECS)
  yield "version", str(cls.VERSION)
  yield "page of the data", f"<{cls.HOMEPAGE}>"


def _configs(cls: type[base.Builder]) -> str:
  """Return the kinds of configs: parts of their names, and numbers."""
  if not cls.BUILDER_CONFIGS:
    return ""
  count = len(cls.BUILDER_CONFIGS)
  default = cls.DEFAULT_BUILDER_CONFIG_NAME
  parts = [f"\n## Configs\n\n{count} configs; the default is `{default}`.\n\n"]
  if cls.FAMILY:
    head = ("set", "group", "names", "levels")
    parts.append(table(head, _conditions(cls.FAMILY)) + "\n")
  alike = collections.defaultdict(list)
  for config in cls.BUILDER_CONFIGS:
    alike[config.codec, config.geometry, config.variant].append(config.name)
  head = ("codec", "crop", "variant", "configs", "the first and the last")
  rows = [
    (
      *(f"`{word}`" if word else "" for word in key),
      str(len(names)),
      _ends(names),
    )
    for key, names in alike.items()
  ]
  return "".join(parts) + table(head, rows)


def _ends(names: Sequence[str]) -> str:
  return ", ".join(f"`{name}`" for name in dict.fromkeys((names[0], names[-1])))


def _conditions(family: conditions.Family) -> Iterator[Sequence[str]]:
  """Return a line for each set and family: names and their levels."""
  rows = [row for row in family.rows if row.set in _SETS]
  key = lambda row: (row.set, row.group)
  for (which, group), members in itertools.groupby(rows, key=key):
    names = [row.name for row in members]
    levels = family.levels(names[0])
    ends = "-".join(
      str(level) for level in dict.fromkeys((levels[0], levels[-1]))
    )
    listed = ", ".join(f"`{name}`" for name in names)
    yield _SETS[which], group, listed, ends


def _rows(cls: type[base.Builder]) -> list[known_files.Row]:
  return [r for r in known_files.rows() if cls.name in r.sets.split(",")]


def _files(cls: type[base.Builder]) -> str:
  """Return the source files of a set."""
  rows = [
    (
      f"`{r.file}`",
      f"{int(r.size):,}" if r.size else "",
      _sum(r.sha256),
      _at(r.page),
    )
    for r in _rows(cls)
  ]
  lines = _read(cls.name, "checksums.tsv").splitlines()
  for url, size, sha256, name in (line.split("\t") for line in lines):
    if name not in {r.file for r in _rows(cls)}:
      rows.append((f"`{name}`", f"{int(size):,}", _sum(sha256), _at(url)))
  said = (cls.MANUAL_DOWNLOAD_INSTRUCTIONS or "").strip()
  parts = ["\n## Files\n\n"]
  if rows:
    parts.append(table(("file", "bytes", "sha256", "from"), rows))
  if said:
    parts.append(f"\n```text\n{said}\n```\n")
  if not rows and not said:
    parts.append("None: it is embedded.\n")
  return "".join(parts)


def _sum(sha256: str) -> str:
  return f"`{sha256}`{{.sum}}" if sha256 else "none published"


def _count(digits: str) -> str:
  return f"{int(digits):,}" if digits else "not printed"


def _at(page: str) -> str:
  return f"<{page}>"


def _read(name: str, file: str) -> str:
  """Return the text of a set's file; '' if it has none."""
  path = FOLDER / name / file
  return path.read_text("utf-8").strip() if path.exists() else ""
