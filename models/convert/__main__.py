"""Converts a checkpoint: python -m models.convert NAME FILE OUT.npz

NAME is a classifier, a video network or a detector: of `models.names()`,
`models.video.names()` or `models.detection.names()`. Writes OUT.npz (our paths
and layout, no pickles), OUT.npz.sha256 and OUT.npz.report.json: where every
array went, and of classifiers, when torch and torchvision or timm are installed
and know the model, how far our logits are from theirs.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Any

import models
from models import detection
from models import video
from models.convert import formats
from models.convert import match
from models.convert import report


def main(arguments: list[str] | None = None) -> int:
  """Converts one checkpoint; returns the exit status."""
  parser = argparse.ArgumentParser(
    prog="python -m models.convert", description=__doc__
  )
  parser.add_argument("name", help="of a model")
  parser.add_argument("checkpoint", help="a file or an orbax directory")
  parser.add_argument("out", help="the npz to write")
  parser.add_argument("--num_classes", type=int, default=None)
  given = parser.parse_args(arguments)
  try:
    model, loaded = _load(given)
    out = pathlib.Path(given.out)
    digest = report.write_npz(loaded.variables, out)
    summary = report.write_report(model, given, loaded, digest, out)
  except (ValueError, OSError, ImportError) as error:
    print(f"models.convert: {error}", file=sys.stderr)
    return 1
  print(summary)
  return 0


def _load(given: argparse.Namespace) -> tuple[Any, match.Loaded]:
  """The model and its variables, from whichever registry has the name."""
  for package in (video, detection):
    if given.name in package.names():
      arrays = formats.read(given.checkpoint)
      loaded = package.convert.bring(
        given.name,
        arrays,
        num_classes=given.num_classes,
        origin=given.checkpoint,
      )
      return package.get(given.name, given.num_classes), loaded
  loaded = match.load(
    given.name, given.checkpoint, num_classes=given.num_classes
  )
  return models.get(given.name, given.num_classes), loaded


if __name__ == "__main__":
  sys.exit(main())
