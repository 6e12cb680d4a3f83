"""Each result file declared once: names, headers, units, conditions. No header text exists elsewhere."""
