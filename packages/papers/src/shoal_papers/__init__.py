"""The figures and tables of four papers, measured again."""
