"""Group arithmetic, encryption, sealing and proofs. Bytes and randomness in, bytes out."""
