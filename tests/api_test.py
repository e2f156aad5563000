"""The public surface: names, argument names and the signature law.

The law (dm_pix's idea): a `key` or `rng` comes first or is keyword-only, options
are keyword-only or have defaults, every public function has types and a
docstring.
"""

import inspect

from absl.testing import parameterized

from eval.metrics import (
  action,
  corruption_error,
  detection,
  intervals,
  pm_k,
  stability,
)
from models import convert, training
from robust_tfds import corruptions, evaluate, models

# Exactly what outside code may call (DESIGN, "Public surface").
SURFACE = (
  (corruptions.names, "(benchmark)"),
  (corruptions.register, "(source)"),
  (corruptions.corrupt, "(image, name, severity, *, edition, key, seed)"),
  (
    corruptions.corrupt_batch,
    "(images, name, severity, *, edition, keys, sizes)",
  ),
  (
    corruptions.example_key,
    "(seed, dataset, name, severity, example_id, frame)",
  ),
  (corruptions.sequence_names, "(benchmark)"),
  (corruptions.sequence, "(image, name, *, edition, key)"),
  (corruptions.video_names, "(group)"),
  (
    corruptions.perturb_video,
    "(video, name, severity, *, edition, key, fps)",
  ),
  (
    corruptions.frame_indices,
    "(num_frames, name, severity, *, edition, key)",
  ),
  (corruption_error.summarize, "(errors, clean_error, baseline)"),
  (stability.flip_probability, "(top1, noise, difficulty)"),
  (stability.top5_distance, "(ranked, noise, difficulty)"),
  (stability.zipf_distance, "(ranked_all, noise, difficulty)"),
  (stability.summarize, "(fp, ut5d, baseline)"),
  (
    detection.coco_ap,
    "(gt, dt, iou_type, *, use_categories, image_ids)",
  ),
  (
    detection.voc_ap50,
    "(gt, dt, classes, *, interpolation, plus_one)",
  ),
  (detection.summarize, "(cells, clean, scope)"),
  (pm_k.accuracy, "(correct, group_id, frame, *, k)"),
  (
    pm_k.detection,
    "(gt, dt, anchors, frame_index, *, iou, class_agnostic)",
  ),
  (action.robustness, "(accuracy, clean_accuracy)"),
  (intervals.clopper_pearson, "(successes, n, level)"),
  (
    evaluate,
    "(predict, dataset, *, conditions, severities, limit, workdir, batch_size,"
    " variables, checkpoint, seed, baseline, name, size, classes, prompts,"
    " class_names, outputs,"
    " allow_random, adapt, matrix, difficulty, speed, stream_seed, geometry,"
    " label_space, labels, skip_errors,"
    " drop_alpha, images, groups, split, subset, perturbations, difficulties,"
    " left_out, views, sampling, merge, rules, config, source, codec, data_dir,"
    " manual_dir, frost_dir, file_format, block_mib, ignore, protocol,"
    " keep_masks, metric, targets, target, better, keep_outputs, unknown)",
  ),
  (models.names, "(pattern)"),
  (models.adapters.get, "(kind)"),
  (models.get, "(name, num_classes)"),
  (convert.load, "(name, checkpoint)"),
  (
    training.augmix,
    "(images, *, keys, severity, width, depth, alpha, overlap)",
  ),
  (
    training.pixmix,
    "(images, *, keys, pictures, k, beta, severity, overlap)",
  ),
  (
    training.corruption_mix,
    "(images, *, keys, names, severities, edition)",
  ),
  (training.fractals, "(count, side, seed)"),
  (training.stylize, "(images, *, keys, styles, stylizer, alpha)"),
  (training.load_stylizer, "(encoder, decoder)"),
  (training.textures, "(count, side, seed)"),
)


def _shape(function) -> str:
  out, keyword_only = [], False
  for p in inspect.signature(function).parameters.values():
    if p.kind is p.KEYWORD_ONLY and not keyword_only:
      out.append("*")
      keyword_only = True
    out.append(p.name)
  return f"({', '.join(out)})"


class ApiTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (f"{f.__module__}.{f.__name__}", f, shape) for f, shape in SURFACE
  )
  def test_surface(self, function, shape):
    got = _shape(function)
    self.assertTrue(
      got.startswith(shape[:-1]),
      f"{function.__qualname__}{got} must start with {shape}",
    )

  @parameterized.named_parameters(
    (f"{f.__module__}.{f.__name__}", f) for f, _ in SURFACE
  )
  def test_law(self, function):
    self.assertTrue(inspect.getdoc(function))
    signature = inspect.signature(function)
    self.assertIsNot(signature.return_annotation, signature.empty)
    for name, p in signature.parameters.items():
      self.assertIsNot(p.annotation, p.empty, f"{name} has no type")
      self.assertNotEqual(name, "rng", "JAX keys are called key")
