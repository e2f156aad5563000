"""Names and values of facts in the words that pages show."""

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
# Values that say little by themselves, in words.
_VALUES = {
  ("source", "fly"): "in the run, on the fly",
  ("source", "prepared"): "beforehand, a prepared set",
  ("source", "elsewhere"): "elsewhere, by another program",
  ("subset", ""): "all examples",
  ("decoders", ""): "nothing: no files of others",
  ("geometry", ""): "the set's own",
}
# Facts that only their author can state: shown even if they are unknown.
OF_TRAINING = ("trained_on", "corruptions_seen")
NOT_STATED = "not stated"
_HASH = re.compile(r"[0-9a-f]{64}")
_SHOWN = 12  # digits of a hash
_ONE_SIDE = 2  # sides of a square


def name(fact: str) -> str:
  """Return a fact's name in words.

  >>> name("trained_on"), name("px")
  ('trained on', 'pixels')
  """
  return _NAMES.get(fact, definitions.words(fact))


def value(fact: str, content: Any) -> str:
  """Return a fact's value in words, `unknown` if it is None.

  >>> value("px", [224, 224]), value("limit", None), value("trained_on", None)
  ('224 x 224', 'unknown', 'not stated')
  """
  if content is None:
    return NOT_STATED if fact in OF_TRAINING else "unknown"
  if isinstance(content, str) and (fact, content) in _VALUES:
    return _VALUES[fact, content]
  if fact == "px" and content == []:
    return "each picture's own"
  if (
    fact == "px" and isinstance(content, Sequence) and len(content) == _ONE_SIDE
  ):
    return f"{content[0]} x {content[1]}"
  return _plain(content)


def short(fact: str, content: Any) -> str:
  """Return a fact's value in words, with a hash shortened.

  >>> short("ids", "ab" * 32), short("codec", "raw")
  ('abababababab...', 'raw')
  """
  text = value(fact, content)
  return f"{text[:_SHOWN]}..." if _HASH.fullmatch(text) else text


def unknown_names(facts: Mapping[str, Any]) -> list[str]:
  """Return the names of the unknown facts, except those `not stated`."""
  return [
    name(fact)
    for fact, content in facts.items()
    if content is None and fact not in OF_TRAINING
  ]


def _plain(content: Any) -> str:
  if isinstance(content, bool):
    return "yes" if content else "no"
  if isinstance(content, Mapping):
    parts = (
      f"{definitions.words(str(k))} {_plain(v)}" for k, v in content.items()
    )
    return "; ".join(parts) or "none"
  if isinstance(content, list | tuple):
    return ", ".join(_plain(v) for v in content) or "none"
  if isinstance(content, int):
    return f"{content:,}"
  return str(content) or "none"
