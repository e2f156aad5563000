"""Builders of a user's labelled pictures: corrupted, or perturbed as sequences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import tensorflow_datasets as tfds

from robust_tfds import errors
from robust_tfds.building import base, geometry, pictures, sequences
from robust_tfds.building.own_set import OwnSet


class _Pictures(
  pictures.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The builder of corrupted pictures: cropped by a rule, or in their own sizes."""

  EDITION = "imagenet"
  GEOMETRY = "imagenet"
  OTHER_GEOMETRIES = ("inception", "none")
  EDITIONS = {"inception": "inception", "none": "any"}
  CODECS = (pictures.RAW, pictures.JPEG85)
  OWN: ClassVar[OwnSet]

  @classmethod
  def crop(cls, rule: str) -> str:
    """Return the geometry for a model's rule; ImageNet-C's if both are the same.

    `whole` pictures are corrupted in their own sizes (`none`). If the set is
    squashed, only the size of the rule matters.
    """
    if rule == "whole":
      return "none"
    if cls.OWN.is_squashed:
      return f"squash{geometry.shape(rule)[0]}"
    same = geometry.fit(rule, 512, 384) == geometry.fit(cls.GEOMETRY, 512, 384)
    return cls.GEOMETRY if same else rule

  def _sources(self, dl_manager: object) -> Sequence[pictures.Source]:
    del dl_manager
    own = self.OWN
    rule = self.config.geometry
    return pictures.sources_from_files(own.files(), rule, **own.reading)

  def example_features(self) -> dict[str, Any]:
    """Return the features: picture, label and, if the set has several, all labels."""
    features = super().example_features()
    if self.OWN.several:
      features["labels"] = tfds.features.Sequence(self.label_feature())
    return features

  def _to_example(self) -> Callable[[pictures.Row], tuple[str, dict[str, Any]]]:
    return functools.partial(_example, labels=self.OWN.labels)


class _Sequences(
  sequences.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The builder of ImageNet-P's sequences, in the edition of a model's size."""

  EDITION = "imagenet"
  SIDE_PX = 224
  OTHER_GEOMETRIES = ("inception", "squash64", "short32_crop32")
  EDITIONS = {
    "inception": "inception",
    "squash64": "imagenet64",
    "short32_crop32": "cifar10",
  }
  # The rule that each edition starts from, as in ImageNet-P's scripts.
  SOURCE_RULES = {"": "short256", "inception": "whole"}
  OWN: ClassVar[OwnSet]
  _CROPS = {224: "", 299: "inception", 64: "squash64", 32: "short32_crop32"}

  @classmethod
  def crop(cls, rule: str) -> str:
    """Return the edition's own crop of that size.

    Raises:
      UserError: no edition of the sequences is of that size.
    """
    side = geometry.shape(rule)[0]
    if side not in cls._CROPS:
      raise errors.UserError(
        f"{cls.set_name()}: got {side} px, expected sequences of"
        f" {', '.join(map(str, cls._CROPS))} px. Name a model of such a size, or set"
        " size= of evaluate."
      )
    return cls._CROPS[side]

  def _sources(self, dl_manager: object) -> Sequence[pictures.Source]:
    del dl_manager
    crop = self.config.geometry
    rule = self.SOURCE_RULES.get(crop, crop)
    return pictures.sources_from_files(
      self.OWN.files(), rule, convert_last=True, **self.OWN.reading
    )


def _example(
  row: pictures.Row, *, labels: Mapping[str, Sequence[int]]
) -> tuple[str, dict[str, Any]]:
  """Return (key, example); the example has all labels if the set has several."""
  key, example = pictures.example(row)
  return key, {**example, "labels": labels[key]} if labels else example


def builder_class(own: OwnSet, as_sequences: bool) -> type[base.Builder]:
  """Return the builder of a set of labelled pictures.

  Args:
    as_sequences: make ImageNet-P's sequences rather than ImageNet-C's pictures.
  """
  if as_sequences:
    return subclass(_Sequences, own, f"{own.kind}_p")
  return subclass(_Pictures, own, f"{own.kind}_c")


def subclass(
  kind: type[base.Builder], own: OwnSet, called: str
) -> type[base.Builder]:
  """Return the builder class of one set.

  Args:
    called: the builder's name in TFDS.
  """

  class Builder(
    kind,  # type: ignore[misc, valid-type]
    skip_registration=True,  # type: ignore[call-arg]
  ):
    """The builder of one set."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "Initial release."}
    name = called
    OWN = own
    CLASSES = own.classes
    SPLIT = own.split

  return Builder
