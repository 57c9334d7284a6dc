"""Finished runs as frozen values, found below folders and grouped into variants; nothing is written."""
