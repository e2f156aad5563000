"""Commands: any two can be imported together; none defines a flag at import."""

import ast
import pathlib

from absl.testing import parameterized

from tests import in_process

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_FOLDERS = ("robust_tfds", "eval", "models", "configs")


def _is_command(path: pathlib.Path) -> bool:
  """Whether a file runs as a program."""
  body = ast.parse(path.read_text("utf-8")).body
  return path.name == "__main__.py" or any(
    isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test)
    for statement in body
  )


def _commands() -> list[str]:
  paths = []
  for folder in _FOLDERS:
    paths += [
      p for p in sorted((_ROOT / folder).rglob("*.py")) if _is_command(p)
    ]
  return [".".join(p.relative_to(_ROOT).with_suffix("").parts) for p in paths]


class CommandsTest(parameterized.TestCase):
  def test_there_are_some(self):
    self.assertContainsSubset(
      {
        "eval.main",
        "eval.score",
        "eval.compare.__main__",
        "eval.run.rmse",
        "models.convert.__main__",
        "robust_tfds.build",
        "robust_tfds.corrupt_folder",
      },
      _commands(),
    )

  def test_all_in_one_process_without_a_flag(self):
    program = "\n".join(
      [
        "from absl import flags",
        "import absl.app, absl.logging",
        "before = set(flags.FLAGS)",
        *(f"import {name}" for name in _commands()),
        "ours = [n for n in set(flags.FLAGS) - before",
        "  if flags.FLAGS.find_module_defining_flag(n).startswith(",
        f"    {_FOLDERS!r})]",
        "print(sorted(ours))",
      ]
    )
    done = in_process.python("-c", program)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(done.stdout.strip(), "[]")

  @parameterized.parameters(*_commands())
  def test_flags_are_defined_in_functions(self, name):
    path = _ROOT.joinpath(*name.split(".")).with_suffix(".py")
    for statement in ast.parse(path.read_text("utf-8")).body:
      if not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Expr)):
        self.assertNotIn("DEFINE_", ast.unparse(statement), name)
