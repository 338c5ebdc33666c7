"""The idea: score, hide, normalize, average. Nothing here knows how to be fast."""
