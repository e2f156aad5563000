"""Sets built by the command from sources in their official layout."""

import functools
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from tests import tiny_files
from tests.faults import commands

Files = Mapping[str, bytes]


def build(
  name: str, folder: pathlib.Path, config: str = "clean", **flags: Any
) -> dict[str, Mapping[str, Any]]:
  """Builds from `folder`; the examples by id."""
  data = folder.parent / "data"
  commands.run(
    "robust_tfds.build",
    name,
    f"--config={config}",
    f"--manual_dir={folder}",
    f"--data_dir={data}",
    *(f"--{flag}={value}" for flag, value in flags.items()),
  )
  return examples(data)


def examples(data: pathlib.Path) -> dict[str, Mapping[str, Any]]:
  """All examples of the only set below a folder, by id."""
  import tensorflow_datasets as tfds

  (info,) = data.rglob("dataset_info.json")
  built = tfds.builder_from_directory(info.parent)
  (split,) = built.info.splits
  rows = list(tfds.as_numpy(built.as_dataset(split=split)))
  out = {r["example_id"].decode(): r for r in rows}
  assert len(out) == len(rows), "an id twice"
  return out


def of_files(
  name: str,
  files: Files,
  folder: pathlib.Path,
  config: str = "clean",
  **flags: Any,
) -> dict[str, Mapping[str, Any]]:
  """Builds from files."""
  tiny_files.put(folder, files)
  return build(name, folder, config, **flags)


def change(
  name: str, files: Callable[[], Files], config: str = "clean"
) -> Callable[[Mapping[str, bytes | None], pathlib.Path], Any]:
  """Builds of files of which a few are others, or are not there (None)."""

  def act(change: Mapping[str, bytes | None], folder: pathlib.Path) -> Any:
    some: dict[str, bytes | None] = {**files(), **change}
    left = {k: v for k, v in some.items() if v is not None}
    return of_files(name, left, folder, config)

  return act


def count(number: int) -> Callable[[Any], bool]:
  """A check that there are so many examples."""
  return functools.partial(_count, number)


def _count(number: int, rows: Any) -> bool:
  return len(rows) == number
