"""What the notebooks need, and nothing that hides the point: set-up, guard, predictions, exercises, data, validation."""
