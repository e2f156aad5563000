"""Cards of models."""

import re

from absl.testing import absltest, parameterized

from models import card, catalogue
from models import cards as card_lib
from robust_tfds import errors, models
from tests import in_process


class CommandTest(absltest.TestCase):
  """The command: the card of a model, or why there is none."""

  def test_prints_a_card(self):
    done = in_process.run(card, "digits_cnn")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    self.assertStartsWith(done.stdout, "digits_cnn: classification\n")

  def test_lists_the_names_of_a_pattern(self):
    done = in_process.run(card, "digits_*")
    self.assertEqual(done.stdout.split(), list(models.names("digits_*")))

  def test_refusals(self):
    for words, message in (
      (["resnet5"], "Error: Unknown model 'resnet5'. Did you mean"),
      (["nothing_*"], "Error: Unknown model 'nothing_*'."),
      ([], "Error: Name one model, e.g. resnet50. See --help."),
    ):
      in_process.check_refused(self, in_process.run(card, *words), message)


class CardTest(parameterized.TestCase):
  """Cards of models: what is known of each, as text."""

  def test_resnet50(self):
    text = card_lib.text(card_lib.make("resnet50"))
    for words in (
      "resnet50: classification",
      "He et al. 2016, Deep Residual Learning",
      "parameters     25,557,032",
      "multiply-adds  4.089 billion of one input",
      "crop           short256_crop224",
      "RGB x 1/255, mean 0.485 0.456 0.406, std 0.229 0.224 0.225",
      "classes        1000 of imagenet1k",
      "compared with  torchvision: resnet50",
      "parity         5.9e-06",
      "torchvision:ResNet50_Weights.IMAGENET1K_V1",
      "sha256         0676ba61... (the file's name has 8 digits)",
      "printed top-1  76.13 %",
      'models.convert.load("resnet50", "torchvision:ResNet50_Weights.IMAG',
      "--config=imagenet_c:resnet50 ",
    ):
      self.assertIn(words, text)

  def test_a_checkpoint_that_wants_other_pictures(self):
    card = card_lib.make("vit_b_16")
    other = {c.name: card_lib.prepared(card, c) for c in card.checkpoints}
    name = "timm:vit_base_patch16_224.augreg_in21k_ft_in1k"
    self.assertEqual(other[name].geometry, "short248_crop224_bicubic")
    self.assertIn("mean 0.5 0.5 0.5", other[name].pixels)
    self.assertIn(
      "own crop       short248_crop224_bicubic", card_lib.text(card)
    )

  @parameterized.parameters(
    ("x3d_m", "16 frames x 5, 224 px"),
    ("vit_b_16", "224 px alone"),
    ("fasterrcnn_resnet50_fpn", "shorter side 800 px, longer at most 1333"),
    ("tiny_retinanet", "pictures as they are"),
  )
  def test_inputs(self, name, words):
    self.assertEqual(card_lib.make(name).input, words)

  @parameterized.parameters(
    ("wide_resnet50_2", "Zagoruyko & Komodakis 2016"),
    ("resnet50", "He et al. 2016"),
    ("vit_base_patch16_clip_224", "Radford et al. 2021"),
    ("vit_base_patch16_224", "Dosovitskiy et al. 2021"),
    ("digits_cnn", ""),
  )
  def test_papers(self, name, start):
    paper = card_lib.paper_of(name)
    self.assertTrue(paper.startswith(start) and bool(paper) == bool(start))

  def test_networks_of_cifar_are_run_on_its_set(self):
    card = card_lib.make("wrn_40_2")
    self.assertIn("--config=cifar10_c:wrn_40_2", card_lib.text(card))

  def test_every_model_has_one(self):
    for name in models.names():
      card = card_lib.make(name)
      if card.spec.weights != "robust_tfds":
        self.assertRegex(
          card.paper, r" (19|20)\d\d, ", f"{name}: state `paper` of its Family"
        )
      text = card_lib.text(card_lib.make(name))
      self.assertIn("robust-tfds run --config=", text)
      self.assertNotIn("nan %", text)

  def test_parities_are_of_models(self):
    self.assertContainsSubset(card_lib.parities(), models.names())

  def test_an_unknown_model(self):
    with self.assertRaises(errors.UserError):
      card_lib.make("my_module:build")


_FAMILIES = {catalogue.family_of(name): name for name in models.names()}


class ContractTest(parameterized.TestCase):
  @parameterized.parameters(*sorted(_FAMILIES.values()))
  def test_facts_are_sound(self, name):
    part_of = catalogue.family_of(name)
    self.assertIn(name, part_of.variants)
    self.assertContainsSubset(part_of.oracles, part_of.variants)
    for style, rules in part_of.checkpoints.items():
      self.assertNotIn(style, ("native", "torch"), "these need no rules")
      for pattern, replacement in rules:
        groups = re.compile(pattern).groups
        for number in re.findall(r"\\(\d)", replacement):
          self.assertLessEqual(int(number), groups, (style, pattern))
    self.assertContainsSubset(part_of.exclusive, part_of.checkpoints)
    for pattern in part_of.ignored:
      re.compile(pattern)
      self.assertIsNone(re.search(pattern, ""), "it would ignore everything")
