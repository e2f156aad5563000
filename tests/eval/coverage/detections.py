"""Detections that are right or wrong, without boxes, AP known in closed form.

Pictures differ in difficulty, which their objects and false alarms share, so that
detections of a picture are not independent; conditions and models share the objects,
how hard each is, and the false alarms but for some noise. Scores are normal, better
of hits, and by how much differs from class to class.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy import stats

from eval.metrics.detection import left_out, matches

# Standard deviations: of how hard pictures are; of the scores of hits and of false
# alarms, what conditions share first.
_HARD, _HIT, _ALARM = 0.5, (0.8, 0.6), (0.9, 0.45)


@dataclasses.dataclass(frozen=True)
class Population:
  """What pictures and a detector are like.

  Attributes:
    pictures: of a data set.
    classes: how many.
    tail: the k-th class has a share of the objects that falls as k ** -tail.
    objects: of a picture, on average.
    alarms: false ones of a picture, on average.
    better: scores of hits are above those of false alarms by so many standard
      deviations.
    together: how many more objects of its class come with an object.
    voc: whether AP is VOC's, of 11 recalls.
  """

  pictures: int
  classes: int
  tail: float = 0.0
  objects: float = 3.0
  alarms: float = 5.0
  better: float = 1.5
  together: float = 0.0
  voc: bool = False

  @property
  def rule(self) -> left_out.Rule:
    """Of AP."""
    return left_out.VOC if self.voc else left_out.COCO

  def draw(
    self, rng: np.random.Generator, pictures: int, severities: Sequence[float]
  ) -> list[matches.Matches]:
    """The matches of the same pictures under several severities."""
    hard = rng.normal(0, _HARD, pictures)
    image, label = self._objects(rng, pictures)
    ease = rng.normal(0, _HIT[0], len(image))
    counts = rng.poisson(self.alarms * np.exp(0.3 * hard))
    of_alarms = np.repeat(np.arange(pictures), counts)
    labels = self._alarm_labels(rng, len(of_alarms))
    shared = rng.normal(0, _ALARM[0], len(of_alarms))
    apart = self._better[label]
    out = []
    for severity in severities:
      chance = _chance(hard[image], severity)
      hit = rng.random(len(image)) < chance
      score = apart - severity - hard[image] / 2 + ease
      score = score + rng.normal(0, _HIT[1], len(image))
      wrong = shared + rng.normal(0, _ALARM[1], len(of_alarms))
      out.append(
        _sorted(
          np.append(image[hit], of_alarms),
          np.append(label[hit], labels),
          np.append(score[hit], wrong),
          int(hit.sum()),
          np.stack([image, label]),
        )
      )
    return out

  def truth(self, severities: Sequence[float]) -> np.ndarray:
    """AP of infinitely many pictures under each severity, in closed form: `[S]`.

    Hits and false alarms above a score have rates; these give precision and recall
    of every score, where AP takes the best precision at or above each recall.
    """
    score = np.linspace(9, -12, 4000)
    alike = (self._shares + 1 / self.classes) / 2
    alarms = self.alarms * np.exp(0.3**2 * _HARD**2 / 2)
    wrong = alarms * stats.norm.sf(score / np.hypot(*_ALARM))
    out = []
    for severity in severities:
      hits = self._recall(severity, score)
      right = self.objects * self._shares[:, None] * hits
      precision = right / (right + alike[:, None] * wrong)
      best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
      out.append(np.mean([self._average(*of) for of in zip(hits, best)]))
    return np.array(out)

  def _recall(self, severity: float, score: np.ndarray) -> np.ndarray:
    """The share of each class's objects whose hit has a higher score: `[K, N]`."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    hard = _HARD * nodes
    far = score[:, None] + severity + hard / 2
    chance = weights / weights.sum() * _chance(hard, severity)
    rows = [
      stats.norm.sf((far - of) / np.hypot(*_HIT)) @ chance
      for of in self._better
    ]
    return np.stack(rows)

  def _average(self, recall: np.ndarray, best: np.ndarray) -> float:
    """Of a class, whose recall rises with the place."""
    place = np.searchsorted(recall, self.rule.recalls)
    return float(np.mean(np.append(best, 0.0)[place]))

  def _objects(
    self, rng: np.random.Generator, pictures: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Picture and class of each."""
    alone = self.objects / (1 + self.together)
    image = np.repeat(np.arange(pictures), rng.poisson(alone, pictures))
    label = rng.choice(self.classes, len(image), p=self._shares)
    times = 1 + rng.poisson(self.together, len(image))
    return np.repeat(image, times), np.repeat(label, times)

  def _alarm_labels(self, rng: np.random.Generator, number: int) -> np.ndarray:
    """Half of them as objects have them, half alike."""
    alike = rng.integers(0, self.classes, number)
    as_objects = rng.choice(self.classes, number, p=self._shares)
    return np.where(rng.random(number) < 0.5, alike, as_objects)

  @property
  def _shares(self) -> np.ndarray:
    shares = np.arange(1, self.classes + 1.0) ** -self.tail
    return shares / shares.sum()

  @property
  def _better(self) -> np.ndarray:
    """Of each class; frequent and rare ones alike."""
    steps = np.arange(self.classes) * 7 % self.classes
    return self.better + 1.2 * (steps + 0.5) / self.classes - 0.6


def _chance(hard: np.ndarray, severity: float) -> np.ndarray:
  """Of an object, to be hit."""
  return 1 / (1 + np.exp(hard + 2 * severity - 1.7))


def _sorted(
  image: np.ndarray,
  label: np.ndarray,
  score: np.ndarray,
  hits: int,
  objects: np.ndarray,
) -> matches.Matches:
  """Matches at one threshold, of which the first ones are hits."""
  order = np.lexsort((-score, label))
  right = (order < hits)[:, None]
  return matches.Matches(image[order], label[order], right, ~right, objects)
