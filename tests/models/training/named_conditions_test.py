"""Names of folders that say a benchmark's condition, and names that do not."""

import pathlib

from absl.testing import parameterized

from models.training import named_conditions
from robust_tfds import conditions
from tests import in_folder

_COMMON = list(conditions.PICTURES.names("common"))


class NamedConditionsTest(in_folder.TestCase):
  def _made(self, *folders):
    for folder in folders:
      (pathlib.Path(self.root) / folder).mkdir(parents=True)

  @parameterized.parameters(
    ("X/fog/3", "fog", 3),
    ("X/fog_3/train", "fog", 3),
    ("X/fog_s3", "fog", 3),
    ("X/FogSeverity3", "fog", 3),
    ("X/level 3/fog", "fog", 3),
    ("X/3/fog", "fog", 3),
    ("X/cifar10-fog-3", "fog", 3),
    ("X/gaussian noise/3/", "gaussian_noise", 3),
    ("X/elastic/1", "elastic_transform", 1),
    ("X/mpeg2_3", "mpeg2", 3),
    ("CIFAR-10-C/weather/fog/4", "fog", 4),
    ("cifar10_corrupted/fog_3:1.0.0", "fog", 3),
  )
  def test_a_condition_and_its_level(self, place, name, level):
    named = named_conditions.place_conditions(place)
    self.assertEqual((named.names, named.levels), ([name], [level]))

  @parameterized.parameters(
    ("X/motion_blur", "motion_blur"),
    ("pets-c/jpeg", "jpeg"),
    ("pets_corrupted/tilt", "tilt"),
    ("imagenet-c/weather/snow", "snow"),
  )
  def test_a_condition_of_any_level(self, place, name):
    named = named_conditions.place_conditions(place)
    self.assertContainsSubset([name], named.names)
    self.assertEqual(named.levels, [1, 2, 3, 4, 5])

  @parameterized.parameters(
    *("CIFAR-10-C", "ImageNet-C/train", "imagenet_c_64", "mnist_c"),
  )
  def test_a_corrupted_set(self, place):
    named = named_conditions.place_conditions(f"X/{place}")
    self.assertContainsSubset(_COMMON, named.names)

  @parameterized.parameters(
    ("imagenet_p", "tilt", "fog"),
    ("ucf101-p", "jumbling", "tilt"),
    ("X/noise/3", "shot_noise", "fog"),
    ("X/weather/3", "snow", "shot_noise"),
    ("X/temporal_2", "jumbling", "fog"),
  )
  def test_which_conditions_a_set_or_group_has(self, place, inside, outside):
    names = named_conditions.place_conditions(place).names
    self.assertIn(inside, names)
    self.assertNotIn(outside, names)

  @parameterized.parameters(
    *("pets", "jpeg", "tilt", "freezing", "noise", "weather", "fog/pets"),
    *(
      "mpeg2",
      "jpeg2000",
      "scale-7",
      "fog/2019",
      "blur/sharp",
      "snow_leopards",
    ),
    *("digits", "signs", "imagenet/train", "imagenet_pretrained", "coco2017"),
    *("fog_data/pets", "snow_leopard_images", "my_data/pets", "data"),
    *("voc2012/JPEGImages", "vitamin-c", "coco/p", "uncorrupted", "rain_fog"),
  )
  def test_what_is_something_else(self, place):
    self.assertEmpty(named_conditions.place_conditions(f"/data/{place}").names)

  @parameterized.parameters(
    (["fog/1", "fog/2"], ["fog"]),
    (["fog/1", "fog/7"], ["fog"]),
    (
      ["noise/shot_noise", "noise/impulse_noise"],
      ["impulse_noise", "shot_noise"],
    ),
    (["fog/fog", "fog/rain", "fog/snow"], []),
    (["fog/cat", "fog/dog"], ["fog"]),
    (["sky/snow_images", "sky/sun_images"], []),
    (["weather_data/fog", "weather_data/rain"], []),
    (["pets/cat", "pets/fog_3"], ["fog"]),
  )
  def test_folders_in_it(self, folders, names):
    self._made(*folders)
    first = folders[0].partition("/")[0]
    named = named_conditions.place_conditions(f"{self.root}/{first}")
    self.assertEqual(list(named.names), names)

  @parameterized.parameters(
    ("fog", "fog"),
    ("Snow/train", "snow"),
    ("pets/train/contrast", "contrast"),
    ("cifar10-fog", "fog"),
    ("my fog images", "fog"),
    ("my_imagenet_c_fog/dog", "fog"),
    ("pets/gaussian-noise-dataset/dog", "gaussian_noise"),
  )
  def test_a_folder_with_the_name_of_a_condition(self, place, name):
    """Of any level, and of pictures: those of sequences and videos need one."""
    named = named_conditions.place_conditions(f"/data/{place}")
    self.assertEqual((named.names, named.levels), ([name], [1, 2, 3, 4, 5]))

  def test_classes_that_lie_in_a_folder_of_a_condition(self):
    self._made("fog/cat", "clean/dog")
    root = pathlib.Path(self.root)
    (root / "clean/cat").symlink_to(root / "fog/cat")
    (root / "plain").symlink_to(root / "fog")
    for place in ("clean", "plain"):
      names = named_conditions.place_conditions(f"{root}/{place}").names
      self.assertEqual(names, ["fog"])

  def test_where_links_lead(self):
    self._made("fog/3/cat", "clean/dog")
    root = pathlib.Path(self.root)
    (root / "harmless").symlink_to(root / "fog/3")
    (root / "clean/cat").symlink_to(root / "fog/3/cat")
    for place in ("harmless", "clean"):
      named = named_conditions.place_conditions(f"{root}/{place}")
      self.assertEqual((named.names, named.levels), (["fog"], [3]))
      self.assertEqual(named.text, "fog/3")
