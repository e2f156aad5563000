"""Converts a checkpoint: python -m models.convert NAME FILE OUT.npz

NAME is one of `models.names()`, FILE a path or a name as `models.convert.load`
takes. Writes OUT.npz (our paths and layout, no
pickles), OUT.npz.sha256 and OUT.npz.report.json: where every array went, and
when torch and torchvision or timm are installed and know the model, how far our
logits are from theirs.
"""

from __future__ import annotations

import argparse
import sys

from robust_tfds import errors
from robust_tfds.models.convert import match, report, sources
from robust_tfds.storage import paths


def main(arguments: list[str] | None = None) -> int:
  """Converts one checkpoint; returns the exit status."""
  parser = argparse.ArgumentParser(
    prog="python -m models.convert", description=__doc__
  )
  parser.add_argument("name", help="of a model")
  parser.add_argument(
    "checkpoint", help="a file, an orbax directory, or a name such as timm:..."
  )
  parser.add_argument("out", help="the npz to write")
  parser.add_argument("--num_classes", type=int, default=None)
  parser.add_argument("--input_px", type=int, default=None)
  parser.add_argument(
    "--head", default=None, help="a second checkpoint, of the head alone"
  )
  options = parser.parse_args(arguments)
  try:
    out = paths.of(options.out)
    located = sources.locate(options.checkpoint)
    head = sources.locate(options.head) if options.head else None
    loaded = match.load(
      options.name,
      located,
      num_classes=options.num_classes,
      input_px=options.input_px,
      head=head,
    )
    match.warn(loaded)
    digest = report.write_npz(loaded.variables, out)
    summary = report.write_report(located, loaded, digest, out, head=head)
  except (errors.UserError, OSError) as error:
    print(f"models.convert: {error}", file=sys.stderr)
    return 1
  print(summary)
  return 0


if __name__ == "__main__":
  sys.exit(main())
