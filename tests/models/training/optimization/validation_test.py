"""What a network is chosen by: every example counts once, however it is batched."""

from unittest import mock

import jax
import numpy as np
import pytest
from absl.testing import absltest

from models.training.optimization import validation
from robust_tfds import conditions, devices, errors, hosts, models
from tests import tiny_files
from tests.models.training import tiny_trainings


class _Scenes:
  """Pictures with a box each."""

  def __init__(self, count: int):
    """So many, all of them to choose on."""
    self._count = count

  def steps(self, batch_size: int, split: str, remainder: str) -> int:
    """Batches, with a last one that is short."""
    del split, remainder
    return -(-self._count // batch_size)

  def batches(self, *, batch_size, seed, **_):
    """As `models.training.data.Source.batches`."""
    for begin in range(0, self._count, batch_size):
      rows = range(begin, min(begin + batch_size, self._count))
      ids = [f"s{i}" for i in rows]
      yield {
        "image": np.stack([tiny_files.noise(64, 64, seed=i) for i in rows]),
        "size": np.full((len(ids), 2), 64, np.int32),
        "boxes": np.float32([[[4, 4, 30, 40]]] * len(ids)),
        "labels": np.int32([[i % 10] for i in rows]),
        "key": conditions.raw_keys(seed, "scenes", "train", 1, ids),
        "id": ids,
      }


def _of(prepared, source=None):
  return validation.Validation(
    prepared.config,
    prepared.model,
    source or prepared.source,
    devices.mesh(),
  )


class ValidationTest(absltest.TestCase):
  def test_every_label_counts_once(self):
    source = tiny_trainings.Source(24, validation=11)  # batches of 8 and 3
    prepared = tiny_trainings.prepared(source, data__validation=0.3)
    held = slice(24, 35)
    logits = prepared.model.apply(prepared.variables, source.image[held])
    wrong = np.argmax(logits, -1) != source.label[held]
    got = _of(prepared)(prepared.variables)
    self.assertAlmostEqual(got["validation_error"], wrong.mean(), places=6)
    self.assertEqual(validation.score(got), got["validation_error"])
    log = np.asarray(jax.nn.log_softmax(logits))
    loss = -log[np.arange(11), source.label[held]].mean()
    self.assertAlmostEqual(got["validation_loss"], loss, places=5)

  def test_fewer_examples_than_hosts(self):
    source = tiny_trainings.Source(24, validation=3)
    prepared = tiny_trainings.prepared(source, data__validation=0.1)
    many = mock.patch.object(hosts, "this_host", return_value=hosts.Host(0, 4))
    words = "got 0.1, which leaves 3 examples .* fewer than the 4 hosts"
    with many, self.assertRaisesRegex(errors.UserError, words):
      _of(prepared)

  @pytest.mark.slow
  def test_every_scene_counts_once(self):
    model = models.get("tiny_fasterrcnn")
    variables = model.init(jax.random.key(0))
    source, got = _Scenes(5), []
    for batch_size in (8, 2):
      config = tiny_trainings.config(batch_size=batch_size)
      made = validation.Validation(config, model, source, devices.mesh())
      got.append(made(variables))
    self.assertAlmostEqual(
      got[0]["validation_loss"], got[1]["validation_loss"], places=4
    )
    self.assertEqual(validation.score(got[0]), got[0]["validation_loss"])
