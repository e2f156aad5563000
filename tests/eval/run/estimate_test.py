"""What `--plan` prints: every cell, and the sum of what was measured."""

from unittest import mock

from eval.run import costs as costs_lib
from eval.run import estimate
from eval.run import plan as plan_lib
from robust_tfds.shards import WHOLE, Shard
from tests import in_folder
from tests.eval import tiny_config

_BASE_BYTES = 1 << 30


def _plan(**data) -> plan_lib.Plan:
  config = tiny_config.get_config()
  with config.unlocked():
    config.data.update(data)
  return plan_lib.make(config)


def _measure(plan, workdir, chosen, examples=64, prepared=True):
  """An example takes 1 s to read, 0.5 s to corrupt and 0.25 s of the model."""
  del workdir
  conditions = {c for _, c in chosen}
  return costs_lib.Costs(
    examples=examples,
    decode_s=1.0 if prepared else None,
    pixel_bytes=1024.0 if prepared else None,
    corrupt_s={("", c.name): 0.5 if c.name else 0.0 for c in conditions},
    model_s=dict.fromkeys(plan.models, 0.25),
    compile_s={("", ""): 2.0},
    cell_bytes=dict.fromkeys(chosen, 1 << 14),
    batch_bytes=dict.fromkeys(conditions, 1 << 20),
    base_bytes=_BASE_BYTES,
  )


class EstimateTest(in_folder.TestCase):
  def _lines(self, plan, shard=WHOLE, workdir=None, **measured) -> list[str]:
    def measure(*args):
      return _measure(*args, **measured)

    with mock.patch.object(costs_lib, "measure", measure):
      return estimate.describe(plan, workdir, shard, measure=True).splitlines()

  def test_cells_and_work(self):
    lines = self._lines(_plan())
    self.assertEqual(
      lines[0],
      "digits_c: 5 conditions (clean + 2 corruptions) x 1 model = 5 cells,"
      " edition cifar10, corrupted on the fly",
    )
    self.assertEqual(lines[1], "  clean: digits_cnn")
    self.assertEqual(
      lines[2], "  gaussian_noise, brightness at 1, 3: digits_cnn"
    )
    self.assertIn(
      "32 examples, per image: digits_cnn 250.00 ms; per example: decoding"
      " 1000.00 ms, corruption 500.00 ms (mean of 2, 500.00 to 500.00)",
      lines[3],
    )
    # 64 examples, read once, each 4 times corrupted and 5 times to the model; 30
    # steps of training are as dear as 90 batches of 128 answers.
    self.assertEqual(
      lines[4],
      "estimate: 64 examples a cell, 320 images in all: about 52m34s: training"
      " 48m00s, compiling 2s, decoding 1m04s, corruption 2m08s, models 1m20s",
    )
    self.assertStartsWith(lines[5], "disk: 5.0 MiB of predictions")
    self.assertEqual(
      lines[6],
      "memory: about 1.0 GiB: 1.0 GiB for the process itself,"
      " 0.1 MiB of decoded pixels (two chunks) at most, 3.0 MiB in flight",
    )

  def test_two_blocks_are_the_most_that_is_decoded_at_once(self):
    lines = self._lines(_plan(block_mib=512, limit=0), examples=1 << 22)
    self.assertIn("memory: about 2.0 GiB", lines[-1])
    self.assertIn("1.0 GiB of decoded pixels", lines[-1])

  def test_prepared_sets_are_each_read_and_need_no_corrupting(self):
    lines = self._lines(_plan(source="prepared"))
    self.assertIn("decoding 5m20s, models 1m20s", lines[4])

  def test_a_shard_is_told_of_alone(self):
    lines = self._lines(_plan(), Shard(2, 4))
    self.assertEqual(
      lines[1], "shard 2/4: 1 of 5 cells; what follows is of this shard"
    )
    self.assertEqual(lines[2], "  gaussian_noise at 1: digits_cnn")
    self.assertIn("decoding 1m04s, corruption 32s, models 16s", lines[4])

  def test_what_is_not_known_is_said(self):
    lines = self._lines(_plan(limit=0), examples=None, prepared=False)
    self.assertIn("decoding known once the data set is prepared", lines[3])
    self.assertIn("estimate: for every 1,000 examples", lines[4])
    self.assertIn("and what is not known: training", lines[4])
    self.assertIn("decoding not known, corruption 33m20s", lines[4])
    self.assertIn("2.0 MiB of decoded pixels", lines[-1])

  def test_without_measuring_work_and_bytes_are_given_and_no_time(self):
    with mock.patch.object(costs_lib, "measure", side_effect=AssertionError):
      lines = estimate.describe(_plan()).splitlines()
    self.assertEqual(
      lines[3],
      "work: 64 examples a cell, 320 images in all; how long it takes:"
      " --plan=measure, or the run's ETA",
    )
    self.assertStartsWith(lines[4], "disk: 0.0 MiB of predictions")
    self.assertRegex(lines[5], r"memory: .* 0\.2 MiB of decoded pixels")

  def test_what_is_left_out_is_said(self):
    plan = _plan(corruptions="fog,snow", left_out="snow")
    lines = estimate.describe(plan).splitlines()
    self.assertEndsWith(lines[0], "corrupted on the fly, snow left out")
    self.assertIn("snow left out: no mean over all corruptions", lines)
