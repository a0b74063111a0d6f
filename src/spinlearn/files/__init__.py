"""Arrays on disk: checked when read, whole or not there when written."""
