"""The settings of a stranger's run, as far as anything here reads them.

A run's own schema (`eval/run/config.py`) knows the keys of today; a submission
may be older, so other keys are passed over. Those that are read have their types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pydantic

from robust_tfds import reading

_Names = str | list[str]
_Levels = int | list[int]
_Count = Annotated[int, pydantic.Field(ge=0)]


class _Record(pydantic.BaseModel):
  model_config = pydantic.ConfigDict(extra="allow", strict=True)


class _Data(_Record):
  """What was read, and what was made of it."""

  name: Annotated[str, pydantic.Field(min_length=1)]
  corruptions: _Names = ""
  perturbations: _Names = ""
  severities: _Levels = 1
  difficulties: _Levels = 1
  limit: _Count | None = 0
  subset: str | None = ""
  split: str | None = ""
  source: str | None = ""
  codec: str | None = ""
  geometry: str | None = ""
  rules: str | None = ""
  sampling: str = ""
  label_space: str = ""
  merge: str = ""
  views: Annotated[int, pydantic.Field(ge=1)] = 1


class _Model(_Record):
  """One model of a run."""

  name: str
  label: str | None = ""


class _Config(_Record):
  """All of it."""

  task: str
  seed: int
  baseline: str = ""
  data: _Data
  model: _Model | None = None
  models: dict[str, _Model] | list[str] = pydantic.Field(default={})


def check(settings: Mapping[str, Any], source: str) -> None:
  """Refuses settings of another type than those that are read.

  Args:
    settings: what config.json holds.
    source: its path.

  Raises:
    UserError: names the key.
  """
  reading.records(settings, _Config, source)
