"""Lets absl tests run under pytest, each run with folders of its own.

Compiled programs are kept between runs in `.pytest_cache/`, for this process and
those that tests start: most of the tests' time is compilation.
"""

import atexit
import gc
import os
import pathlib
import shutil
import sys
import tempfile

_ROOT = pathlib.Path(__file__).resolve().parents[1]
# Before JAX is imported, which reads them then.
os.environ.setdefault(
  "JAX_COMPILATION_CACHE_DIR", str(_ROOT / ".pytest_cache" / "jax_programs")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Nothing of theirs has to outlive a power cut.
os.fsync = lambda descriptor: None

# Everything that tests make by `tempfile` goes with the run.
_folder = tempfile.mkdtemp(prefix="robust_tfds_tests_")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
tempfile.tempdir = _folder
# Workers of one session get the first one's from their environment.
_SESSION = "ROBUST_TFDS_TESTS_SESSION"
os.environ.setdefault(_SESSION, _folder)

import pytest  # noqa: E402
from absl import flags  # noqa: E402
from absl.testing import absltest  # noqa: E402

from tests import long  # noqa: E402

flags.FLAGS.mark_as_parsed()
# absl's default is one folder for every run; a run must not see another's files.
flags.FLAGS[absltest.TEST_TMPDIR.name].value = _folder


def of_session() -> pathlib.Path:
  """A folder that all processes of this run of the tests share."""
  return pathlib.Path(os.environ[_SESSION])


def pytest_configure(config: pytest.Config) -> None:
  """Compile the fast suite's programs in half of the time: they run once.

  Slow tests hold the same values with the programs that users get.
  """
  level, given = (
    "--xla_backend_optimization_level=0",
    os.getenv("XLA_FLAGS", ""),
  )
  if config.option.markexpr == "not slow" and level not in given:
    os.environ["XLA_FLAGS"] = f"{given} {level}".strip()


def pytest_collection_finish() -> None:
  """Leave what was imported out of all later garbage collections."""
  gc.collect()
  gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
  """Mark the tests that `tests/seconds.tsv` makes slow.

  `python -m tests.long` runs them. A test is quick until it is listed, and the
  contract of a new or changed plugin always is.
  """
  rows = long.table().items()
  measured = {test for test, row in rows if row.marked_by == long.LISTED}
  for item in items:
    if item.nodeid in measured and not item.get_closest_marker("contract"):
      item.add_marker(pytest.mark.slow)


_resident = pathlib.Path("/proc/self/statm")  # Linux has it
_most = 3 * 2**30  # bytes of this process at which programs are forgotten


def pytest_runtest_teardown() -> None:
  """Forgets compiled programs before those of hundreds of networks fill memory."""
  global _most
  if "jax" in sys.modules and _bytes() > _most:
    sys.modules["jax"].clear_caches()
    gc.collect()
    _most = max(_most, _bytes() + 2**30)


def _bytes() -> int:
  """How much memory this process holds; 0 where the system does not say."""
  if not _resident.exists():
    return 0
  return int(_resident.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
