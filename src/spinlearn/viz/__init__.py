"""Pictures of answers: plots (matplotlib, imported on use), the explorer (one HTML file)."""
