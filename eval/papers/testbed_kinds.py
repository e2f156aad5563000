"""The kinds of models in the testbed of Taori et al. 2020.

The file `eval/papers/shankar2021/testbed_models.tsv` has one line per model;
`*` stands for the epochs of a training. Its sources are files of
modestyachts/imagenet-testbed at commit a62fafa, or the paper of a model that
was added later. `testbed_unnamed.tsv` says why a model has no name of ours. The
authors fit their line only to the standard models (their file
paper_vid_robust_pmk.py), without those that they trained themselves (`aws` and
`batch64` in the name): these 78.
"""

import fnmatch
import functools
from collections.abc import Mapping

from eval.papers import printed_rows

STANDARD = "standard"
# Kind -> its models in words.
KINDS = {
  STANDARD: "trained on ImageNet alone, without an intervention",
  "robust": "a robustness intervention",
  "more_data": "trained on more data",
  "control": "trained by the authors for comparison, not in their fit",
  "later": "added after the paper, without more data",
  "checkpoint": "an epoch of a training",
}
_PAPER, _TABLES = "shankar2021", ("testbed_vid", "testbed_ytbb")


def testbed(dataset: str, kind: str = "") -> dict[str, tuple[float, float]]:
  """Return (pm-0, pm-10) of the testbed's models by name; {} without any.

  Args:
    kind: kind of models, one of `KINDS`; '' for all.
  """
  networks: dict[str, dict[str, float]] = {}
  for row in printed_rows.paper_rows(_PAPER):
    if row.table in _TABLES and dataset in row.datasets:
      networks.setdefault(row.network, {})[row.metric] = row.value
  return {
    name: (p["acc_orig"], p["acc_pmk"])
    for name, p in networks.items()
    if kind in ("", kinds()[name])
  }


@functools.cache
def kinds() -> Mapping[str, str]:
  """Return the kind of each of the testbed's models, one of `KINDS`."""
  names = [line["network"] for line in printed_rows.lines(_PAPER, _TABLES[0])]
  return {
    name: line["kind"]
    for line in printed_rows.lines(_PAPER, "testbed_models")
    for name in fnmatch.filter(names, line["network"])
  }
