"""The `plangate` command: one module for each verb."""
