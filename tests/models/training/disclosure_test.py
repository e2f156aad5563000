"""What a trained network says of itself, and what is refused."""

import dataclasses

from absl.testing import parameterized
from etils import epath

from models.training import disclosure, recipes
from models.training.recipes import base
from robust_tfds import errors
from tests import in_folder, tiny_files
from tests.models.training import tiny_trainings

_PIXELS = tiny_files.noise(8, 8, 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Foggy(base.Recipe):
  def disclosure(self):
    shown = {"conditions": ["fog", "posterize"], "severities": [3, 1]}
    return {**shown, "pictures": "fractals"}


class DisclosureTest(in_folder.TestCase):
  def test_written_and_read(self):
    prepared = tiny_trainings.prepared()
    prepared = dataclasses.replace(prepared, recipe=_Foggy())
    self.assertEqual(
      prepared.disclosure(12, "0" * 64).corruptions_seen, ["fog"]
    )
    made = prepared.disclosure(12, "0" * 64)
    self.assertEqual(made.conditions, ["fog"])
    self.assertEqual(made.severities, [1, 3])
    self.assertEqual(
      made.trained_on,
      "tones train: standard, fractals, on fog at 1, 3, 12 steps",
    )
    workdir = epath.Path(self.root)
    made.write(workdir)
    self.assertEqual(disclosure.read(workdir), made)
    self.assertIsNone(disclosure.read(workdir / "other"))

  def test_conditions_of_benchmarks_are_refused(self):
    config = tiny_trainings.config()
    with self.assertRaisesRegex(errors.UserError, "trains on fog, which"):
      disclosure.check(config, _Foggy())
    disclosure.check(config, base.Recipe())
    allowed = tiny_trainings.config(allow_benchmark_conditions=True)
    disclosure.check(allowed, _Foggy())

  @parameterized.parameters(
    (
      {"name": "augmix", "overlap": True},
      "brightness, contrast, gaussian_blur",
    ),
    (
      {"name": "pixmix", "overlap": True},
      "brightness, contrast, gaussian_blur",
    ),
    ({"name": "corruption_mix", "names": "temporal"}, "box_jumbling, freezing"),
  )
  def test_the_same_operation_under_another_name(self, recipe, names):
    with self.assertRaisesRegex(errors.UserError, f"trains on {names}"):
      disclosure.check(tiny_trainings.config(), recipes.make_recipe(recipe))
    if "overlap" in recipe:
      rest = recipes.make_recipe({**recipe, "overlap": False})
      disclosure.check(tiny_trainings.config(), rest)

  @parameterized.parameters(
    ("tfds:cifar10_corrupted/fog_3", "fog"),
    ("tfds:imagenet2012_corrupted", "brightness, contrast"),
    ("folder:/data/ImageNet-C/shot_noise/3/", "shot_noise"),
  )
  def test_data_of_a_condition(self, source, names):
    config = tiny_trainings.config(data__source=source)
    with self.assertRaisesRegex(
      errors.UserError, f"data.source: by its name, .*, it trains on {names}"
    ):
      disclosure.check(config, base.Recipe())

  @parameterized.parameters(
    ({"name": "pixmix"}, "pictures"), ({"name": "stylized"}, "styles")
  )
  def test_a_recipes_folder_of_a_condition(self, recipe, key):
    folder = epath.Path(self.root) / "Fog_3"
    tiny_files.put(folder, {"a.png": tiny_files.encoded(_PIXELS, "PNG")})
    config = tiny_trainings.config(recipe={**recipe, key: str(folder)})
    with self.assertRaisesRegex(
      errors.UserError, f"recipe.{key}: .*'Fog_3', it trains on fog.* rename it"
    ):
      disclosure.check(config, recipes.make_recipe(config.recipe))

  def test_severities_that_a_path_says(self):
    """They are disclosed beside the recipe's."""
    config = tiny_trainings.config(data__source="folder:/data/snow/5")
    shown = disclosure.seen_conditions(config, _Foggy())
    self.assertEqual(shown.names, ["fog", "snow"])
    self.assertEqual(shown.levels, [1, 3, 5])

  def test_what_it_began_with(self):
    """Its conditions stay, and what nobody says is no promise."""
    workdir = epath.Path(self.root)
    first = dataclasses.replace(tiny_trainings.prepared(), recipe=_Foggy())
    first.disclosure(12, "0" * 64).write(workdir)
    after = tiny_trainings.config(model__checkpoint=str(workdir))
    with self.assertRaisesRegex(errors.UserError, "model.checkpoint.* fog"):
      disclosure.check(after, base.Recipe())
    made = dataclasses.replace(
      tiny_trainings.prepared(), config=after
    ).disclosure(3, "0" * 64)
    self.assertEqual((made.conditions, made.severities), (["fog"], [1, 3]))
    self.assertIn("(tones train: standard, fractals, on fog", made.trained_on)
    other = tiny_trainings.config(model__checkpoint=f"{self.root}/other.npz")
    made = dataclasses.replace(
      tiny_trainings.prepared(), config=other
    ).disclosure(3, "0" * 64)
    self.assertIn("is not stated", made.trained_on)
    self.assertIsNone(made.corruptions_seen)

  def test_what_that_began_with(self):
    """Of a chain nobody promises what its first network does not say."""
    checkpoint = f"{self.root}/other.npz"
    for _ in range(3):
      config = tiny_trainings.config(model__checkpoint=checkpoint)
      made = dataclasses.replace(tiny_trainings.prepared(), config=config)
      said = made.disclosure(3, "0" * 64)
      self.assertIsNone(said.corruptions_seen)
      self.assertIn("is not stated", said.trained_on)
      said.write(epath.Path(self.root))
      checkpoint = self.root

  def test_a_damaged_file(self):
    workdir = epath.Path(self.root)
    tiny_trainings.prepared().disclosure(12, "0" * 64).write(workdir)
    file = workdir / disclosure.FILE
    text = file.read_text()
    file.write_text(text.replace('"steps"', '"step"'))
    with self.assertRaisesRegex(errors.UserError, "disclosure.json.*step"):
      disclosure.read(workdir)

  @parameterized.parameters(
    "checkpoints", "checkpoints/4", "checkpoints/4/state"
  )
  def test_states_of_a_training(self, place):
    workdir = epath.Path(self.root)
    (workdir / place).mkdir(parents=True)
    (workdir / "config.json").write_text("{}")
    config = tiny_trainings.config(model__checkpoint=str(workdir / place))
    with self.assertRaisesRegex(
      errors.UserError, f"under way.* name its workdir: {workdir}"
    ):
      disclosure.check(config, base.Recipe())

  @parameterized.parameters(
    ("digits", "digits train"),
    ("tfds:cifar10", "cifar10 train"),
    ("tfds:imagenet_resized/64x64", "imagenet_resized/64x64 train"),
    ("folder:/data/pets/", "pets train"),
    ("folder:/data/pets/train", "pets/train"),
    ("folder:train", "train"),
  )
  def test_data_in_words(self, source, words):
    config = tiny_trainings.config(data__source=source)
    self.assertEqual(disclosure.data_in_words(config), words)
