"""Several releases of one input held side by side.

Which study to run, what it measured, what each tau costs.
"""
