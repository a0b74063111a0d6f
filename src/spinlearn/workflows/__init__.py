"""Workflows: whole jobs made of the layers below, for the command line."""
