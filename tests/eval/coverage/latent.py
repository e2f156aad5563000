"""Right and wrong answers of clustered examples, errors known in closed form.

An example of a group is wrong in a cell where group effect + example effect + noise
of the cell is below the cell's threshold, all normal. So cells share what makes an
example hard, two models too, and so do examples of a group.
"""

import dataclasses

import numpy as np
from scipy import stats

_NOISE = 0.8  # standard deviation of what a cell adds
_MORE = 0.2  # the chance that a group of 2 to 20 ends with an example


@dataclasses.dataclass(frozen=True)
class Design:
  """What data sets are like.

  Attributes:
    groups: how many.
    spread: standard deviation of the groups' effects, that of examples being 1;
      None where every example is its own group.
    size: examples of every group; 0: 2 to 20, in data sets of other sizes.
    harder: of groups of 2 to 20: what the logarithm of the size takes from a
      group's effect, so that large groups are wrong more often.
  """

  groups: int
  spread: float | None = None
  size: int = 0
  harder: float = 0.0

  @property
  def words(self) -> str:
    """For the table."""
    if self.spread is None:
      return f"{self.groups:,} examples"
    inside = self.spread**2 / (self.spread**2 + 1 + _NOISE**2)
    of = f"{self.size or '2-20'} examples"
    large = ", large ones harder" if self.harder else ""
    return f"{self.groups:,} groups of {of}, correlation {inside:.2f}{large}"

  def errors(self, thresholds: np.ndarray) -> np.ndarray:
    """The population's error in each cell, of examples: `[C]`."""
    scale = np.sqrt(self.variance)
    sizes = np.arange(2, 21)
    chance = stats.geom.pmf(sizes - 1, _MORE)
    chance[-1] = stats.geom.sf(sizes[-1] - 2, _MORE)
    moved = thresholds[:, None] + self.harder * np.log(sizes)
    return np.average(
      stats.norm.cdf(moved / scale), axis=1, weights=chance * sizes
    )

  @property
  def variance(self) -> float:
    """Of what makes an example hard in a cell, where `harder` is 0."""
    return (self.spread or 0) ** 2 + 1 + _NOISE**2

  def draw(
    self, rng: np.random.Generator, thresholds: np.ndarray
  ) -> tuple[np.ndarray, np.ndarray]:
    """A data set: bool `[N, C]`, wrong or not, and its groups, `[N]` texts."""
    hard, groups = self.effects(rng, len(thresholds))
    return hard < thresholds, groups

  def effects(
    self, rng: np.random.Generator, cells: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """What makes examples easy in each cell, `[N, C]`, and their groups `[N]`."""
    sizes = self._sizes(rng)
    of = np.repeat(np.arange(self.groups), sizes)
    ease = rng.normal(0, self.spread or 0, self.groups)
    ease = (ease - self.harder * np.log(sizes))[of] + rng.normal(size=len(of))
    ids = np.array([f"g{i}" for i in range(self.groups)])
    return ease[:, None] + rng.normal(0, _NOISE, (len(of), cells)), ids[of]

  def _sizes(self, rng: np.random.Generator) -> np.ndarray:
    if self.spread is None:
      return np.ones(self.groups, int)
    if self.size:
      return np.full(self.groups, self.size)
    return np.minimum(1 + rng.geometric(_MORE, self.groups), 20)


DESIGNS = (
  Design(50),
  Design(25, 1.5),
  Design(50, 0.7),
  Design(242),
  Design(242, 1.5),
  Design(100, 0.7, harder=0.4),
)
