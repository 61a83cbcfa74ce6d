"""The desk: from a file to a signed record, on local pages; it computes nothing."""
