"""BUILD has a target for every Python file, with the dependencies it imports."""

import importlib.util
import pathlib

from absl.testing import absltest

_ROOT = pathlib.Path(__file__).resolve().parents[1]


def _build_file():
  location = _ROOT / "tools" / "build_file.py"
  loader = importlib.util.spec_from_file_location("build_file", location)
  module = importlib.util.module_from_spec(loader)
  loader.loader.exec_module(module)
  return module


class BuildTest(absltest.TestCase):
  def test_build_is_up_to_date(self):
    self.assertEqual(
      (_ROOT / "BUILD").read_text("utf-8"),
      _build_file().text(),
      "BUILD is out of date: run python tools/build_file.py",
    )

  def test_every_file_has_a_target(self):
    build = (_ROOT / "BUILD").read_text("utf-8")
    for folder in ("robust_tfds", "eval", "models", "configs", "tests"):
      for path in (_ROOT / folder).rglob("*.py"):
        self.assertIn(f'"{path.relative_to(_ROOT)}"', build)


if __name__ == "__main__":
  absltest.main()
