"""The whole protocol in one process, the paper's experiment, and what a round costs (user-centric.txt, Sec. 5)."""
