"""Mutilated results: made by make.py, opened by test_corpus.py, listed in results.md."""
