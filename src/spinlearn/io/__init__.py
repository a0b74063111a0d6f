"""Files: data as users have it in, answers out. Nothing read from a file is ever executed."""
