"""Flags of one process of many, and how it joins the others."""

from unittest import mock

from absl import flags
from absl.testing import absltest

from robust_tfds import errors, multihost


def _settings(*words: str) -> flags.FlagValues:
  values = flags.FlagValues()
  with mock.patch.object(flags, "FLAGS", values):
    names = ("DEFINE_bool", "DEFINE_string", "DEFINE_integer")
    made = {name: getattr(flags, name) for name in names}
    patches = {
      name: lambda *a, define=define: define(*a, flag_values=values)
      for name, define in made.items()
    }
    with mock.patch.multiple(flags, **patches):
      multihost.define_flags()
  values(["command", *words])
  return values


class MultihostTest(absltest.TestCase):
  def test_refusals(self):
    for words, message in (
      (["--process_id=1"], "--process_id=1 needs --multihost"),
      (["--multihost", "--num_processes=0"], "expected at least 1"),
      (
        ["--multihost", "--num_processes=2", "--process_id=2"],
        "--process_id=2: expected 0 to 1",
      ),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        multihost.check(_settings(*words))
    multihost.check(_settings())

  def test_one_alone_meets_nobody(self):
    with mock.patch("jax.distributed.initialize") as initialize:
      multihost.join(_settings())
      initialize.assert_not_called()
      with mock.patch("robust_tfds.stopping.listen"):
        multihost.join(_settings("--multihost", "--process_id=1"))
    initialize.assert_called_once_with(None, None, 1)

  def test_a_process_that_is_alone_exits_with_the_words(self):
    with mock.patch.object(flags, "FLAGS", _settings()):
      with self.assertRaisesRegex(SystemExit, "Error: so"):
        multihost.fail("Error: so")
