"""The figures and tables of the four papers, one file each family, beside what the papers print.

``table.py`` lists them; ``running.py`` runs those that are asked for, with several seeds.
"""
