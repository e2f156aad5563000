"""Facts in words: names of facts and their values, as pages show them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from eval.metrics import definitions

_NAMES = {
  "adapter": "runs as",
  "classes": "classes, sha256",
  "content": "files, sha256",
  "decoders": "decoded",
  "px": "pixels",
  "pixels": "version of the pixels",
  "metric": "version of the metrics",
  "random": "answers at random",
  "source": "made",
  "weights": "weights, sha256",
  "own_code": "own code, sha256",
  "without_output": "classes without output",
  "config": "set",
}
# What a value means that says little by itself.
_VALUES = {
  ("source", "fly"): "in the run, on the fly",
  ("source", "prepared"): "beforehand, a prepared set",
  ("source", "elsewhere"): "elsewhere, by another program",
  ("subset", ""): "all examples",
  ("decoders", ""): "nothing: no files of others",
  ("geometry", ""): "the set's own",
}
# What somebody has to say: shown where nobody did, too.
OF_TRAINING = ("trained_on", "corruptions_seen")
NOT_STATED = "not stated"
_HASH = re.compile(r"[0-9a-f]{64}")
_SHOWN = 12  # digits of a hash
_ONE_SIDE = 2  # sides of a square


def name(fact: str) -> str:
  """A fact's name in words.

  >>> name("trained_on"), name("px")
  ('trained on', 'pixels')
  """
  return _NAMES.get(fact, definitions.words(fact))


def value(fact: str, known: Any) -> str:
  """A fact's value in words; of an unknown one `unknown`.

  >>> value("px", [224, 224]), value("limit", None), value("trained_on", None)
  ('224 x 224', 'unknown', 'not stated')
  """
  if known is None:
    return NOT_STATED if fact in OF_TRAINING else "unknown"
  if isinstance(known, str) and (fact, known) in _VALUES:
    return _VALUES[fact, known]
  if fact == "px" and known == []:
    return "each picture's own"
  if fact == "px" and isinstance(known, Sequence) and len(known) == _ONE_SIDE:
    return f"{known[0]} x {known[1]}"
  return _plain(known)


def short(fact: str, known: Any) -> str:
  """The same, a hash by its beginning.

  >>> short("ids", "ab" * 32), short("codec", "raw")
  ('abababababab...', 'raw')
  """
  text = value(fact, known)
  return f"{text[:_SHOWN]}..." if _HASH.fullmatch(text) else text


def unknown(facts: Mapping[str, Any]) -> list[str]:
  """The names of those that nobody knows, but for what is `not stated`."""
  return [
    name(fact)
    for fact, known in facts.items()
    if known is None and fact not in OF_TRAINING
  ]


def _plain(known: Any) -> str:
  if isinstance(known, bool):
    return "yes" if known else "no"
  if isinstance(known, Mapping):
    parts = (
      f"{definitions.words(str(k))} {_plain(v)}" for k, v in known.items()
    )
    return "; ".join(parts) or "none"
  if isinstance(known, list | tuple):
    return ", ".join(_plain(v) for v in known) or "none"
  if isinstance(known, int):
    return f"{known:,}"
  return str(known) or "none"
