"""Share one track without the places around its ends and stays."""
