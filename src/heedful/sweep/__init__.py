"""Sweeps: plan, validate, run and resume many jobs from one command, each in a process of its own."""
