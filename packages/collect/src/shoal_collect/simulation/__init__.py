"""The protocol in one process, and the paper's experiment."""
