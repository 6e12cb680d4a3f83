"""What the readers of all formats share: opening files, rows, cells and the wording of defects."""
