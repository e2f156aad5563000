"""The citations of a run, as BibTeX: this package, the benchmark, the models."""

import re
from collections.abc import Iterable
from importlib import resources

from models import cards
from robust_tfds import natural_sets, version

# A paper as tables name it: authors, year, title where there is one, number.
_PAPER = re.compile(
  r"(?P<authors>.+?) (?P<year>\d{4})(, (?P<title>.+))?, arXiv[: ](?P<number>[\d.]+)"
)
# Task -> a set that cites whose corruptions or perturbations these are, if any.
_OF_TASK = {
  "classification": "imagenet_c",
  "sequences": "imagenet_p",
  "detection": "coco_c",
  "segmentation": "imagenet_c",
  "video": "ucf101_p",
}


def text(
  task: str, dataset: str, models: Iterable[str], *, natural: bool = False
) -> str:
  """Return the entries, each once.

  Args:
    dataset: what tables call the set; a user's own is not cited.
    models: their names in `models`; others are not cited.
    natural: whether nothing was corrupted or perturbed.
  """
  row = natural_sets.row_of_set(dataset)
  papers = [row.paper] if row else []
  papers += map(cards.paper_of, models)
  files = [dataset] if natural else [dataset, _OF_TASK.get(task, dataset)]
  found = filter(None, map(_PAPER.match, papers))
  listed = [_OURS, *map(_set_entries, files), *map(_entry, found)]
  entries = re.split(r"\n+(?=@)", "\n".join(filter(None, listed)))
  return "\n\n".join(dict.fromkeys(e.strip() for e in entries)) + "\n"


def _set_entries(dataset: str) -> str:
  """Return a set's own file; empty of a set that is not of this package."""
  folder = resources.files("robust_tfds") / "datasets" / dataset
  file = folder / "CITATIONS.bib"
  return file.read_text("utf-8") if file.is_file() else ""


def _entry(paper: re.Match[str]) -> str:
  """Return a paper of a model."""
  authors = re.sub(r" et al\.$", " and others", paper["authors"])
  number = paper["number"]
  title = f"  title={{{paper['title']}}},\n" if paper["title"] else ""
  return f"""@misc{{arxiv{number},
{title}  author={{{authors.replace(" & ", " and ")}}},
  year={{{paper["year"]}}},
  eprint={{{number}}},
  archivePrefix={{arXiv}}
}}
"""


_OURS = f"""@software{{robust_tfds,
  title={{robust_tfds: robustness benchmarks for vision models}},
  author={{{{The robust_tfds authors}}}},
  version={{{version.VERSION}}}
}}
"""
