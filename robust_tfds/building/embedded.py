"""Base builders of embedded pictures: a clean set, and sets from its test
split.

The module of the clean set has `sources(split)` and `labels(split)`.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from robust_tfds.building import base, pictures


class Clean(
  pictures.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The clean pictures for training and testing; lossless."""

  FAMILY = None
  OTHER_SPLITS = MappingProxyType({"train": 0})
  CODECS = ()

  def _split_pictures(self, split: str) -> Sequence[pictures.Source]:
    """Return the pictures of a split; implemented by each set."""
    raise NotImplementedError

  def _sources(self, dl_manager: Any) -> Sequence[pictures.Source]:
    del dl_manager
    return self._split_pictures(self.SPLIT)

  def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
    del dl_manager
    return {s: self._generate_examples(s) for s in ("train", self.SPLIT)}

  def _generate_examples(
    self, split: str
  ) -> Iterator[tuple[str, dict[str, Any]]]:
    for source in self._split_pictures(split):
      keys = base.example_keys(source.example_id)
      data = pictures.encode(source.picture.read(), pictures.RAW)
      yield (
        source.example_id,
        {"image": io.BytesIO(data), "label": source.label, **keys},
      )


class OfTest:
  """The test split of an embedded set, corrupted or in motion.

  Attributes:
    CLEAN: the module of the clean set.
  """

  CLEAN: ClassVar[Any]
  SPLIT: ClassVar[str]
  EMBEDDED: ClassVar[bool] = True

  @classmethod
  def known_ids(cls) -> Collection[str]:
    """Return the ids of the embedded pictures."""
    return cls.CLEAN.labels(cls.SPLIT)

  @classmethod
  def known_label(cls, example_id: str) -> int | None:
    """Return the label of an embedded picture."""
    return cls.CLEAN.labels(cls.SPLIT).get(example_id)

  def _sources(self, dl_manager: Any) -> Sequence[pictures.Source]:
    del dl_manager
    return self.CLEAN.sources(self.SPLIT)
