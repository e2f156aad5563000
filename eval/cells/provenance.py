"""The dependencies of a number, and its fingerprint.

The fingerprint covers data, seed, weights, preprocessing and the versions of
the code that determines pixels and scores. It leaves out what must not matter:
batch size, devices, hosts, paths, dates.
"""

import hashlib
import json
from collections.abc import Mapping

from robust_tfds import version

# Of all code that decides pixels: raised with any change of one.
# 2: Cityscapes-C on the fly has the keys of the prepared set.
# 3: prepared JPEG files are read with Pillow's pixels.
# 4: pictures are resized first across, then down, whatever Pillow is here.
PIXELS_VERSION = 4
# Of the definitions of all metrics: raised where equal predictions give another
# value of a cell, or of a number over cells.
METRICS_VERSION = 1


def fingerprint(facts: Mapping[str, object]) -> str:
  """Return 12 hexadecimal digits of the sha256 of the facts as canonical JSON."""
  text = json.dumps(facts, sort_keys=True, separators=(",", ":"), default=str)
  return hashlib.sha256(text.encode()).hexdigest()[:12]


def code_version() -> str:
  """Return the version of the package that made a number, for people."""
  return version.VERSION
