"""GLOVE: merge the two most similar fingerprints until every class holds k people.

Source: Gramaglia and Fiore 2015.
"""
