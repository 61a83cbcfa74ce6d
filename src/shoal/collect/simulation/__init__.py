"""The whole protocol in one process, and the paper's experiment (user-centric.txt, Sec. 5)."""
