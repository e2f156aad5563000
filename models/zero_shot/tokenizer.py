"""CLIP's tokenizer: byte pairs of lower-case text (Radford et al. 2021, section 2.4).

A text is cleaned as openai/CLIP's `simple_tokenizer.py` does it: broken characters
are mended (ftfy), HTML's entities resolved, runs of blanks made one, letters made
small. Its words are runs of letters, single digits, runs of other characters, and
endings after an apostrophe. A word's bytes are merged pair by pair, the earliest
merge of the vocabulary first.

The vocabulary, a list of merges, is not shipped here. It is looked for beside the
checkpoint, then in installed packages, of which nothing is imported.
"""

import functools
import html
import importlib.util
import itertools
import os
import pathlib
import re
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
from etils import epath

from robust_tfds import errors, reading

CONTEXT = 77  # ids of a text: openai/CLIP clip.py, `tokenize`
EXTRA = "zero_shot"
# Merges of OpenAI's list that are used: simple_tokenizer.py, 49152-256-2.
_MERGES = 48_894
_START, _END = "<start_of_text>", "<end_of_text>"
_LAST = "</w>"  # marks the last symbol of a word
_FILES = (
  "bpe_simple_vocab_16e6.txt.gz",
  "bpe_simple_vocab_16e6.txt",
  "merges.txt",  # transformers'
)
_PACKAGES = ("open_clip", "clip")  # packages that bring the first of them
# Before all else at its place; then runs of kinds of characters (`_kind`).
_FIXED = re.compile(rf"{_START}|{_END}|'(?:[stmd]|re|ve|ll)", re.IGNORECASE)
_RUNS = re.compile("L+|N|o+| +")


class Tokenizer:
  """Texts to ids.

  Attributes:
    size: number of ids; the last two are the start and the end of a text.
    origin: where its vocabulary is from, in words.
  """

  def __init__(self, merges: Sequence[str], origin: str = "a list of merges"):
    """Create it from lines of two symbols with a blank between, in order.

    Raises:
      UserError: a line is no merge.
    """
    pairs = [tuple(line.split()) for line in merges]
    for number, pair in enumerate(pairs, 1):
      if len(pair) != 2:
        raise errors.UserError(
          f"{origin}: merge {number}: got {' '.join(pair)[:60]!r}, expected two"
          f" symbols with a blank between, as {_FILES[0]} has them."
        )
    single = [*_symbols().values(), *(s + _LAST for s in _symbols().values())]
    words = [*single, *map("".join, pairs), _START, _END]
    self.size, self.origin = len(words), origin
    self._ids = {word: i for i, word in enumerate(words)}
    self._ranks = {pair: i for i, pair in enumerate(pairs)}
    self._known: dict[str, list[int]] = {}

  def __call__(self, texts: Sequence[str]) -> tuple[np.ndarray, int]:
    """Return ids, int32 `[len(texts), CONTEXT]`, and how many texts were cut.

    A text's ids stand between those of start and end; zeros follow. Of a longer
    one the first ids are kept, and the last one is the end's.

    Raises:
      UserError: a text needs ftfy, which is not installed.
    """
    rows = np.zeros((len(texts), CONTEXT), np.int32)
    cut = 0
    for row, text in zip(rows, texts, strict=True):
      ids = [self._ids[_START], *self._encode(text)]
      cut += len(ids) >= CONTEXT
      ids = [*ids[: CONTEXT - 1], self._ids[_END]]
      row[: len(ids)] = ids
    return rows, cut

  def _encode(self, text: str) -> Iterator[int]:
    """Yield the ids of a text without its start and end."""
    for word in _words(_cleaned(text)):
      if word not in self._known:
        self._known[word] = [self._ids[s] for s in self._merged(word)]
      yield from self._known[word]

  def _merged(self, word: str) -> list[str]:
    """Return the symbols of a word after all merges."""
    if word in (_START, _END):
      return [word]
    symbols = [_symbols()[byte] for byte in word.encode()]
    symbols[-1] += _LAST
    while len(symbols) > 1:
      pair = min(itertools.pairwise(symbols), key=self._rank)
      if pair not in self._ranks:
        break
      symbols = _join(symbols, *pair)
    return symbols

  def _rank(self, pair: tuple[str, str]) -> int:
    return self._ranks.get(pair, len(self._ranks))


def _join(symbols: Sequence[str], first: str, second: str) -> list[str]:
  """Return symbols with every such pair as one, from the left."""
  out: list[str] = []
  joined = True  # whether the last one cannot be the first of a pair
  for symbol in symbols:
    joined = not joined and (out[-1], symbol) == (first, second)
    if joined:
      out[-1] += symbol
    else:
      out.append(symbol)
  return out


@functools.cache
def _symbols() -> dict[int, str]:
  """Return byte -> the character that stands for it, in the vocabulary's order.

  simple_tokenizer.py, `bytes_to_unicode`: printable bytes of Latin-1 first, then
  the others, which are the characters from 256 on.
  """
  printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
  others = [byte for byte in range(256) if byte not in printable]
  marks = {byte: chr(256 + n) for n, byte in enumerate(others)}
  return {byte: chr(byte) for byte in printable} | marks


def _cleaned(text: str) -> str:
  """Return a text as its words are made of."""
  # Of other texts ftfy changes nothing.
  if not (text.isascii() and text.isprintable() and "&" not in text):
    try:
      import ftfy
    except ImportError as e:
      what = f"The text {text[:60]!r}"
      raise errors.missing_package_error("ftfy", EXTRA, what) from e
    text = ftfy.fix_text(text)
  text = html.unescape(html.unescape(text))
  return " ".join(text.split()).lower()


def _words(text: str) -> Iterator[str]:
  """Yield the words of a cleaned text."""
  kinds, at = "".join(map(_kind, text)), 0
  while at < len(text):
    match = _FIXED.match(text, at) or _RUNS.match(kinds, at)
    assert match is not None  # `_RUNS` has every kind
    if kinds[at] != " ":
      yield text[at : match.end()]
    at = match.end()


@functools.cache
def _kind(character: str) -> str:
  """Return `L` of a letter, `N` of a number, a blank, or `o` of others."""
  kind = unicodedata.category(character)[0]
  return kind if kind in "LN" else " " if character.isspace() else "o"


def find(checkpoint: str | os.PathLike[str]) -> Tokenizer:
  """Return the tokenizer of the vocabulary beside a checkpoint, or installed.

  Raises:
    UserError: there is none (says what to install or to put there), or it is no
      list of merges.
  """
  place = epath.Path(checkpoint)
  folder = place if place.is_dir() else place.parent
  beside = [folder / name for name in _FILES if (folder / name).exists()]
  for file in [
    *beside,
    *filter(None, (installed(p, _FILES[0]) for p in _PACKAGES)),
  ]:
    lines = reading.text_file(file, packed=True).split("\n")
    merges = lines[1 : _MERGES + 1]  # below a header
    return Tokenizer([line for line in merges if line.strip()], str(file))
  raise errors.UserError(
    f"{folder}: no vocabulary of CLIP's tokenizer lies there"
    f" ({', '.join(_FILES)}), and no installed package has it: {GET}, or put one"
    " of these files there."
  )


def installed(package: str, name: str) -> pathlib.Path | None:
  """Return a file of an installed package, which is not imported, or None."""
  spec = importlib.util.find_spec(package)
  folders = (spec and spec.submodule_search_locations) or ()
  files = (pathlib.Path(folder) / name for folder in folders)
  return next((file for file in files if file.exists()), None)


# What to do where `open_clip_torch` is not installed.
GET = (
  f"pip install 'robust_tfds[{EXTRA}]', or pip install --no-deps open_clip_torch"
  " (2 MB, whose files alone are read)"
)
