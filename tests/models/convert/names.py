"""Names of arrays as those write them who publish a network.

names.tsv has a publisher's rules, one after another: a pattern on our names in
torch's words (of Google's files, on our paths) and what stands in its place. They
were written from the publishers' sources, independently of the rules that
families bring: ours are renamed to theirs and brought back.
"""

import functools
import pathlib
import re
from collections.abc import Mapping

import numpy as np

from tests import shared_data

_FILE = pathlib.Path(__file__).parent / "names.tsv"


@functools.cache
def _rules(publisher: str) -> list[tuple[str, str]]:
  rules = [
    (r["ours"], r["theirs"])
    for r in shared_data.lines(_FILE)
    if r["publisher"] == publisher
  ]
  assert rules, publisher
  return rules


def renamed(name: str, *publishers: str) -> str:
  """A name under the rules of publishers, in their order."""
  for publisher in publishers:
    for ours, theirs in _rules(publisher):
      name = re.sub(ours, theirs, name)
  return name


def arrays(
  given: Mapping[str, np.ndarray], *publishers: str
) -> dict[str, np.ndarray]:
  """Arrays under the publishers' names."""
  out = {renamed(name, *publishers): array for name, array in given.items()}
  assert len(out) == len(given), publishers
  return out
