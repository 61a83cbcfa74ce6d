"""The app of ``shoal collect app``.

Local pages to take part, with state and consent of ``shoal collect join``.
"""
