"""How often a run decoded each example, as its timing.json says."""

import json
import pathlib


def of(workdir: pathlib.Path) -> dict[str, float]:
  """Set -> decoded examples for each of its examples."""
  return json.loads((workdir / "timing.json").read_text("utf-8"))["reads"]
