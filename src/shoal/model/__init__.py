"""The data model, without methods or file formats."""
