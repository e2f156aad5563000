"""The statistics of tests/golden/corruptions/README.md, in numpy."""

import json

import numpy as np

from tests import shared_data

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
LAGS = (1, 2, 4, 8)
REFERENCE_RUNS = 32


def reference() -> dict:
  """stats[key][name][severity][statistic] = {"mean": ..., "sd": ...}."""
  path = shared_data.path("golden/corruptions/stats.json")
  return json.loads(path.read_text())


def of_output(image: np.ndarray, output: np.ndarray) -> dict[str, np.ndarray]:
  """Statistics of one output, uint8 `[H, W, 3]` both."""
  a, o = image.astype(np.float64), output.astype(np.float64)
  r = o - a
  rc = r - r.mean(axis=(0, 1))
  power = (rc**2).mean()
  changed = output != image
  return {
    "mean": o.mean(axis=(0, 1)),
    "std": o.std(axis=(0, 1)),
    "mad": np.abs(r).mean(),
    "rmse": np.sqrt((r**2).mean()),
    "q": np.quantile(o, QUANTILES),
    "res_std": np.sqrt(power),
    "ac_h": _correlation(rc.swapaxes(0, 1), power),
    "ac_v": _correlation(rc, power),
    "rgb_corr": _between_channels(rc),
    "frac_elem": changed.mean(),
    "frac_pix": changed.any(axis=2).mean(),
  }


def worst(
  image: np.ndarray, outputs: np.ndarray, golden: dict
) -> tuple[float, str]:
  """The largest difference of means, in units of what is allowed (4 s.e.).

  Allowed is four standard errors of the difference of two means, and a slack of
  0.5 % of the value, half a grey level for quantiles, 0.002 for the rest.
  """
  runs = [of_output(image, o) for o in outputs]
  scale = np.sqrt(1 / len(runs) + 1 / REFERENCE_RUNS)
  ratios = {}
  for name, want in golden.items():
    got = np.mean([r[name] for r in runs], axis=0)
    mean, sd = np.array(want["mean"]), np.array(want["sd"])
    own = np.std([r[name] for r in runs], axis=0, ddof=1)
    slack = 0.005 * np.abs(mean) + (0.5 if name == "q" else 0.002)
    allowed = 4 * np.maximum(sd, own) * scale + slack
    ratios[name] = float((np.abs(got - mean) / allowed).max())
  name = max(ratios, key=ratios.get)
  return ratios[name], name


def _correlation(rc, power):
  if power == 0:
    return np.zeros(len(LAGS))
  return np.array(
    [(rc[:-k] * rc[k:]).mean() / power if k < len(rc) else 0.0 for k in LAGS]
  )


def _between_channels(rc):
  pairs = []
  for a, b in ((0, 1), (1, 2), (2, 0)):
    x, y = rc[..., a].ravel(), rc[..., b].ravel()
    flat = x.std() == 0 or y.std() == 0
    pairs.append(0.0 if flat else np.corrcoef(x, y)[0, 1])
  return np.array(pairs)
