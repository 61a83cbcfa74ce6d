"""Share one track without showing the places around its ends and stays."""
