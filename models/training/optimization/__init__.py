"""The steps of a training: from a batch to new weights, and what is kept of them.

loop         the epochs: batches in, numbers, checkpoints and weights out
steps        one step: loss, gradient, update, compiled for all devices
state        weights, statistics, optimizer and mean: what a checkpoint holds
optimizers   `config.optimizer` in optax
schedules    `config.schedule`: the learning rate of each step
validation   error and loss on the held-out part
metrics      metrics.csv: a line every so many steps
checkpoints  the states that are kept, and how a stopped training continues
"""
