"""Peak memory of perturbing a long video, prepared and on the fly.

  python -m benchmarks.video_memory [--frames=3000]

Each case runs in a process of its own over the same H.264 file of 320x240 px;
its frames alone would take `frames` x 0.23 MB. The line `nothing` is what Python
and its libraries take.
"""

import argparse
import resource
import subprocess
import sys
import tempfile

import jax

from benchmarks import video_input
from robust_tfds import conditions, models
from robust_tfds.building import base, videos

_CASES = (
  "",
  "gaussian_noise",
  "zoom_blur",
  "jpeg",
  "mpeg1",
  "sampling",
  "reverse_sampling",
  "jumbling",
  "freezing",
  "static_rotation",
  "translation",
)


def _run(way: str, name: str, path: str) -> None:
  """Run one case in this process and print the peak in MiB."""
  with open(path, "rb") as f:
    data = f.read()
  if way == "prepared":
    condition = conditions.VIDEOS.condition(name, 3 if name else 0)
    config = base.Config(name="", condition=condition)
    recipe = base.Recipe("ucf101_p", "paper", config)
    for _ in videos.perturbed(data, "v", recipe, 30.0):
      pass
  elif way == "fly":
    condition = conditions.VIDEOS.condition(name, 3 if name else 0)
    spec = models.get("x3d_s").spec
    batch, _ = video_input.read(data, [condition], spec, 10)
    shown = video_input.show(spec)
    images, _ = shown.see(shown.put(batch), condition, spec)
    images.block_until_ready()
  else:
    jax.devices()
  print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def main() -> None:
  """Print the table."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--frames", type=int, default=3000)
  parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
  arguments = parser.parse_args()
  if arguments.case:
    _run(*arguments.case)
    return
  with tempfile.NamedTemporaryFile(suffix=".mp4") as file:
    file.write(video_input.film(arguments.frames))
    file.flush()

    def peak(way: str, name: str) -> str:
      command = [sys.executable, "-m", "benchmarks.video_memory"]
      done = subprocess.run(
        [*command, "--case", way, name, file.name],
        check=True,
        capture_output=True,
        text=True,
      )
      return done.stdout.split()[-1]

    print(f"{arguments.frames} frames; peak MiB")
    print(f"{'nothing':20}{peak('nothing', ''):>10}")
    print(f"{'':20}{'prepared':>10}{'on the fly':>12}")
    for name in _CASES:
      print(
        f"{name or 'clean':20}{peak('prepared', name):>10}"
        f"{peak('fly', name):>12}",
        flush=True,
      )


if __name__ == "__main__":
  main()
