"""One file a transform of a batch; what they share is `operations`, `draws`.

Pixels are computed in whole numbers from what each example's key draws, so they
are the same whatever batch, order, device or host an example is worked on in.
"""
