"""Cityscapes-C: Cityscapes val under 19 corruptions x 5, boxes and masks."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds import errors
from robust_tfds.building import base, objects
from robust_tfds.building.sources import cityscapes, instance_maps

# What becomes of objects that could not be told apart: the option's value ->
# the config's variant.
_GROUPS = {"crowd": "", "drop": "no_groups"}


class Builder(objects.Builder):
  """The Robust Detection Benchmark's Cityscapes-C (Michaelis et al. 2019)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "cityscapes_c:model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = cityscapes.INSTRUCTIONS
  SPLIT = "validation"
  CLASSES = tuple(instance_maps.CLASSES.values())
  CATEGORY_IDS = tuple(instance_maps.CLASSES)
  USUAL_PX = 1448  # as many pixels as 2048 x 1024
  PUBLISHED_EXAMPLES = 500
  HOMEPAGE = "https://www.cityscapes-dataset.com"

  @classmethod
  def config_of(
    cls, name: str, *, groups: str | None = None, **options: Any
  ) -> base.Config | None:
    """Return a config as every dataset does, with one more option.

    Args:
      name: see the parent class.
      groups: `crowd` (the default): objects that could not be told apart are
        crowds; `drop`: they are left out.
      **options: see the parent class.

    Raises:
      UserError: as the parent class, or another treatment of groups.
    """
    config = super().config_of(name, **options)
    if config is None or groups is None:
      return config
    if groups not in _GROUPS:
      raise errors.unknown_error("treatment of groups", groups, _GROUPS)
    changed = cls.changed(config, variant=_GROUPS[groups])
    return cls.builder_configs.get(changed.name, changed)

  @classmethod
  def _variants(cls) -> tuple[str, ...]:
    return tuple(_GROUPS.values())

  @classmethod
  def _ending(cls, variant: str) -> str:
    return variant

  @classmethod
  def known_group(cls, example_id: str, frame: int = 0) -> str | None:
    """Return the sequence that a file's name says; results lists have numbers alone."""
    del frame
    return (
      example_id if example_id.isdigit() else cityscapes.sequence(example_id)
    )

  def _sources(self, dl_manager: Any) -> list[objects.Source]:
    return cityscapes.sources(
      dl_manager.manual_dir, drop_groups=self.config.variant == _GROUPS["drop"]
    )
