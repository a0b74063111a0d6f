"""Pictures: plots (matplotlib, imported on use) and the explorer (one HTML file)."""
