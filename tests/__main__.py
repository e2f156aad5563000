"""The tests that the arguments name, in one process: what BUILD's targets run.

python -m tests tests/reading
"""

import sys

import pytest

if __name__ == "__main__":
  sys.exit(pytest.main(["-n", "0", "-p", "no:cacheprovider", *sys.argv[1:]]))
