"""The whole protocol in one process, and the paper's experiment (Romero-Tris and Megías 2018, Sec. 5)."""
