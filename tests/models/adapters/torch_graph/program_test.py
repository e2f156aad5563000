"""Programs of steps, without torch."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from robust_tfds.models.adapters.torch_graph import program


def _program(operator="aten.mm.default", **fields):
  """`(batch @ weight).reshape(rows, -1) + 1` for any number of rows."""
  result = program.Result
  steps = (
    program.Step("aten.sym_size.int", (result("x"), 0), {}, "rows"),
    program.Step(operator, (result("x"), result("w")), {}, "mm"),
    program.Step(
      "aten.view.default", (result("mm"), [result("rows"), -1]), {}, "v"
    ),
    program.Step("aten.add.Tensor", (result("v"), 1), {"alpha": 1}, "out"),
  )
  return program.Program(
    **{
      "steps": steps,
      "batch": "x",
      "variables": {"w": "head.weight"},
      "constants": {},
      "answer": {"logits": result("out")},
      **fields,
    }
  )


class ProgramTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self.weight = rng.standard_normal((4, 3)).astype(np.float32)
    self.batch = rng.standard_normal((5, 4)).astype(np.float32)

  def test_any_number_of_rows(self):
    run = jax.jit(_program().__call__)
    for count in (1, 5):
      got = run({"head.weight": self.weight}, self.batch[:count])["logits"]
      want = self.batch[:count] @ self.weight + 1
      np.testing.assert_allclose(got, want, rtol=1e-5)

  def test_constants_come_before_variables(self):
    whole = _program(constants={"head.weight": 2 * self.weight})
    got = whole({"head.weight": self.weight}, jnp.asarray(self.batch))
    want = self.batch @ (2 * self.weight) + 1
    np.testing.assert_allclose(got["logits"], want, rtol=1e-5)

  def test_bfloat16(self):
    run = _program()
    batch = jnp.asarray(self.batch)
    got = run({"head.weight": self.weight}, batch, "bfloat16")["logits"]
    self.assertEqual(got.dtype, jnp.bfloat16)

  def test_unknown_operators_by_name(self):
    self.assertEmpty(_program().unknown())
    self.assertEqual(
      _program("aten.nonsense.default").unknown(), ("aten.nonsense.default",)
    )

  def test_text(self):
    lines = _program().text().splitlines()
    self.assertEqual(lines[0], "%x = batch")
    self.assertEqual(lines[1], "%w = head.weight")
    self.assertEqual(lines[2], "%rows = aten.sym_size.int(%x, 0)")
    self.assertEqual(lines[-2], "%out = aten.add.Tensor(%v, 1, alpha=1)")
    self.assertEqual(lines[-1], "return {'logits': %out}")


if __name__ == "__main__":
  absltest.main()
