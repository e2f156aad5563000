"""The text side of CLIP: ids, towers, prompts, heads."""

import json
import pathlib
import random
import string
from unittest import mock

import numpy as np
from absl.testing import absltest, flagsaver, parameterized

from models.convert import match
from models.zero_shot import __main__ as command
from models.zero_shot import prompts, texts, tokenizer, tower
from robust_tfds import errors, models
from tests.models.classification import transformer_files as files
from tests.models.convert import torchvision_cpu
from tests.models.zero_shot import tiny

_ALPHABETS = (
  string.ascii_letters,
  string.printable,
  "éèñçøåÄÖÜßŁžα漢字かな한국어бгд",
  "0123456789²½Ⅷ٣",
  "–—“”’…🙂🐕\u200b\u3000\u00a0ſKﬁａ",
)
_WHOLE = (
  "",
  "don't we've I'LL 'S it''s",
  "fish &amp;amp; chips &eacute; <b>",
  "<start_of_text> a <END_OF_TEXT>",
  "ÃƒÂ© âœ” it’s",
  "x" * 400,
  "a " * 200,
)


def _sentences(count: int) -> list[str]:
  """Sentences of words from several alphabets, some far too long."""
  draw = random.Random(0)
  return [
    " ".join(
      "".join(draw.choices(draw.choice(_ALPHABETS), k=draw.randrange(1, 9)))
      for _ in range(draw.randrange(1, 30))
    )
    for _ in range(count)
  ]


class TokenizerTest(absltest.TestCase):
  def test_ids_are_open_clip_s(self):
    theirs = torchvision_cpu.package("open_clip.tokenizer").SimpleTokenizer()
    ours = tokenizer.find("/nowhere/clip.pt")
    self.assertEqual(ours.size, theirs.vocab_size)
    sentences = [*_WHOLE, *_sentences(1000)]
    got, cut = ours(sentences)
    np.testing.assert_array_equal(got, theirs(sentences).numpy())
    self.assertGreater(cut, 100)
    self.assertLess(cut, 1000)

  def test_merges_in_the_order_of_the_list(self):
    folder = self.create_tempdir().full_path
    pathlib.Path(folder, "merges.txt").write_text("\n".join(tiny.MERGES))
    read = tokenizer.find(f"{folder}/clip.pt")
    self.assertEqual(read.size, tiny.IDS)
    ids, cut = read(["Stop  a stops"])
    first = 512 + tiny.MERGES[1:].index("st op</w>")
    start, end = tiny.IDS - 2, tiny.IDS - 1
    self.assertEqual(ids[0, :2].tolist(), [start, first])
    self.assertEqual(ids[0].argmax(), np.flatnonzero(ids[0] == end)[0])
    self.assertEqual(cut, 0)

  def test_refusals(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    with (
      mock.patch.object(tokenizer, "_PACKAGES", ()),
      self.assertRaisesRegex(errors.UserError, "no vocabulary .*merges.txt"),
    ):
      tokenizer.find(folder / "clip.pt")
    (folder / "merges.txt").write_text("head\na b c\n")
    with self.assertRaisesRegex(errors.UserError, "merge 1: got 'a b c'"):
      tokenizer.find(folder / "clip.pt")
    (folder / "merges.txt").write_bytes(b"\x1f\x8b\x08broken")
    with self.assertRaisesRegex(errors.UserError, "gzip"):
      tokenizer.find(folder / "clip.pt")
    with (
      mock.patch.dict("sys.modules", {"ftfy": None}),
      self.assertRaisesRegex(errors.UserError, "'é' needs ftfy"),
    ):
      tokenizer.Tokenizer([])(["é"])


class ParityTest(parameterized.TestCase):
  """Logits of texts and pictures beside other programs' networks."""

  def _check(self, name, arrays, texts_of, pictures_of):
    """Hold a text tower and a whole classifier against a reference."""
    ids = np.zeros((5, 77), np.int32)
    rng = np.random.default_rng(3)
    for row, length in zip(ids, (3, 9, 20, 77, 30), strict=True):
      row[:length] = rng.integers(0, tiny.IDS - 2, length)
      row[length - 1] = tiny.IDS - 1
    with (
      tiny.towers(name),
      mock.patch.object(tower.formats, "read", return_value=arrays),
      mock.patch.object(
        tower.sources, "locate", return_value=mock.Mock(name="here")
      ),
    ):
      loaded = tower.load(name, "both.pt")
      got = tower.embed(loaded, ids)
      model = models.get(name, num_classes=5)
    want = texts_of(ids)
    want /= np.linalg.norm(want, axis=1, keepdims=True)
    files.assert_parity(self, got, want)
    batch = files.pixels(tiny.SIDE)
    vision = match.match_arrays(model, {**arrays, "text": got})
    logits = np.asarray(model.apply(vision.variables, batch))
    seen = pictures_of(np.ascontiguousarray(batch.transpose(0, 3, 1, 2)))
    seen /= np.linalg.norm(seen, axis=1, keepdims=True)
    files.assert_parity(
      self, logits, np.exp(arrays["logit_scale"]) * seen @ want.T
    )

  @parameterized.parameters("clip_vit_b_32", "openclip_vit_b_32")
  def test_open_clip(self, name):
    torch = torchvision_cpu.package("torch")
    open_clip = torchvision_cpu.package("open_clip.model")
    vision = {"image_size": tiny.SIDE, "layers": 2, "width": 48}
    vision |= {"head_width": 16, "patch_size": 16}
    width, layers, heads = tiny.TEXT
    text = {"vocab_size": tiny.IDS, "width": width}
    text |= {"layers": layers, "heads": heads}
    reference = open_clip.CLIP(
      tiny.EMBEDDING, vision, text, quick_gelu=name.startswith("clip")
    ).eval()
    arrays = files.randomised(reference)
    with torch.no_grad():
      self._check(
        name,
        {k: a for k, a in arrays.items() if k != "attn_mask"},
        lambda ids: reference.encode_text(torch.from_numpy(ids)).numpy(),
        lambda x: reference.encode_image(torch.from_numpy(x)).numpy(),
      )

  @parameterized.parameters(
    ("clip_vit_b_32", "quick_gelu"), ("openclip_vit_b_32", "gelu")
  )
  def test_transformers(self, name, activation):
    torch = torchvision_cpu.package("torch")

    def config(width, layers, heads, **others):
      sizes = {"hidden_size": width, "intermediate_size": 4 * width}
      sizes |= {"num_hidden_layers": layers, "num_attention_heads": heads}
      return {**sizes, "hidden_act": activation, **others}

    ends = {"bos_token_id": tiny.IDS - 2, "eos_token_id": tiny.IDS - 1}
    text = config(*tiny.TEXT, vocab_size=tiny.IDS, **ends)
    vision = config(48, 2, 3, image_size=tiny.SIDE, patch_size=16)
    reference = files.hf(
      "CLIPModel",
      vision_config=vision,
      text_config=text,
      projection_dim=tiny.EMBEDDING,
    )
    arrays = files.randomised(reference)

    def texts_of(ids):
      pooled = reference.text_model(torch.from_numpy(ids).long()).pooler_output
      return reference.text_projection(pooled).numpy()

    def pictures_of(pixels):
      pooled = reference.vision_model(torch.from_numpy(pixels)).pooler_output
      return reference.visual_projection(pooled).numpy()

    with torch.no_grad():
      self._check(name, arrays, texts_of, pictures_of)

  @parameterized.parameters(
    ("clip_vit_b_32", 151_277_313 - 87_849_216 - 1),
    ("openclip_vit_l_14", 427_616_513 - 303_966_208 - 1),
  )
  def test_sizes(self, name, parameters):
    """Those of both towers of openai/CLIP's networks, less the vision tower's."""
    self.assertEqual(tower.model(name, 49_408).count_parameters(), parameters)


class PromptsTest(parameterized.TestCase):
  def test_names_of_lists(self):
    torchvision_cpu.package("open_clip.zero_shot_metadata")
    whole = prompts.templates("openai80")
    clean = prompts.templates("openai80-clean")
    self.assertLen(whole, 80)
    self.assertLen(clean, 66)
    self.assertIn("a blurry photo of a {}.", {*whole} - {*clean})
    self.assertLen(prompts.templates("openai7"), 7)
    names, whose = prompts.imagenet()
    self.assertLen(names, 1000)
    self.assertIn("open_clip_torch", whose)

  def test_own(self):
    file = self.create_tempfile(content="a {}.\n\nthe {}.\n").full_path
    self.assertEqual(prompts.templates(file), ("a {}.", "the {}."))
    self.assertEqual(prompts.templates("a {}."), ("a {}.",))
    self.assertLen(prompts.templates("single"), 1)

  @parameterized.parameters(
    ("openai8", "Did you mean 'openai80'"),
    (["a photo"], "'a photo' has 0 places"),
    (["a {} in {}"], "has 2 places"),
    ([3], "3 has 0 places"),
    ([], "expected a template"),
  )
  def test_refusals(self, stated, words):
    with self.assertRaisesRegex(errors.UserError, words):
      prompts.templates(stated)

  def test_without_the_package(self):
    with (
      mock.patch.object(tokenizer, "installed", return_value=None),
      self.assertRaisesRegex(errors.UserError, r"robust_tfds\[zero_shot\]"),
    ):
      prompts.templates("openai80")


class HeadTest(parameterized.TestCase):
  @parameterized.parameters(
    (["stop", " "], "class 1 of 2 has no name"),
    (["stop", "go", "Stop "], "'stop' is the name of 2 classes"),
  )
  def test_refuses_names(self, names, words):
    with self.assertRaisesRegex(errors.UserError, words):
      texts.make(names, "single", "mine")

  def test_refuses_files(self):
    folder = self.create_tempdir().full_path
    made = texts.make(["stop", "go"], "single", "mine")
    with tiny.towers():
      file = tiny.checkpoint(folder)
      with self.assertRaisesRegex(errors.UserError, "resnet50 has no text tow"):
        texts.head("resnet50", file, made)
      with self.assertRaisesRegex(errors.UserError, "clip_224 has no text tow"):
        texts.head("vit_base_patch32_clip_224", file, made)
      pathlib.Path(folder, "merges.txt").write_text("head\ns t\n")
      with self.assertRaisesRegex(errors.UserError, "has 515 ids, .* has 518"):
        texts.head("clip_vit_b_32", file, made)
      np.savez(f"{folder}/vision.npz", proj=np.zeros(3, np.float32))
      with self.assertRaisesRegex(
        errors.UserError, "has no text tower .no arr"
      ):
        texts.head("clip_vit_b_32", f"{folder}/vision.npz", made)

  def test_command(self):
    """What it writes is each class's mean of normalised embeddings."""
    folder = self.create_tempdir().full_path
    lines = self.create_tempfile(content="stop\ngo\ngive way\n").full_path
    templates = self.create_tempfile(content="a {}.\ndark {}\n").full_path
    out = f"{folder}/head.npz"
    with tiny.towers():
      file = tiny.checkpoint(folder)
      with flagsaver.flagsaver():
        command.define_flags()
        flags = [f"--classes={lines}", f"--prompts={templates}", f"--out={out}"]
        command.flags.FLAGS(["text", *flags])
        command.main(["text", "clip_vit_b_32", file])
      got = np.load(out)["text"]
      self.assertEqual(got.shape, (3, tiny.EMBEDDING))
      np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, atol=1e-6)
      read = tokenizer.find(file)
      ids, _ = read(["a give way.", "dark give way"])
      each = tower.embed(tower.load("clip_vit_b_32", file), ids)
      mean = each.mean(0)
      np.testing.assert_allclose(got[2], mean / np.linalg.norm(mean), atol=1e-6)
      joined = models.convert.load(
        "clip_vit_b_32", file, head=out, num_classes=3
      )
      np.testing.assert_array_equal(joined["text"], got)
      with self.assertRaisesRegex(ValueError, "prompts='openai80' of a run"):
        models.convert.load("clip_vit_b_32", file)
    facts = json.loads(pathlib.Path(f"{out}.report.json").read_text())
    self.assertStartsWith(facts["names"], "3, sha256 ")
    self.assertStartsWith(facts["templates"], "2, sha256 ")
