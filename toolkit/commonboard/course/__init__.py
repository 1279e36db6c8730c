"""What the notebooks need, and nothing that hides the point: set-up, guard, predictions, exercises, data, validation."""

from commonboard.course.predicting import Prediction, predict
from commonboard.course.setup import Guard, StrayTaskError, set_up

__all__ = ["Guard", "Prediction", "StrayTaskError", "predict", "set_up"]
