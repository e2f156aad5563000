"""A run of seconds: 20 scenes of digits, and a model without weights."""

import ml_collections


def get_config() -> ml_collections.ConfigDict:
  """The quickstart of segmentation, much smaller."""
  from configs import quickstart_segmentation

  config = quickstart_segmentation.get_config().unlock()
  config.batch_size = 4
  config.reports = False
  config.data.corruptions = "brightness"
  config.data.update(severities=(1,), limit=20, block_mib=1)
  config.model.name = "tests.eval.tasks.brightest_model:build_segmenter"
  config.model.label = "brightest"
  del config.model["train"]
  return config.lock()
