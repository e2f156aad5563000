"""A run of seconds: 64 digits, two corruptions, two severities, one model."""

import ml_collections


def get_config() -> ml_collections.ConfigDict:
  """The quickstart, much smaller."""
  from configs import quickstart

  config = quickstart.get_config("digits_c").unlock()
  config.batch_size = 32
  config.baseline = ""
  config.reports = False
  config.data.corruptions = "gaussian_noise,brightness"
  config.data.severities = (1, 3)
  config.data.limit = 64
  config.data.block_mib = 1
  models = ml_collections.ConfigDict()
  models.digits_cnn = config.models.digits_cnn
  models.digits_cnn.train.steps = 30
  config.models = models
  return config.lock()
