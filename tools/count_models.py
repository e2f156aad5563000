"""Count multiply-adds of models into `models/gflops.tsv`.

  python -m tools.count_models               # those that are not counted yet
  python -m tools.count_models 'convnext*'   # these, again

The rule: `models/multiply_adds.py`. A network takes from two seconds to a minute.
"""

import pathlib
import sys

from models import catalogue, multiply_adds
from robust_tfds import models

FILE = pathlib.Path(catalogue.__file__).with_name("gflops.tsv")


def main() -> None:
  """Count, and write the file after each model."""
  counts = dict(catalogue.gflops())
  names = models.names()
  chosen = [name for name in names if name not in counts]
  if sys.argv[1:]:
    chosen = list(models.names(sys.argv[1]))
  for name in chosen:
    counts[name] = gflops(name)
    print(name, counts[name], flush=True)
    FILE.write_text(text({n: counts[n] for n in names if n in counts}), "utf-8")


def gflops(name: str) -> float:
  """Return a model's multiply-adds in billions, to four significant digits."""
  count = multiply_adds.count_model(catalogue.network(name))
  return float(f"{count / 1e9:.4g}")


def text(counts: dict[str, float]) -> str:
  """Return the file's text."""
  return "".join(f"{name}\t{counts[name]:g}\n" for name in sorted(counts))


if __name__ == "__main__":
  main()
