"""Group arithmetic, encryption, sealing and proofs."""
