"""`evaluate`: what importing it loads, and what its arguments are."""

import inspect

from absl.testing import absltest

from eval.run import dataset_config, keywords, spec
from robust_tfds import evaluate
from tests import in_process


class EvalTest(absltest.TestCase):
  def test_arguments_are_the_keys_of_a_spec(self):
    """Each of its own line in the docstring; keys of the data are the config's."""
    signature = inspect.signature(evaluate).parameters
    names = set(signature) - {"predict", "dataset", "unknown"}
    keys = set(spec.Data.model_fields) | {*dataset_config.SOURCE_KEYS}
    for name, default in keywords.DEFAULTS.items():
      self.assertEqual(signature[name].default, default)
    self.assertEqual(set(keywords.DEFAULTS), names)
    self.assertEqual(keys - names, {"set_name", "own", "corruptions"})
    for name in names - {"seed"}:
      self.assertRegex(evaluate.__doc__, rf"\n    {name}: ")

  def test_importing_it_loads_no_framework(self):
    code = (
      "import sys; from robust_tfds import evaluate;"
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
      "finally: print('\\f', *{'grain', 'orbax', 'models.training.optimization.loop',"
      " 'models.training.optimization.steps'} & set(sys.modules))"
    )
    out = in_process.python("-c", code)
    self.assertIn("work: ", out.stdout)
    self.assertEqual(out.stdout.rpartition("\f")[2].strip(), "")
