"""Pictures (matplotlib, imported on use)."""
