"""Options of Beam's pipelines, and what is refused in words."""

import importlib.util

from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.building import beam_options


class SplitTest(parameterized.TestCase):
  @parameterized.parameters(
    ("", []),
    ("runner=DirectRunner", ["runner=DirectRunner"]),
    ("runner=x, region=y", ["runner=x", "region=y"]),
    ("experiments=a=b,job_name=c", ["experiments=a=b", "job_name=c"]),
  )
  def test_options(self, text, expected):
    self.assertEqual(beam_options.split(text), expected)

  @parameterized.parameters("DirectRunner", "runner=x,", "=3", "runner=x,,a=b")
  def test_refusals(self, text):
    with self.assertRaisesRegex(errors.UserError, "is no option; options are"):
      beam_options.split(text)


class ParseTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    if importlib.util.find_spec("apache_beam") is None:
      self.skipTest("needs apache-beam: pip install 'robust_tfds[beam]'")

  def test_values(self):
    from apache_beam.options import pipeline_options

    parsed = beam_options.parse(
      ["runner=DirectRunner", "direct_num_workers=2", "streaming=false"]
    )
    direct = parsed.view_as(pipeline_options.DirectOptions)
    self.assertEqual(direct.direct_num_workers, 2)
    standard = parsed.view_as(pipeline_options.StandardOptions)
    self.assertEqual(standard.runner, "DirectRunner")
    self.assertFalse(standard.streaming)
    experiments = beam_options.parse(["experiments=a", "experiments=b"])
    debug = experiments.view_as(pipeline_options.DebugOptions)
    self.assertEqual(debug.experiments, ["a", "b"])

  @parameterized.parameters(
    ("direct_num_worker=2", "Did you mean 'direct_num_workers'"),
    ("direct_num_workers=two", "invalid int value: 'two'"),
    ("direct_running_mode=threads", "invalid choice: 'threads'"),
    ("save_main_session=perhaps", "is a switch, got 'perhaps'"),
    ("runner=DirektRunner", "Beam has no runner=DirektRunner"),
    ("runner=no.such.Runner", "needs a package that is not installed"),
  )
  def test_refusals(self, option, message):
    with self.assertRaisesRegex(errors.UserError, message):
      beam_options.parse([option])

  def test_servers_have_options_of_their_own(self):
    parsed = beam_options.parse(["runner=FlinkRunner", "checkpointing=3"])
    self.assertIn("--checkpointing=3", parsed._flags)
