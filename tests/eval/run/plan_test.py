"""From a config to cells: what is refused before anything is touched."""

import functools
import importlib
from unittest import mock

from absl.testing import absltest, parameterized

from configs import imagenet_c, quickstart_detection
from eval.run import plan as plan_lib
from eval.run.model import definitions
from models.convert import match
from robust_tfds import conditions, datasets, errors, missing, models
from robust_tfds.corruptions import spec
from tests.eval import tiny_config


def _config(**data):
  config = tiny_config.get_config()
  with config.unlocked():
    config.data.update(data)
  return config


class PlanTest(parameterized.TestCase):
  @parameterized.parameters(
    ({"corruptions": "fogg"}, "config.data: corruptions='fogg', .*mean 'fog'"),
    ({"severities": (0,)}, "level 0 is clean data"),
    ({"severities": (6,)}, "must be 1-5, got 6"),
    ({"name": "digit_c"}, "Did you mean 'digits_c'"),
    (
      {"name": "digits_detection_c"},
      "config.data.name: digits_detection_c is a data set of the task detection",
    ),
    (
      {"name": "digits_vid_robust"},
      "data set of the task frame_detection, frames, and config.t",
    ),
    ({"source": "flight"}, "Unknown data.source"),
    ({"codec": "png"}, "config.data.codec: Unknown codec 'png'"),
    ({"codec": "jpg85"}, "Did you mean 'jpeg85'"),
    (
      {"name": "cifar10_c", "codec": "published"},
      "'published' cannot be made on the fly; .* 'raw', 'jpeg85'",
    ),
    (
      {"codec": "webp", "source": "prepared"},
      "config.data: Unknown codec 'webp'",
    ),
    (
      {"split": "tset"},
      "config.data.split: got 'tset', and digits_c has 'test'",
    ),
    ({"codec": "h264", "source": "prepared"}, "Unknown codec 'h264'"),
    ({"codec": "published", "source": "prepared"}, "Unknown codec"),
    ({"geometry": "inception"}, "takes no geometry"),
    ({"limit": -1}, "config.data.limit: got -1"),
    ({"views": 3}, "config.data.views"),
  )
  def test_bad_data(self, data, message):
    with self.assertRaisesRegex(errors.UserError, message):
      plan_lib.make(_config(**data))


class GeometryTest(parameterized.TestCase):
  @parameterized.parameters(
    ("inceptionv3", "short342_crop299", "inception"),
    ("inceptionv4", "short341_crop299", "inception"),
    ("xception", "short333_crop299", "inception"),
    ("resnet50", "short256_crop224", "imagenet"),
    ("vit_tiny_patch16_224", "short248_crop224_bicubic", "imagenet"),
    ("squeezenet1_1", "squash256_crop227", "imagenet"),
    ("nasnetalarge", "short378_crop331", "inception"),
    ("digits_cnn", "squash32_crop32", "cifar10"),
  )
  def test_the_edition_is_that_of_the_models_crop(self, model, rule, edition):
    for source in ("fly", "prepared"):
      plan = self._plan(model, source)
      self.assertEqual(plan.config.data.geometry, rule)
      self.assertEqual(plan.task.setting.edition, edition)
      config, codec = plan.stored(conditions.Condition("fog", 3))
      builder = datasets.builder(
        "imagenet_c", config, data_dir="/x", **plan.options(codec)
      )
      self.assertEqual(builder.edition_of(builder.config.geometry), edition)
      self.assertIn(rule, builder.config.name)

  def test_every_classifier_has_an_edition(self):
    for name in models.names(kind="classification"):
      spec_of = models.get(name).spec
      if spec_of.input_px > 512:  # no fog map covers them
        with self.assertRaisesRegex(errors.UserError, "up to 512 px"):
          datasets.builder_class("imagenet_c").edition_of(spec_of.geometry)
        continue
      edition = datasets.builder_class("imagenet_c").edition_of(
        spec_of.geometry
      )
      if spec_of.input_px > 331:  # the largest there is
        self.assertEqual(edition, "inception", name)
        continue
      side = spec.edition(edition).side_px
      self.assertLess(abs(side - spec_of.input_px) / side, 0.15, name)

  def test_alexnet_is_of_224_px(self):
    with self.assertRaisesRegex(errors.UserError, "not of inception"):
      self._plan("inceptionv3", "fly", baseline="alexnet")

  def test_sets_without_a_choice_of_crops(self):
    with self.assertRaisesRegex(
      errors.UserError, "no geometry but 'inception'"
    ):
      self._plan("inceptionv3", "fly", dataset="imagenet_p")

  def _plan(self, model, source, dataset="imagenet_c", baseline=""):
    module = importlib.import_module(f"configs.{dataset}")
    config = module.get_config(model).unlock()
    config.baseline = baseline
    config.data.update({"geometry": "model", "source": source})
    if dataset == "imagenet_c":
      config.data.corruptions = "fog"
    given = definitions.ModelObject(models.get(model, 1000), {})
    return plan_lib.make(config.lock(), {model: given})


_CNN = "models.digits_cnn"
_TRAIN = f"{_CNN}.train"


class ModelsTest(parameterized.TestCase):
  @parameterized.parameters(
    (f"{_CNN}.name", "digits_cn", "Did you mean 'digits_cnn'"),
    (f"{_CNN}.name", "tiny_retinanet", "of kind detection, expected classific"),
    (f"{_CNN}.dtype", "bfloat17", "bfloat17"),
    (f"{_CNN}.num_classes", 5, "digits_cnn has 5 classes .*digits_c has 10"),
    (f"{_CNN}.short_px", 800, "short_px is for detectors"),
    (_CNN, {}, "names no model"),
    (
      f"{_TRAIN}.dataset",
      "digitss",
      "digits_cnn: train.dataset: .*Did you mean 'digits'",
    ),
    (
      f"{_TRAIN}.split",
      "trian[:10%]",
      "train.split: Unknown split of digits 'trian",
    ),
    ("baseline", "alexnett", "Did you mean 'alexnet'"),
    ("baseline", "model:digits_linear", "Unknown baseline model"),
  )
  def test_refusals(self, key, value, message):
    with self.assertRaisesRegex(errors.UserError, message):
      plan_lib.make(self._changed(key, value))

  def test_splits_that_are_added(self):
    plan_lib.make(self._changed(f"{_TRAIN}.split", "train[:50%]+test"))

  def test_checkpoint_that_is_not_there(self):
    config = self._changed(f"{_CNN}.checkpoint", "/nowhere/x.npz")
    (lack,) = plan_lib.make(config).lacks
    self.assertIn("No checkpoint at /nowhere/x.npz", lack.fault)

  def _changed(self, key, value):
    """A config with another value, `{}`: without the key."""
    config = _config()
    *groups, last = key.split(".")
    place = functools.reduce(getattr, groups, config)
    with config.unlocked():
      if value == {}:
        del place[last]
      else:
        place[last] = value
    return config

  def test_fields_of_the_spec_win_over_the_files_sides(self):
    config = quickstart_detection.get_config().unlock()
    config.model.short_px, config.model.long_px = 64, 96
    config.model.spec = {"short_px": 48}
    spec = plan_lib.make(config.lock()).model("tiny_retinanet").spec
    self.assertEqual((spec.short_px, spec.long_px), (48, 96))
    with config.unlocked():
      config.model.spec = {"input_px": 48}
    with self.assertRaisesRegex(
      errors.UserError, "spec: Unknown field of a Det"
    ):
      plan_lib.make(config)


class LacksTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    lack = missing.Lack("frost", "Nowhere.")
    self.enter_context(
      mock.patch.object(
        plan_lib.frost_pictures,
        "folder",
        side_effect=missing.MissingError(lack),
      )
    )

  def _lacks(self, **data) -> list[str]:
    lacks = plan_lib.make(_config(**data)).lacks
    return [lack.what for lack in lacks]

  def test_pictures_are_looked_for_where_frost_is_made_alone(self):
    self.assertEqual(self._lacks(corruptions="fog"), [])
    self.assertEqual(self._lacks(corruptions="frost", source="prepared"), [])
    self.assertEqual(self._lacks(corruptions="frost"), ["frost"])

  def test_frost_is_left_out_where_a_config_allows_it_and_nobody_asked(self):
    allowed = {"left_out": "absent"}
    plan = plan_lib.make(_config(corruptions="common", **allowed))
    self.assertEqual((len(plan.names), plan.lacks), (14, ()))
    self.assertEqual(plan.config.written.data.left_out, "frost")
    self.assertStartsWith(
      plan.left_out_note, "frost left out: no mean over all corruptions; its"
    )
    self.assertEqual(self._lacks(corruptions="fog,frost", **allowed), ["frost"])
    self.assertEqual(
      self._lacks(corruptions="common", left_out="none"), ["frost"]
    )
    self.assertNotEmpty(
      self._lacks(corruptions="common", frost_dir="/nowhere", **allowed)
    )

  def test_where_the_pictures_are_nothing_is_left_out(self):
    with mock.patch.object(plan_lib.frost_pictures, "folder"):
      plan = plan_lib.make(_config(corruptions="common", left_out="absent"))
    self.assertEqual((len(plan.names), plan.left_out), (15, ""))

  def test_all_that_lacks_is_said_at_once(self):
    config = _config(corruptions="frost")
    with config.unlocked():
      del config.models.digits_cnn.train
    weights, frost = plan_lib.make(config).lacks
    self.assertEqual(weights.what, "digits_cnn: the weights of digits_cnn")
    self.assertEqual(frost.what, "frost")

  def test_a_plan_fetches_nothing(self):
    config = imagenet_c.get_config().unlock()
    config.data.corruptions = "fog"
    config.model.checkpoint = "torchvision:ResNet50_Weights.IMAGENET1K_V2"
    with mock.patch.object(match, "load", side_effect=AssertionError):
      plan = plan_lib.make(config, fetch=False)
    self.assertEqual(plan.model("resnet50").spec.resize_px, 232)
    self.assertIn("fetched by the run", plan.notes("resnet50")[0])
