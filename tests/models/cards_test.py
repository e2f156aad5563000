"""Cards of models: what is known of each, as text."""

from absl.testing import parameterized

from models import cards as card_lib
from robust_tfds import errors, models


class CardTest(parameterized.TestCase):
  def test_resnet50(self):
    text = card_lib.text(card_lib.of("resnet50"))
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
    card = card_lib.of("vit_b_16")
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
    self.assertEqual(card_lib.of(name).input, words)

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
    card = card_lib.of("wrn_40_2")
    self.assertIn("--config=cifar10_c:wrn_40_2", card_lib.text(card))

  def test_every_model_has_one(self):
    for name in models.names():
      card = card_lib.of(name)
      if card.spec.weights != "own":
        self.assertRegex(card.paper, r" (19|20)\d\d, ", name)
      text = card_lib.text(card_lib.of(name))
      self.assertIn("robust-tfds run --config=", text)
      self.assertNotIn("nan %", text)

  def test_parities_are_of_models(self):
    self.assertContainsSubset(card_lib.parities(), models.names())

  def test_an_unknown_model(self):
    with self.assertRaises(errors.UserError):
      card_lib.of("my_module:build")
