"""The texts of a zero-shot classifier: every class's name in every template.

A class's embedding is the mean of its texts' embeddings, each of length 1, made
length 1 again (openai/CLIP, Prompt_Engineering_for_ImageNet.ipynb).
"""

import collections
import dataclasses
import hashlib
import os
from collections.abc import Sequence

import numpy as np

from models.convert import match, sources
from models.zero_shot import prompts as prompts_lib
from models.zero_shot import tokenizer
from robust_tfds import errors

_SHOWN = 3  # templates that a sentence lists


@dataclasses.dataclass(frozen=True)
class Texts:
  """What a text tower reads.

  Attributes:
    names: names of the classes, in label order, as they stand in the texts.
    templates: with one `{}` for the name.
    notes: what a run prints of them, in sentences.
  """

  names: tuple[str, ...]
  templates: tuple[str, ...]
  notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Head:
  """Texts as ids, and the tower that embeds them.

  Attributes:
    texts: what the ids are of.
    ids: int32 `[classes * templates, 77]`, all of the first class first.
    tower: the text tower with its weights.
    notes: what a run prints of it, in sentences.
  """

  texts: Texts
  ids: np.ndarray
  tower: match.Loaded
  notes: tuple[str, ...]

  @property
  def facts(self) -> dict[str, str]:
    """What the embeddings depend on besides weights: counts and sha256."""
    texts = self.texts
    return {
      "templates": f"{len(texts.templates)}, sha256 {_sha256(texts.templates)}",
      "names": f"{len(texts.names)}, sha256 {_sha256(texts.names)}",
      "ids": f"sha256 {hashlib.sha256(self.ids.tobytes()).hexdigest()}",
    }

  @property
  def placeholder(self) -> np.ndarray:
    """Zeros in place of the embeddings, which are no answer to anything."""
    width = self.tower.model.variant.options["embedding"]
    return np.zeros((len(self.texts.names), width), np.float32)

  def embeddings(self) -> np.ndarray:
    """Compute the classes' embeddings: float32 `[classes, n]`, of length 1."""
    from models.zero_shot import tower

    each = tower.embed(self.tower, self.ids)
    mean = each.reshape(len(self.texts.names), -1, each.shape[1]).mean(1)
    length = np.linalg.norm(mean, axis=1, keepdims=True)
    return np.asarray(mean / length, np.float32)


def make(
  names: Sequence[str],
  prompts: str | Sequence[str],
  owner: str,
  *,
  published: bool = False,
) -> Texts:
  """Return the texts of classes.

  Args:
    names: names of the classes, in label order.
    prompts: the templates, see `prompts.templates`.
    owner: whom the names belong to, in words.
    published: whether names that two classes share were published so: they are
      said, and not refused.

  Raises:
    UserError: a name is missing, or of two classes; see `prompts.templates`.
  """
  templates = prompts_lib.templates(prompts)
  for label, name in enumerate(names):
    if not name.strip():
      raise errors.UserError(
        f"class_names: class {label} of {len(names)} has no name. Write one for"
        " each: the prompts are made of them."
      )
  counts = collections.Counter(" ".join(n.split()).lower() for n in names)
  twice = sorted(name for name, count in counts.items() if count > 1)
  if twice and not published:
    raise errors.UserError(
      f"class_names: {twice[0]!r} is the name of {counts[twice[0]]} classes"
      f" ({len(twice)} such names), whose prompts would be the same. Give each a"
      " name of its own."
    )
  notes = [f"class names: {owner}", _corruptions(templates, prompts)]
  if twice:
    notes.append(
      f"{', '.join(twice)}: the name of two classes each, of which the first is"
      " answered"
    )
  return Texts(tuple(names), templates, tuple(notes))


def _corruptions(templates: Sequence[str], prompts: str | Sequence[str]) -> str:
  """Return how many templates there are, and how many name a corruption."""
  named = [t for t in templates if prompts_lib.names_corruption(t)]
  text = f"prompts a class: {len(templates)}; {len(named)} name a corruption"
  if not named:
    return text
  listed = ", ".join(f"{t!r}" for t in named[:_SHOWN])
  more = ", ..." * (len(named) > _SHOWN)
  clean = f"{prompts}{prompts_lib.CLEAN}"
  remedy = f"; prompts={clean!r} leaves them out" * (clean in prompts_lib.NAMES)
  return f"{text} ({listed}{more}){remedy}"


def head(
  name: str, checkpoint: str | os.PathLike[str] | sources.Located, texts: Texts
) -> Head:
  """Return the head of a CLIP model, not yet computed.

  Args:
    name: name of the model in the catalogue.
    checkpoint: the file of both towers.
    texts: texts of its classes.

  Raises:
    UserError: there is no text tower or no vocabulary, or they do not fit.
  """
  located = sources.locate(checkpoint)
  from models.zero_shot import tower

  loaded = tower.load(name, located)
  read = tokenizer.find(located.path)
  size = loaded.model.spec.num_classes
  if read.size != size:
    raise errors.UserError(
      f"{read.origin}: this tokenizer has {read.size:,} ids, and the text tower of"
      f" {located.name} has {size:,}. Put the tower's own vocabulary beside the"
      " checkpoint: merges.txt."
    )
  listed = [t.replace("{}", n) for n in texts.names for t in texts.templates]
  ids, cut = read(listed)
  words = (
    f"{cut:,} of {len(ids):,} prompts have over {tokenizer.CONTEXT} ids: cut"
  )
  return Head(texts, ids, loaded, (*texts.notes, *[words] * (cut > 0)))


def _sha256(lines: Sequence[str]) -> str:
  """Return the sha256 of a file of these lines."""
  return hashlib.sha256("".join(f"{x}\n" for x in lines).encode()).hexdigest()
