"""Tests of whether learners differ, and which ones."""
