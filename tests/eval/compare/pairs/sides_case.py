"""Tests of two sides: runs are written into the test's folder."""

from eval.compare import runs
from eval.compare.sides import Side
from tests import in_folder
from tests.eval.compare import small_runs


def of(folder) -> Side:
  """The first model of a run on disk."""
  (run,) = runs.read([str(folder)])
  cell = run.cells[0]
  return Side.from_run(run, cell.dataset, cell.model)


class TestCase(in_folder.TestCase):
  """A test that has sides."""

  def side(self, name, models=None, *, names=("fog",), **options) -> Side:
    """The first model of a new run: by default of one that is wrong in 20 %."""
    models = {"a": 0.2} if models is None else models
    folder = self.root / name
    return of(small_runs.write(folder, models, names=names, **options))
