"""The manifest of a table: types that both the maker and the verifier import; nothing from data."""
