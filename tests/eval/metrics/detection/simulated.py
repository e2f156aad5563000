"""A synthetic detector whose AP is known from very many pictures.

Pictures differ in difficulty, which their objects and false alarms share, so that
detections of a picture are not independent. No geometry: detections are right or
wrong at three thresholds at once.
"""

import numpy as np

from robust_tfds.eval.metrics.detection import matches

CLASSES = 4
_THRESHOLDS = np.array([0.0, 0.15, 0.3])  # taken off the chance of a hit


def draw(
  rng: np.random.Generator, pictures: int, severity: float
) -> matches.Matches:
  """The matches of so many pictures.

  Args:
    rng: of all that is random.
    pictures: how many.
    severity: taken off the chance of a hit.
  """
  difficulty = rng.beta(2, 2, pictures)
  objects = np.repeat(np.arange(pictures), rng.poisson(3, pictures))
  labels = rng.choice(CLASSES, len(objects), p=[0.4, 0.3, 0.2, 0.1])
  chance = 1 - 0.6 * difficulty[objects] - severity
  hit = rng.random((len(objects), 1)) < chance[:, None] - _THRESHOLDS
  detected = rng.random(len(objects)) < 0.95
  alarms = np.repeat(np.arange(pictures), rng.poisson(3 * difficulty, pictures))
  image = np.concatenate([objects[detected], alarms])
  label = np.concatenate(
    [labels[detected], rng.integers(0, CLASSES, len(alarms))]
  )
  score = np.concatenate(
    [
      rng.normal(chance[detected], 0.3),
      rng.normal(0.1, 0.3, len(alarms)),
    ]
  )
  right = np.concatenate([hit[detected], np.zeros((len(alarms), 3), bool)])
  order = np.lexsort((-score, label))
  return matches.Matches(
    image[order],
    label[order],
    right[order],
    ~right[order],
    np.stack([objects, labels]),
  )
