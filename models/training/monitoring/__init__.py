"""The monitoring of a training, while it runs and at the end.

report       report.html: the curves, the first pictures, the disclosure
sheet        the first examples, as they were read and as the network saw them
tensorboard  the same for TensorBoard
closing      the last lines on the screen: verdict, files, next command
"""
