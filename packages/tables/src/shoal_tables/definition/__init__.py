"""What a table's manifest states: types that both the maker and the verifier import; nothing from data."""
