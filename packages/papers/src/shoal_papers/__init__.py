"""The figures and tables of four papers, measured again and compared with what the papers print."""
