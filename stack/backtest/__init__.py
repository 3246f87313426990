"""What `sundial backtest` does: a capture through the detector, row by row, as if it were happening."""
