"""Measure a network's accuracy under pairs of corruptions, for streams of CCC.

  robust-tfds ccc-matrix resnet50 /data/imagenet --checkpoint=resnet50.pth \\
      --out=matrix.npz
  robust-tfds ccc-matrix my_module:build signs --out=signs.npz

NET is a network of the catalogue, with a checkpoint, or a function of yours that
builds one. DATA is the manual dir with ImageNet's validation images, or `signs`, the
embedded set, of which few pictures and cells are measured.
`evaluate(net, "imagenet_ccc", matrix="matrix.npz")` shows a stream that follows paths
of equal accuracy through this file. The same command continues a stopped measurement.
"""

from collections.abc import Sequence

from absl import flags

from robust_tfds import command, errors, kept_programs

_SIGNS = "signs"


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_string("out", None, "The .npz file to write. Required.")
  flags.DEFINE_string(
    "checkpoint", None, "Weights of a network of the catalogue."
  )
  flags.DEFINE_integer(
    "pictures",
    None,
    "Number of pictures per cell; default: 256, for signs 24.",
    1,
  )
  flags.DEFINE_float(
    "step",
    None,
    "Distance of measured severities: .25, .5, 1, 1.25 or 2.5. Accuracies between them"
    " are interpolated. Default: .25, for signs 2.5.",
  )
  flags.DEFINE_string(
    "difficulty",
    "easy",
    "Difficulty whose corruptions are measured: easy (all), medium or hard.",
  )
  flags.DEFINE_string(
    "frost_dir", None, "Folder of the frost pictures; default: searched for."
  )


def main(argv: Sequence[str]) -> None:
  """Measure the cells that the file does not have yet."""
  from eval.run.ccc import calibration

  settings = flags.FLAGS
  if len(argv) != 3 or not settings.out:
    raise errors.UserError(
      "Expected NET DATA --out=FILE.npz: robust-tfds ccc-matrix resnet50"
      " /data/imagenet --checkpoint=resnet50.pth --out=matrix.npz"
    )
  if where := kept_programs.keep():
    print(where)
  _, network, data = argv
  pictures, step = (24, 2.5) if data == _SIGNS else (256, 0.25)
  calibration.run(
    network,
    "signs_ccc" if data == _SIGNS else "imagenet_ccc",
    manual_dir=None if data == _SIGNS else data,
    checkpoint=settings.checkpoint,
    frost_dir=settings.frost_dir,
    difficulty=settings.difficulty,
    count=settings.pictures or pictures,
    apart=4 * (step if settings.step is None else settings.step),
    out=settings.out,
  )
  print(f"{settings.out}: all pairs are measured")


if __name__ == "__main__":
  command.run(main, define_flags)
