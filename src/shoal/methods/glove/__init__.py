"""GLOVE: merge the two most similar trajectories until every class has k people."""
