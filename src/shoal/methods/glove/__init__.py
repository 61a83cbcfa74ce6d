"""GLOVE (glove.txt): merge the two most similar fingerprints until every class holds k people."""
