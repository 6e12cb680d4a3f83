"""Reads exports of plain msprof runs."""
