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
      "print(*{'jax', 'tensorflow', 'grain', 'orbax'} & set(sys.modules))"
    )
    out = in_process.python("-c", code, check=True)
    self.assertEqual(out.stdout.strip(), "")

  def test_what_trains_nothing_loads_no_trainer(self):
    """optax comes with flax; what reads, steps and saves does not."""
    code = (
      "import runpy, sys; sys.argv = ['', '--config=configs/own_data.py:digits_cnn',"
      " '--config.data.name=tfds:digits', '--plan']\n"
      "try: runpy.run_module('eval.main', run_name='__main__')\n"
      "finally: print('\\f', *{'grain', 'orbax', 'robust_tfds.models.training.loop',"
      " 'robust_tfds.models.training.steps'} & set(sys.modules))"
    )
    out = in_process.python("-c", code)
    self.assertIn("work: ", out.stdout)
    self.assertEqual(out.stdout.rpartition("\f")[2].strip(), "")
