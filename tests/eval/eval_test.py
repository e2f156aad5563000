"""`from eval import evaluate`: a function at the top, which loads what it needs."""

from absl.testing import absltest

from robust_tfds import eval as eval_lib
from robust_tfds.eval.run import evaluation
from tests import in_process


class EvalTest(absltest.TestCase):
  def test_arguments_are_the_options(self):
    names = set(eval_lib.evaluate.__annotations__) - {"return", "predict"}
    options = set(evaluation.Options.__dataclass_fields__)
    self.assertEqual(names - {"dataset"}, options)

  def test_importing_it_loads_no_framework(self):
    code = (
      "import sys; from robust_tfds.eval import evaluate;"
      "print(*{'jax', 'tensorflow'} & set(sys.modules))"
    )
    out = in_process.python("-c", code, check=True)
    self.assertEqual(out.stdout.strip(), "")
