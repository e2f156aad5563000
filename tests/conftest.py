"""Lets absl tests run under pytest: their flags need to be parsed once."""

from absl import flags

flags.FLAGS.mark_as_parsed()
