"""Plangate measured beside what a team would write or pick instead: ``make bench`` (docs/performance.md)."""
