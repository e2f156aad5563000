"""Each operator against what torch answers to the same call.

Answers were made by torch 2.13 (`cases.py`); where torch is installed they are
made again.
"""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.models.adapters.torch_graph import operators
from tests.models.adapters.torch_graph.operators import cases


def _answers(file) -> list[list[np.ndarray]]:
  """What every case of a file gives, in one program of JAX."""
  calls = [cases.call(case) for case in cases.CASES[file]]
  leaves, tree = jax.tree.flatten([arguments for _, arguments, _ in calls])
  places = [i for i, x in enumerate(leaves) if isinstance(x, np.ndarray)]

  @jax.jit
  def run(arrays):
    whole = list(leaves)
    for place, array in zip(places, arrays, strict=True):
      whole[place] = array
    answers = []
    for (operator, _, options), arguments in zip(
      calls, jax.tree.unflatten(tree, whole), strict=True
    ):
      if "dtype" in options:
        options = {"dtype": np.dtype(options["dtype"])}
      answer = operators.OPERATORS[f"aten.{operator}"](*arguments, **options)
      listed = answer if isinstance(answer, (tuple, list)) else [answer]
      answers.append(list(listed))
    return answers

  with jax.default_matmul_precision("highest"):
    return run([cases.narrow(leaves[place]) for place in places])


class OperatorsTest(parameterized.TestCase):
  @parameterized.parameters(*(f for f in cases.CASES if f != "sizes"))
  def test_as_torch(self, file):
    golden = np.load(cases.GOLDEN)
    for place, answers in enumerate(_answers(file)):
      key = cases.key(file, place)
      with self.subTest(key):
        # Of (values, indices) of a pooling, statistics of a norm: the first.
        self.assertNotEmpty(answers)
        for i, got in enumerate(answers):
          want = golden[f"{key}.{i}"]
          self.assertEqual(got.dtype, want.dtype)
          np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)

  def test_golden_answers_are_torchs(self):
    try:
      import torch
    except ImportError as error:
      self.skipTest(f"torch is not installed: {error}")
    del torch
    golden = np.load(cases.GOLDEN)
    for file, listed in cases.CASES.items():
      for place, case in enumerate(listed):
        for i, want in enumerate(cases.of_torch(case)):
          got = golden[f"{cases.key(file, place)}.{i}"]
          np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)

  @parameterized.parameters(("sizes",))
  def test_arithmetic(self, file):
    self.assertEmpty(cases.CASES[file])
    table = {n: f for n, f in operators.OPERATORS.items() if "aten" not in n}
    self.assertEqual(table["_operator.floordiv"](7, 2), 3)
    self.assertEqual(table["_operator.getitem"]((4, 5), 1), 5)
    self.assertEqual(table["torch.sym_max"](2, 3), 3)
    self.assertEqual(table["math.ceil"](2.5), 3)
    self.assertEqual(table["torch.sym_ite"](False, 1, 2), 2)

  def test_no_name_stands_in_two_files(self):
    listed = [
      name
      for module in (
        operators.convolution,
        operators.creation,
        operators.elementwise,
        operators.indexing,
        operators.matmul,
        operators.normalisation,
        operators.pooling,
        operators.reductions,
        operators.resize,
        operators.shapes,
        operators.sizes,
      )
      for name in module.TABLE
    ]
    self.assertLen(set(listed), len(listed))
    self.assertSameElements(listed, operators.OPERATORS)

  def test_attention_to_nothing_is_nothing(self):
    query = jnp.ones((1, 2, 3))
    mask = jnp.asarray([[False, False], [True, False]])
    got = operators.matmul.attention(query, query, query, mask)
    np.testing.assert_allclose(got, [[[0, 0, 0], [1, 1, 1]]])


if __name__ == "__main__":
  absltest.main()
