"""Faces for scripts that come from other libraries."""
